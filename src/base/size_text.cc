#include "base/size_text.h"

#include <fmt/format.h>

#include <charconv>

#include "base/printable.h"

namespace zenfs {
namespace {

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

std::optional<std::uint64_t> ParseDigits(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

Result<std::uint64_t> ParseSize(std::string_view text) {
  const std::string_view number = text.ends_with("iB") ? text.substr(0, text.size() - 2) : text;
  const int shift = number.empty() ? 0 : ShiftOf(number.back());
  const bool unit_missing = shift == 0 && number.size() != text.size();
  const auto digits =
      unit_missing ? std::nullopt : ParseDigits(number.substr(0, number.size() - (shift != 0)));
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

}  // namespace zenfs
