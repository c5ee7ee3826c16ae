#include "metrics/metrics.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/thread.h"
#include "metrics/metrics_snapshot.h"

namespace zenfs {
namespace {

MetricsSnapshot SnapshotOf(const Metrics& metrics) { return *DecodeMetrics(metrics.page()); }

TEST(Metrics, ManyThreadsCountExactly) {
  constexpr std::uint64_t kThreads = 3 * kMetricsShards;
  constexpr std::uint64_t kRounds = 20'000;
  Metrics metrics;
  for (int generation = 0; generation < 3; ++generation) {  // later threads reuse the shards of earlier ones
    std::vector<Thread> threads;
    for (std::uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back("count", [&metrics] {
        for (std::uint64_t i = 0; i < kRounds; ++i) {
          metrics.Count(Operation::kWalWrite);
          metrics.CountBytes(Operation::kWalWrite, 116);
          metrics.Time(Operation::kWalWrite, std::chrono::nanoseconds(i));
          metrics.Change(Value::kOpenFiles, 1);
        }
      });
    }
  }
  const MetricsSnapshot snapshot = SnapshotOf(metrics);
  const OperationFigures& figures = snapshot[Operation::kWalWrite];
  constexpr std::uint64_t kAll = 3 * kThreads * kRounds;
  EXPECT_EQ(figures.count, kAll);
  EXPECT_EQ(figures.bytes, kAll * 116);
  EXPECT_EQ(figures.latency.count, kAll);
  EXPECT_EQ(figures.latency.sum, 3 * kThreads * (kRounds * (kRounds - 1) / 2));
  EXPECT_EQ(figures.latency.max, kRounds - 1);
  EXPECT_EQ(snapshot[Value::kOpenFiles], kAll);
}

TEST(Metrics, NoTwoLivingThreadsOwnOneShard) {
  Mutex mutex;
  CondVar changed;
  std::vector<std::uint32_t> shards;
  constexpr std::size_t kThreads = kMetricsShards + 4;
  {
    std::vector<Thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back("own", [&] {
        const std::uint32_t shard = ThreadShard();
        MutexLock lock(mutex);
        shards.push_back(shard);
        changed.NotifyAll();
        while (shards.size() < kThreads) changed.Wait(mutex);
      });
    }
  }
  std::multiset<std::uint32_t> all(shards.begin(), shards.end());
  EXPECT_GE(all.count(kSharedShard), kThreads - kSharedShard);
  for (std::uint32_t shard = 0; shard < kSharedShard; ++shard) EXPECT_LE(all.count(shard), 1u) << shard;
}

TEST(Meter, CountsTimesAndTellsErrors) {
  Metrics metrics;
  {
    Meter meter(metrics, Operation::kRead);
    EXPECT_EQ(*meter.Done(Result<int>(5), 100), 5);
  }
  {
    Meter meter(metrics, Operation::kRead);
    EXPECT_FALSE(meter.Done(Status(Fail(Code::kIo, "no")), 100).ok());
  }
  const MetricsSnapshot snapshot = SnapshotOf(metrics);
  const OperationFigures& read = snapshot[Operation::kRead];
  EXPECT_EQ(read.count, 2u);
  EXPECT_EQ(read.errors, 1u);
  EXPECT_EQ(read.bytes, 100u);
  EXPECT_EQ(read.latency.count, 2u);
}

TEST(Meter, ShortOperationsAreAllCountedAndSomeTimed) {
  Metrics metrics;
  for (std::uint64_t i = 0; i < 10 * kTimedOneIn; ++i) Meter(metrics, Operation::kWalWrite);
  const MetricsSnapshot snapshot = SnapshotOf(metrics);
  EXPECT_EQ(snapshot[Operation::kWalWrite].count, 10 * kTimedOneIn);
  EXPECT_EQ(snapshot[Operation::kWalWrite].latency.count, 10u);
}

TEST(MetricNames, AreDistinctAndSayTheirUnit) {
  std::set<std::string_view> names;
  for (const OperationInfo& info : Operations()) EXPECT_TRUE(names.insert(info.name).second) << info.name;
  for (const ValueInfo& info : Values()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(info.counter, info.name.ends_with("_total")) << info.name;
    EXPECT_TRUE(info.unit.empty() || info.name.find(info.unit) != std::string_view::npos) << info.name;
  }
}

}  // namespace
}  // namespace zenfs
