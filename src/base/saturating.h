// Sums that stay at the largest number instead of starting again at zero.
#pragma once

#include <cstdint>
#include <limits>

namespace zenfs {

[[nodiscard]] constexpr std::uint64_t SaturatingSum(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

}  // namespace zenfs
