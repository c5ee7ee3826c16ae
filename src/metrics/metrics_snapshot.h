// Decodes a metrics page to plain values. The page may belong to another process and is not
// trusted.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "metrics/metrics_page.h"

namespace zenfs {

// Latencies of the timed operations, in nanoseconds.
struct LatencyHistogram {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t max = 0;
  std::array<std::uint64_t, kLatencyBuckets> buckets{};

  // The latency that the share `quantile` (0 to 1) of them did not exceed, within 12.5 % (see
  // latency_buckets.h), at most max; 0 if there are none.
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

// The changes between two snapshots of one page. The maxima are within 25 %. If `later` has lower
// counts (a new mount), all of `later`.
[[nodiscard]] MetricsSnapshot Difference(const MetricsSnapshot& later, const MetricsSnapshot& earlier);

// `page` is on a boundary of 4096 bytes and may be longer than kMetricsPageBytes. This or another
// process may count into it meanwhile. Errors: kNotSupported for a page of another version,
// kCorruption for other bytes.
[[nodiscard]] Result<MetricsSnapshot> DecodeMetrics(ByteView page);

}  // namespace zenfs
