// Parses numbers on a command line (strict and bounded, without signs), and formats numbers, sizes and points in time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/size_text.h"
#include "base/status.h"
#include "cli/json.h"

namespace zenfs {

// Decimal digits only, from `min` to `max`. Errors: as ParseSize.
[[nodiscard]] Result<std::uint64_t> ParseCount(std::string_view text, std::uint64_t min, std::uint64_t max);

// "2", "0.5": from `min` to `max` seconds. Errors: kInvalidArgument; the text quotes the input and gives the range.
[[nodiscard]] Result<std::chrono::milliseconds> ParseSeconds(std::string_view text, double min, double max);

// "90s", "30m", "12h", "7d" as seconds. Errors: kInvalidArgument; the text quotes the input and lists the units.
[[nodiscard]] Result<std::uint64_t> ParseAge(std::string_view text);

// "16 MiB", "4096 bytes": the largest unit that divides `bytes` evenly.
[[nodiscard]] std::string FormatSize(std::uint64_t bytes);

// "Jul 20 2021 18:13:52" in local time, as the older command does, from `seconds` since 1970; "-" for 0.
[[nodiscard]] std::string FormatTime(std::uint64_t seconds);

// A limit of a device: "no limit" for 0.
[[nodiscard]] std::string FormatLimit(std::uint32_t limit);

// How random write areas of a device (device/geometry.h) are shown: null if there are none; otherwise bytes, unit and zones.
[[nodiscard]] Json RandomAreaJson(std::uint64_t bytes, std::uint64_t unit, std::uint32_t zones);
// "none" or "64 KiB, commits of 16 KiB, 8 zones at most".
[[nodiscard]] std::string RandomAreaText(std::uint64_t bytes, std::uint64_t unit, std::uint32_t zones);

[[nodiscard]] constexpr double ToMicroseconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1000;
}
[[nodiscard]] constexpr double ToSeconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

// "12 MB" counts binary megabytes, rounded down, as the older command does. For the lines of mkfs
// and df that its users parse; all others use ShortBytes.
[[nodiscard]] constexpr std::uint64_t WholeMegabytes(std::uint64_t bytes) { return bytes >> 20; }

}  // namespace zenfs
