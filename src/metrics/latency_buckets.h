// The buckets of a latency histogram: four per power of two, from 32 ns to a minute. Pure.
//
// The middle of a bucket differs from every value in it by at most 12.5 % from 32 ns on, and by at
// most 4 ns below. Values from kLatencyLimit on go into the last bucket.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace zenfs {

inline constexpr std::size_t kLatencyBuckets = 128;
inline constexpr std::uint64_t kLatencyLimit = std::uint64_t{1} << 36;  // nanoseconds

namespace latency_internal {
inline constexpr unsigned kUnitShift = 3;  // unit: 8 ns
inline constexpr unsigned kSubBits = 2;
inline constexpr std::uint64_t kSubBuckets = 1 << kSubBits;
}  // namespace latency_internal

[[nodiscard]] constexpr std::size_t LatencyBucketOf(std::uint64_t nanoseconds) {
  using namespace latency_internal;
  const std::uint64_t units = std::min(nanoseconds, kLatencyLimit - 1) >> kUnitShift;
  if (units < kSubBuckets) return units;
  const unsigned exponent = static_cast<unsigned>(std::bit_width(units)) - 1;
  return (exponent - 1) * kSubBuckets + ((units >> (exponent - kSubBits)) & (kSubBuckets - 1));
}

// The smallest latency of a bucket in nanoseconds; kLatencyLimit for kLatencyBuckets.
[[nodiscard]] constexpr std::uint64_t LatencyBucketStart(std::size_t bucket) {
  using namespace latency_internal;
  if (bucket < kSubBuckets) return bucket << kUnitShift;
  const std::uint64_t octave = bucket / kSubBuckets - 1;
  return (kSubBuckets + bucket % kSubBuckets) << (octave + kUnitShift);
}

static_assert(LatencyBucketOf(kLatencyLimit - 1) == kLatencyBuckets - 1);
static_assert(LatencyBucketStart(kLatencyBuckets) == kLatencyLimit);

}  // namespace zenfs
