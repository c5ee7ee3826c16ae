// The page with the counters: plain memory of a fixed size. The process that has the volume mounted
// writes it; any process that maps it may read it. Native byte order, because it never leaves the
// host.
//
//    MetricsHeader                   magic, version and the size of each part
//    values      u64 x kValueCount
//    shards      kMetricsShards of MetricsShard, each on its own cache lines
//
// All cells are naturally aligned u64, changed and read with relaxed atomic operations: each value
// was right at some moment, two values not necessarily at the same one. The sum over the shards is
// the total.
//
// The page contains a fingerprint of the names instead of the names: a page of a program with other
// metrics is refused.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "metrics/latency_buckets.h"
#include "metrics/metric.h"

namespace zenfs {

inline constexpr std::uint64_t kMetricsMagic = 0x5343'4952'5445'4d5au;  // "ZMETRICS" in memory
inline constexpr std::uint32_t kMetricsVersion = 1;
inline constexpr std::size_t kCacheLineBytes = 64;

// Each shard but the last has at most one writing thread at a time; all other threads share the
// last (metrics/thread_shard.h).
inline constexpr std::uint32_t kMetricsShards = 8;

struct MetricsHeader {
  std::uint64_t magic = kMetricsMagic;  // stored last, after the rest is complete
  std::uint32_t version = kMetricsVersion;
  std::uint32_t page_bytes = 0;
  std::uint32_t operations = kOperationCount;
  std::uint32_t values = kValueCount;
  std::uint32_t shards = kMetricsShards;
  std::uint32_t buckets = kLatencyBuckets;
  std::uint64_t fingerprint = 0;  // of all names, in order
};
static_assert(sizeof(MetricsHeader) == 40);

struct OperationCells {
  std::uint64_t count = 0;
  std::uint64_t errors = 0;
  std::uint64_t bytes = 0;
};

struct LatencyCells {  // nanoseconds
  std::uint64_t sum = 0;
  std::uint64_t max = 0;
  std::array<std::uint64_t, kLatencyBuckets> buckets{};  // their sum is the number of timed operations
};

struct alignas(kCacheLineBytes) MetricsShard {
  std::array<OperationCells, kOperationCount> operations;
  std::array<LatencyCells, kOperationCount> latencies;
};

struct alignas(4096) MetricsPage {
  MetricsHeader header;
  alignas(kCacheLineBytes) std::array<std::uint64_t, kValueCount> values{};
  std::array<MetricsShard, kMetricsShards> shards;
};

inline constexpr std::size_t kMetricsPageBytes = sizeof(MetricsPage);
static_assert(kMetricsPageBytes <= 256 << 10, "this is taken from a tmpfs that may have 64 MiB");

[[nodiscard]] std::uint64_t MetricsFingerprint();

}  // namespace zenfs
