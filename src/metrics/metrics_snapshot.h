// What a metrics page says, as plain values. The page may be another process's and is not trusted.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "metrics/metrics_page.h"

namespace zenfs {

// Latencies of those operations that were timed; nanoseconds.
struct LatencyHistogram {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t max = 0;
  std::array<std::uint64_t, kLatencyBuckets> buckets{};

  // What `quantile` (0 to 1) of them were not above, within 12.5 % (see latency_buckets.h), never above max; 0 if there
  // are none.
  [[nodiscard]] std::uint64_t Quantile(double quantile) const;
};

struct OperationFigures {
  std::uint64_t count = 0;
  std::uint64_t errors = 0;
  std::uint64_t bytes = 0;
  LatencyHistogram latency;
};

struct MetricsSnapshot {
  std::array<OperationFigures, kOperationCount> operations;
  std::array<std::uint64_t, kValueCount> values{};

  [[nodiscard]] const OperationFigures& operator[](Operation operation) const {
    return operations[static_cast<std::size_t>(operation)];
  }
  [[nodiscard]] std::uint64_t operator[](Value value) const {
    return values[static_cast<std::size_t>(value)];
  }
};

// What happened between two snapshots of one page; its maxima are within 25 %. Where the later has less (another mount
// has begun), all of it.
[[nodiscard]] MetricsSnapshot Difference(const MetricsSnapshot& later, const MetricsSnapshot& earlier);

// `page` may be counted into meanwhile, by this process or another; it is on a boundary of 4096 bytes and may be longer than
// kMetricsPageBytes. Errors: kNotSupported for a page of another version, kCorruption for what is no such page.
[[nodiscard]] Result<MetricsSnapshot> DecodeMetrics(ByteView page);

}  // namespace zenfs
