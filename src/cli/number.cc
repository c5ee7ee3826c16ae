#include "cli/number.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "cli/console.h"

namespace zenfs {
namespace {

std::optional<std::uint64_t> Digits(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

int ShiftOf(char suffix) {
  switch (suffix) {
    case 'K':
    case 'k': return 10;
    case 'M':
    case 'm': return 20;
    case 'G':
    case 'g': return 30;
    case 'T':
    case 't': return 40;
    default: return 0;
  }
}

}  // namespace

Result<std::uint64_t> ParseSize(std::string_view text) {
  const std::string_view number = text.ends_with("iB") ? text.substr(0, text.size() - 2) : text;
  const int shift = number.empty() ? 0 : ShiftOf(number.back());
  const bool unit_missing = shift == 0 && number.size() != text.size();
  const auto digits = unit_missing ? std::nullopt : Digits(number.substr(0, number.size() - (shift != 0)));
  if (!digits) {
    return Fail(Code::kInvalidArgument, fmt::format("'{}' is not a size: give bytes, or a number with K, M, "
                                                    "G or T (or KiB, MiB, GiB, TiB) for powers of 1024",
                                                    Printable(text)));
  }
  if (*digits > (kMaxSize >> shift)) {
    return Fail(Code::kInvalidArgument, fmt::format("'{}' is too large: at most 65536T", Printable(text)));
  }
  return *digits << shift;
}

Result<std::uint64_t> ParseCount(std::string_view text, std::uint64_t min, std::uint64_t max) {
  const auto value = Digits(text);
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

std::string FormatSize(std::uint64_t bytes) {
  constexpr std::pair<int, const char*> kUnits[] = {{40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}};
  for (const auto& [shift, name] : kUnits) {
    const std::uint64_t unit = std::uint64_t{1} << shift;
    if (bytes >= unit && bytes % unit == 0) return fmt::format("{} {}", bytes >> shift, name);
  }
  return fmt::format("{} bytes", bytes);
}

std::string FormatLimit(std::uint32_t limit) { return limit == 0 ? "no limit" : fmt::to_string(limit); }

}  // namespace zenfs
