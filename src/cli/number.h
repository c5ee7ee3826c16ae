// Parses numbers on a command line (strict and bounded, without signs), and formats them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace zenfs {

inline constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 56;  // bytes; keeps every sum within 63 bits

// "4096", "16M", "1g", "32MiB": digits, then optionally one of K, M, G, T in either case for powers
// of 1024, then optionally "iB". Output of FormatSize without its space is valid input. Errors:
// kInvalidArgument; the text quotes the input and lists the accepted forms.
[[nodiscard]] Result<std::uint64_t> ParseSize(std::string_view text);

// Decimal digits only, from `min` to `max`. Errors: as ParseSize.
[[nodiscard]] Result<std::uint64_t> ParseCount(std::string_view text, std::uint64_t min, std::uint64_t max);

// "2", "0.5": from `min` to `max` seconds. Errors: kInvalidArgument; the text quotes the input and gives the range.
[[nodiscard]] Result<std::chrono::milliseconds> ParseSeconds(std::string_view text, double min, double max);

// "16 MiB", "4096 bytes": the largest unit that divides `bytes` evenly.
[[nodiscard]] std::string FormatSize(std::uint64_t bytes);

// A limit of a device: "none" for 0.
[[nodiscard]] std::string FormatLimit(std::uint32_t limit);

[[nodiscard]] constexpr double ToMicroseconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1000;
}

}  // namespace zenfs
