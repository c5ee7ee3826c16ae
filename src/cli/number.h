// Parses numbers on a command line (strict and bounded, without signs), and formats them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/size_text.h"
#include "base/status.h"

namespace zenfs {

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
