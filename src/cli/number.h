// Numbers as people type them on a command line (strict, bounded, no signs, no surprises), and as they are shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace zenfs {

inline constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 56;  // bytes; keeps every sum within 63 bits

// "4096", "16M", "1g", "32MiB": digits, then at most one of K, M, G, T in either case for powers of 1024, then perhaps
// "iB", so that what FormatSize prints can be typed without its space.
// Errors: kInvalidArgument; the text quotes the input and says what is accepted.
[[nodiscard]] Result<std::uint64_t> ParseSize(std::string_view text);

// Decimal digits only, from `min` to `max`. Errors as ParseSize.
[[nodiscard]] Result<std::uint64_t> ParseCount(std::string_view text, std::uint64_t min, std::uint64_t max);

// "16 MiB", "4096 bytes": the largest unit that divides `bytes` evenly.
[[nodiscard]] std::string FormatSize(std::uint64_t bytes);

// Of a device: 0 is none.
[[nodiscard]] std::string FormatLimit(std::uint32_t limit);

[[nodiscard]] constexpr double ToMicroseconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1000;
}

}  // namespace zenfs
