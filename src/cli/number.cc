#include "cli/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <utility>

#include "base/counted.h"
#include "base/printable.h"

namespace zenfs {

Result<std::uint64_t> ParseCount(std::string_view text, std::uint64_t min, std::uint64_t max) {
  const auto value = ParseDigits(text);
  if (!value || *value < min || *value > max) {
    return Fail(Code::kInvalidArgument,
                fmt::format("'{}' is not a whole number from {} to {}", Printable(text), min, max));
  }
  return *value;
}

Result<std::chrono::milliseconds> ParseSeconds(std::string_view text, double min, double max) {
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc() || stop != end || !(seconds >= min && seconds <= max)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("'{}' is not a number of seconds from {} to {}", text, min, max));
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

Result<std::uint64_t> ParseAge(std::string_view text) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 32;  // of each unit
  constexpr std::pair<char, std::uint64_t> kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86'400}};
  const auto count = ParseDigits(text.substr(0, text.size() - std::min<std::size_t>(text.size(), 1)));
  for (const auto& [unit, seconds] : kUnits) {
    if (text.ends_with(unit) && count && *count <= kMost) return *count * seconds;
  }
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' is not an age; give a whole number with s, m, h or d, like 90s or 7d", text));
}

std::string FormatSize(std::uint64_t bytes) {
  constexpr std::pair<int, const char*> kUnits[] = {{40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}};
  for (const auto& [shift, name] : kUnits) {
    const std::uint64_t unit = std::uint64_t{1} << shift;
    if (bytes >= unit && bytes % unit == 0) return fmt::format("{} {}", bytes >> shift, name);
  }
  return fmt::format("{} bytes", bytes);
}

std::string FormatLimit(std::uint32_t limit) { return limit == 0 ? "no limit" : fmt::to_string(limit); }

Json RandomAreaJson(std::uint64_t bytes, std::uint64_t unit, std::uint32_t zones) {
  if (bytes == 0) return nullptr;
  return {{"bytes", bytes}, {"unit", unit}, {"zones", zones}};
}

std::string RandomAreaText(std::uint64_t bytes, std::uint64_t unit, std::uint32_t zones) {
  if (bytes == 0) return "none";
  return fmt::format("{}, commits of {}, {} at most", FormatSize(bytes), FormatSize(unit),
                     Counted(zones, "zone"));
}

std::string FormatTime(std::uint64_t seconds) {
  if (seconds == 0) return "-";
  const auto when = static_cast<std::time_t>(seconds);
  std::tm local{};
  char text[64];
  if (localtime_r(&when, &local) == nullptr) return "-";
  return std::string(text, std::strftime(text, sizeof(text), "%b %d %Y %H:%M:%S", &local));
}

}  // namespace zenfs
