#include "cli/stats.h"

#include <gtest/gtest.h>

#include "metrics/metrics.h"

namespace zenfs {
namespace {

MetricsSnapshot Snapshot() {
  Metrics metrics;
  for (int i = 0; i < 200; ++i) {
    metrics.Count(Operation::kRead);
    metrics.CountBytes(Operation::kRead, 4096);
    metrics.Time(Operation::kRead, std::chrono::microseconds(10));
  }
  metrics.CountError(Operation::kRead);
  metrics.RaiseTo(Value::kWalBytes, 3 << 20);
  metrics.Set(Value::kFrameWriteTime, 960'000);
  return *DecodeMetrics(metrics.page());
}

TEST(ShortFigures, HaveThreeDigitsThatMatter) {
  EXPECT_EQ(ShortDuration(0), "0 ns");
  EXPECT_EQ(ShortDuration(999), "999 ns");
  EXPECT_EQ(ShortDuration(1'250), "1.25 us");
  EXPECT_EQ(ShortDuration(999'600), "1.00 ms");
  EXPECT_EQ(ShortDuration(48'123'456), "48.1 ms");
  EXPECT_EQ(ShortDuration(240'000'000'000), "240 s");
}

TEST(StatsTable, ShowsWhatHappenedAndNothingElse) {
  const std::string table = StatsTable({.metrics = Snapshot(), .interval_seconds = {}});
  EXPECT_NE(table.find("read                      200        1       800 KiB  10.0 us"), std::string::npos)
      << table;
  EXPECT_EQ(table.find("roll"), std::string::npos);
  EXPECT_NE(table.find("wal_bytes                          3.00 MiB\n"), std::string::npos) << table;
}

TEST(StatsTable, AnIntervalHasRates) {
  const std::string table = StatsTable({.metrics = Snapshot(), .interval_seconds = 2.0});
  EXPECT_NE(table.find("100.0/s"), std::string::npos) << table;
  EXPECT_NE(table.find("400 KiB/s"), std::string::npos) << table;
  EXPECT_NE(table.find("1.50 MiB/s"), std::string::npos) << table;
}

TEST(StatsTable, SaysHowLogFramesAreSentAndWhy) {
  Metrics metrics;
  const auto last_line = [&metrics] {
    const std::string table = StatsTable({.metrics = *DecodeMetrics(metrics.page()), .interval_seconds = {}});
    return table.substr(table.rfind('\n', table.size() - 2) + 1);
  };
  EXPECT_EQ(last_line(), "log frames are sent by writes\n");
  metrics.Set(Value::kWalAppends, 1);
  EXPECT_EQ(last_line(), "log frames are sent by zone append\n") << "as the option says";
  metrics.Set(Value::kFrameWriteTime, 960'000);
  metrics.Set(Value::kFrameAppendTime, 490'000);
  EXPECT_EQ(last_line(), "log frames are sent by zone append: one takes 490 us, by writes 960 us\n");
  metrics.Set(Value::kWalAppends, 0);
  metrics.Set(Value::kFrameAppendTime, 980'000);
  EXPECT_EQ(last_line(), "log frames are sent by writes: one takes 960 us, by zone append 980 us\n");
}

TEST(StatsJson, HasEveryOperationAndValue) {
  const Json json = StatsJson({.metrics = Snapshot(), .interval_seconds = {}});
  EXPECT_EQ(json["operations"].size(), kOperationCount);
  EXPECT_EQ(json["values"].size(), kValueCount);
  EXPECT_EQ(json["operations"]["read"]["count"], 200);
  EXPECT_EQ(json["operations"]["read"]["latency_us"]["max"], 10.0);
  EXPECT_FALSE(json.contains("interval_seconds"));
  EXPECT_EQ(json["values"]["wal_bytes_total"].dump(), "3145728");
  EXPECT_DOUBLE_EQ(json["values"]["frame_write_seconds"], 0.00096);
}

}  // namespace
}  // namespace zenfs
