#include "metrics/metrics_snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace zenfs {
namespace {

std::uint64_t Load(const std::uint64_t& cell, int order = __ATOMIC_RELAXED) {
  return __atomic_load_n(&cell, order);  // std::atomic_ref of a const arrives with C++26
}

void AddShard(const MetricsShard& shard, MetricsSnapshot& snapshot) {
  for (std::size_t i = 0; i < kOperationCount; ++i) {
    OperationFigures& figures = snapshot.operations[i];
    figures.count += Load(shard.operations[i].count);
    figures.errors += Load(shard.operations[i].errors);
    figures.bytes += Load(shard.operations[i].bytes);
    const LatencyCells& cells = shard.latencies[i];
    figures.latency.sum += Load(cells.sum);
    figures.latency.max = std::max(figures.latency.max, Load(cells.max));
    for (std::size_t b = 0; b < kLatencyBuckets; ++b) {
      const std::uint64_t n = Load(cells.buckets[b]);
      figures.latency.buckets[b] += n;
      figures.latency.count += n;
    }
  }
}

Status CheckHeader(const MetricsHeader& header) {
  if (Load(header.magic, __ATOMIC_ACQUIRE) != kMetricsMagic) {
    return Fail(Code::kCorruption, "there are no metrics here: the page does not begin as one");
  }
  if (header.version != kMetricsVersion || header.fingerprint != MetricsFingerprint()) {
    return Fail(
        Code::kNotSupported,
        fmt::format(
            "the metrics are those of another version of zenfs (page version {}, this one is {}): use "
            "the command that belongs to the program which has the volume mounted",
            header.version, kMetricsVersion));
  }
  const MetricsHeader expected;
  if (header.page_bytes != kMetricsPageBytes || header.operations != expected.operations ||
      header.values != expected.values || header.shards != expected.shards ||
      header.buckets != expected.buckets) {
    return Fail(
        Code::kCorruption,
        fmt::format(
            "the page of metrics contradicts itself: {} operations, {} values, {} shards of {} buckets in "
            "{} bytes",
            header.operations, header.values, header.shards, header.buckets, header.page_bytes));
  }
  return {};
}

std::uint64_t Since(std::uint64_t later, std::uint64_t earlier) {
  return later >= earlier ? later - earlier : later;
}

}  // namespace

std::uint64_t LatencyHistogram::Quantile(double quantile) const {
  if (count == 0) return 0;
  const auto all = static_cast<double>(count);  // rounding may exceed the largest 64-bit integer
  const double wanted = std::ceil(std::clamp(quantile, 0.0, 1.0) * all);
  const std::uint64_t rank =
      wanted >= all ? count : std::max(std::uint64_t{1}, static_cast<std::uint64_t>(wanted));
  std::uint64_t seen = 0;
  for (std::size_t b = 0; b < kLatencyBuckets; ++b) {
    seen += buckets[b];
    if (seen < rank) continue;
    if (b + 1 == kLatencyBuckets) return max;
    return std::min(max, (LatencyBucketStart(b) + LatencyBucketStart(b + 1)) / 2);
  }
  return max;
}

MetricsSnapshot Difference(const MetricsSnapshot& later, const MetricsSnapshot& earlier) {
  MetricsSnapshot out = later;
  for (std::size_t i = 0; i < kOperationCount; ++i) {
    OperationFigures& figures = out.operations[i];
    const OperationFigures& before = earlier.operations[i];
    figures.count = Since(figures.count, before.count);
    figures.errors = Since(figures.errors, before.errors);
    figures.bytes = Since(figures.bytes, before.bytes);
    figures.latency.sum = Since(figures.latency.sum, before.latency.sum);
    figures.latency.count = 0;
    std::uint64_t longest = 0;  // upper bound from the highest bucket with an entry
    for (std::size_t b = 0; b < kLatencyBuckets; ++b) {
      figures.latency.buckets[b] = Since(figures.latency.buckets[b], before.latency.buckets[b]);
      figures.latency.count += figures.latency.buckets[b];
      if (figures.latency.buckets[b] > 0) longest = LatencyBucketStart(b + 1) - 1;
    }
    if (longest + 1 < kLatencyLimit) figures.latency.max = std::min(figures.latency.max, longest);
  }
  for (std::size_t i = 0; i < kValueCount; ++i) {
    if (Values()[i].counter) out.values[i] = Since(out.values[i], earlier.values[i]);
  }
  return out;
}

Result<MetricsSnapshot> DecodeMetrics(ByteView bytes) {
  if (bytes.size() < kMetricsPageBytes) {
    return Fail(Code::kCorruption, fmt::format("there are no metrics here: {} bytes, a page has {}",
                                               bytes.size(), kMetricsPageBytes));
  }
  const auto& page = *reinterpret_cast<const MetricsPage*>(bytes.data());
  ZENFS_RETURN_IF_ERROR(CheckHeader(page.header));
  MetricsSnapshot snapshot;
  for (std::size_t i = 0; i < kValueCount; ++i) snapshot.values[i] = Load(page.values[i]);
  for (const MetricsShard& shard : page.shards) AddShard(shard, snapshot);
  return snapshot;
}

}  // namespace zenfs
