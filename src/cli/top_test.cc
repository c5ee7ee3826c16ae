#include "cli/top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "metrics/metrics.h"

namespace zenfs::top_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// As large as figures get, so that each takes the room that it may need.
MetricsSnapshot Totals() {
  Metrics metrics;
  for (std::size_t i = 0; i < kOperationCount; ++i) {
    const auto operation = static_cast<Operation>(i);
    metrics.Count(operation);
    metrics.Time(operation, std::chrono::microseconds(999));
    if (InfoOf(operation).has_bytes) metrics.CountBytes(operation, (1023 << 10));
  }
  metrics.RaiseTo(Value::kReclaimedBytes, 2046 << 10);
  metrics.RaiseTo(Value::kCleanedBytes, 2046 << 10);
  metrics.RaiseTo(Value::kWalBytes, 2046 << 10);
  metrics.Set(Value::kWalAppends, 1);
  metrics.Set(Value::kFrameWriteTime, 960'000);
  metrics.Set(Value::kFrameAppendTime, 490'000);
  metrics.Set(Value::kOpenFiles, 1234);
  metrics.Set(Value::kEpoch, 1234);
  return *DecodeMetrics(metrics.page());
}

std::vector<ZoneStatus> ZonesOfEveryKind() {
  std::vector<ZoneStatus> zones;
  const auto add = [&](ZonePhase phase, Lifetime lifetime) {
    ZoneStatus zone{
        .id = ZoneId(static_cast<std::uint32_t>(zones.size())), .phase = phase, .lifetime = lifetime};
    zone.capacity = 2 << 20;
    zone.written = phase == ZonePhase::kEmpty ? 0 : 1 << 20;
    zone.live = zone.written / 4;
    zones.push_back(zone);
  };
  for (int i = 0; i < kLifetimeCount; ++i) add(ZonePhase::kFull, static_cast<Lifetime>(i));
  for (const ZonePhase phase :
       {ZonePhase::kLog, ZonePhase::kMetadata, ZonePhase::kEmpty, ZonePhase::kUnusable})
    add(phase, Lifetime::kNotSet);
  return zones;
}

WatchedVolume Busy(const std::string& name) {
  VolumeReading reading{.device = name, .readable = true, .up = true, .label = "shop"};
  reading.zones = {384, 384, 12, 10 << 20, 60 << 20, 20 << 20, 10 << 20, 0, 100 << 20};
  reading.geometry.max_open = reading.geometry.max_active = 384;
  reading.zone_list = ZonesOfEveryKind();
  reading.metrics = Totals();
  StatsView stats{.metrics = reading.metrics, .interval_seconds = 2.0};
  return {.name = name, .reading = std::move(reading), .stats = std::move(stats)};
}

std::string Page(const std::vector<WatchedVolume>& volumes, std::size_t shown, int columns, int rows) {
  return TopPage(volumes, shown, Terminal{.columns = columns}, rows).plain();
}

std::size_t LongestLineOf(const StyledText& page) {
  std::size_t longest = 0;
  for (const StyledText& line : page.Lines()) longest = std::max(longest, line.plain().size());
  return longest;
}

TEST(TopPageTest, AllDetailsOfAVolumeFit80ColumnsAnd23Rows) {
  const StyledText page = TopPage(std::vector{Busy("dev:nvme0n1")}, 0, Terminal{.columns = 80}, 23);
  EXPECT_EQ(page.Lines().size(), 23u) << page.plain();
  EXPECT_LE(LongestLineOf(page), 80u) << page.plain();
  for (const char* const text :
       {"dev:nvme0n1 \"shop\"", "1234 files open; last 2.0 s", "wal_sync", "zone_append", "x unusable",
        ". empty", "60 % used, 20 % reclaimable, 10 % free, 10 % reserved of 100 MiB",
        "384 of 384 zones active, 384 of 384 open; 12 dead; 0.5 resets/s",
        "0.99 MiB/s of files, 0.99 MiB/s of logs; write amplification 1.00",
        "0.99 MiB/s by zone append: one takes 490 us, by writes 960 us\n"}) {
    EXPECT_THAT(page.plain(), HasSubstr(text));
  }
}

TEST(TopPageTest, MoreRowsHaveMoreOperationsAndMoreColumnsMoreFigures) {
  const std::vector volumes{Busy("dev:nvme0n1")};
  EXPECT_THAT(Page(volumes, 0, 80, 23), Not(HasSubstr("rename")));
  EXPECT_THAT(Page(volumes, 0, 80, 39), HasSubstr("rename"));
  EXPECT_THAT(Page(volumes, 0, 80, 39), Not(HasSubstr("p99.9")));
  EXPECT_THAT(Page(volumes, 0, 132, 39), HasSubstr("p99.9"));
  for (const int columns : {40, 60, 80, 132, 200}) {
    EXPECT_LE(LongestLineOf(TopPage(volumes, 0, Terminal{.columns = columns}, 39)),
              static_cast<std::size_t>(columns));
  }
  EXPECT_THAT(Page(volumes, 0, 40, 9), HasSubstr("operation            bytes/s      p99\n"));
}

TEST(TopPageTest, ErrorsStayAndStandOut) {
  WatchedVolume volume = Busy("dev:nvme0n1");
  volume.reading->metrics.operations[static_cast<std::size_t>(Operation::kWalSync)].errors = 7;
  const StyledText page = TopPage(std::vector{volume}, 0, Terminal{.colour = true, .columns = 80}, 23);
  EXPECT_THAT(page.WithSequences(), HasSubstr("\033[1;31m       7\033[0m"))
      << "also of an interval without one";
}

TEST(TopPageTest, SeveralVolumesHaveALineEach) {
  const std::string deep = "emu:/" + std::string(200, 'x') + "/last.img";
  std::vector volumes{Busy("dev:nvme0n1"), Busy(deep)};
  volumes[0].reading->up = false;
  const std::string page = Page(volumes, 1, 80, 40);
  EXPECT_EQ(page.find("2 of 2: ..xx"), 0u) << page;
  EXPECT_THAT(page, HasSubstr("xx/last.img\n"));
  EXPECT_THAT(page,
              HasSubstr("  dev:nvme0n1                                   -          -        -     60 %\n"));
  EXPECT_THAT(page, HasSubstr("xx/last.img   0.99 MiB    511 KiB   983 us     60 %\n"));
}

TEST(TopPageTest, SaysWhatItWaitsFor) {
  WatchedVolume volume{.name = "emu:a"};
  EXPECT_EQ(Page({volume}, 0, 80, 23), "emu:a\nreading the volume\n");
  volume.silence = std::chrono::seconds(7);
  EXPECT_EQ(Page({volume}, 0, 80, 23), "emu:a\nthe device has not answered for 7 s\n");
  volume.silence = {};
  volume.reading =
      VolumeReading{.device = "emu:a", .trouble = Error(Code::kNotFound, "emu:a\033[2J is missing")};
  EXPECT_EQ(Page({volume}, 0, 80, 23), "emu:a\nemu:a\\x1b[2J is missing; waiting for a change\n");
  volume = Busy("emu:a");
  volume.reading->up = false;
  const std::string page = Page({volume}, 0, 80, 23);
  EXPECT_THAT(page, HasSubstr("no program on this host has it mounted for writing; waiting for one\n"));
  EXPECT_THAT(page, HasSubstr("60 % used"));
  EXPECT_THAT(page, Not(HasSubstr("wal_write")));
}

}  // namespace
}  // namespace zenfs::top_test
