#include "cli/prometheus_families.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "metrics/metrics.h"

namespace zenfs {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

VolumeReading Reading(const std::string& device, bool up) {
  VolumeReading reading{.device = device, .readable = true, .up = up, .uuid = "u", .label = "l"};
  reading.zones = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  if (!up) return reading;
  Metrics metrics;
  for (const std::int64_t n : {100, 1'000, 1'100, 1'000'000}) {
    metrics.Count(Operation::kWalSync);
    metrics.Time(Operation::kWalSync, std::chrono::nanoseconds(n));
  }
  metrics.CountBytes(Operation::kRead, 77);
  metrics.Set(Value::kEpoch, 9);
  metrics.Set(Value::kFrameWriteTime, 960'000);
  reading.metrics = *DecodeMetrics(metrics.page());
  return reading;
}

const MetricFamily* Find(const std::vector<MetricFamily>& families, const std::string& name) {
  for (const MetricFamily& family : families) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

TEST(FamiliesOf, AVolumeWithoutAWriterHasItsZonesOnly) {
  const std::vector<VolumeReading> readings = {Reading("emu:a", false)};
  const auto families = FamiliesOf(readings);
  EXPECT_EQ(Find(families, "zenfs_up")->metric.at(0).gauge.value, 0);
  EXPECT_EQ(Find(families, "zenfs_active_zones")->metric.at(0).gauge.value, 2);
  EXPECT_EQ(Find(families, "zenfs_read_total"), nullptr);
  EXPECT_EQ(Find(families, "zenfs_epoch"), nullptr);
}

TEST(FamiliesOf, AVolumeThatCanNotBeReadSaysSo) {
  const std::vector<VolumeReading> readings = {VolumeReading{.device = "emu:a"}};
  const auto families = FamiliesOf(readings);
  EXPECT_EQ(families.size(), 4u);
  EXPECT_EQ(Find(families, "zenfs_build_info")->metric.at(0).label.at(0).value, ZENFS_VERSION);
  EXPECT_EQ(Find(families, "zenfs_denied")->metric.at(0).gauge.value, 0);
  EXPECT_EQ(Find(families, "zenfs_readable")->metric.at(0).gauge.value, 0);
}

TEST(FamiliesOf, ReadingThatWasDeniedIsNotOneWithoutAWriter) {
  VolumeReading denied = Reading("emu:a", false);
  denied.trouble = Error(Code::kPermission, "not for you");
  const std::vector<VolumeReading> readings = {denied, Reading("emu:b", false)};
  const auto families = FamiliesOf(readings);
  EXPECT_EQ(Find(families, "zenfs_denied")->metric.at(0).gauge.value, 1);
  EXPECT_EQ(Find(families, "zenfs_denied")->metric.at(1).gauge.value, 0);
  const MetricFamily* trouble = Find(families, "zenfs_trouble");
  ASSERT_NE(trouble, nullptr);
  ASSERT_EQ(trouble->metric.size(), 1u) << "only of the volume that has any";
  EXPECT_EQ(trouble->metric[0].label.at(1).name, "reason");
  EXPECT_EQ(trouble->metric[0].label.at(1).value, "denied");
}

TEST(FamiliesOf, VolumesAreToldApartByTheirDevice) {
  const std::vector<VolumeReading> readings = {Reading("emu:a", true), Reading("emu:b", false),
                                               Reading("emu:c", true)};
  const auto families = FamiliesOf(readings);
  EXPECT_EQ(Find(families, "zenfs_up")->metric.size(), 3u);
  const MetricFamily* read = Find(families, "zenfs_read_bytes_total");
  ASSERT_EQ(read->metric.size(), 2u);
  EXPECT_EQ(read->type, MetricType::Counter);
  EXPECT_EQ(read->metric[1].label.at(0).value, "emu:c");
  EXPECT_EQ(read->metric[1].counter.value, 77);
  std::set<std::string> names;
  for (const MetricFamily& family : families) EXPECT_TRUE(names.insert(family.name).second) << family.name;
}

TEST(FamiliesOf, HistogramsAreCumulativeInSeconds) {
  const std::vector<VolumeReading> readings = {Reading("emu:a", true)};
  const auto families = FamiliesOf(readings);
  const auto& histogram = Find(families, "zenfs_wal_sync_latency_seconds")->metric.at(0).histogram;
  EXPECT_EQ(histogram.sample_count, 4u);
  EXPECT_DOUBLE_EQ(histogram.sample_sum, 0.0010022);
  std::uint64_t before = 0;
  for (const auto& bucket : histogram.bucket) {
    EXPECT_GE(bucket.cumulative_count, before);
    before = bucket.cumulative_count;
    if (bucket.upper_bound == 128e-9) {
      EXPECT_EQ(bucket.cumulative_count, 1u);
    }
    if (bucket.upper_bound == 1024e-9) {
      EXPECT_EQ(bucket.cumulative_count, 2u);
    }
    if (bucket.upper_bound == 2048e-9) {
      EXPECT_EQ(bucket.cumulative_count, 3u);
    }
  }
  EXPECT_EQ(before, 4u);
  EXPECT_TRUE(std::isinf(histogram.bucket.back().upper_bound));
}

TEST(FamiliesOf, AVolumeThatWasScrubbedHasTheResult) {
  VolumeReading scrubbed = Reading("emu:a", false);
  scrubbed.scrub = ScrubResult{.ended = 1764540000, .errors = 3};
  const std::vector<VolumeReading> readings = {scrubbed, Reading("emu:b", false)};
  const auto families = FamiliesOf(readings);
  const MetricFamily* time = Find(families, "zenfs_scrub_time_seconds");
  ASSERT_NE(time, nullptr);
  ASSERT_EQ(time->metric.size(), 1u) << "the other one has never been scrubbed";
  EXPECT_EQ(time->metric[0].gauge.value, 1764540000);
  EXPECT_EQ(Find(families, "zenfs_scrub_errors")->metric.at(0).gauge.value, 3);
}

TEST(FamiliesOf, TimesAreInSeconds) {
  const std::vector<VolumeReading> readings = {Reading("emu:a", true)};
  const auto families = FamiliesOf(readings);
  EXPECT_DOUBLE_EQ(Find(families, "zenfs_frame_write_seconds")->metric.at(0).gauge.value, 0.00096);
  EXPECT_EQ(Find(families, "zenfs_epoch")->metric.at(0).gauge.value, 9);
}

// docs/use/metrics.md has exactly one row for each metric, word for word.
TEST(MetricsPage, ThePageInTheDocumentationListsEveryMetric) {
  std::set<std::string> expected;
  for (const OperationInfo& info : Operations()) {
    expected.insert(fmt::format("| `{}` | {} | {} |", info.name, info.has_bytes ? "yes" : "no", info.help));
  }
  const auto add = [&](std::span<const ValueInfo> values) {
    for (const ValueInfo& info : values) {
      expected.insert(fmt::format("| `zenfs_{}` | {} | {} | {} |", info.name,
                                  info.counter ? "counter" : "gauge", info.unit.empty() ? "count" : info.unit,
                                  info.help));
    }
  };
  add(Values());
  add(ZoneGauges());
  add(VolumeGauges());
  std::ifstream page(ZENFS_DOCS "/use/metrics.md");
  ASSERT_TRUE(page.is_open());
  std::set<std::string> found;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| `") && line.find("NAME") == std::string::npos) found.insert(line);
  }
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace zenfs
