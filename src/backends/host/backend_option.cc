#include "backends/host/backend_option.h"

#include <fmt/format.h>

#include <charconv>

namespace zenfs {

Result<std::uint32_t> ParseNumber(std::string_view key, std::string_view value, std::string_view unit,
                                  std::uint32_t most) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc{} && end == value.data() + value.size() && number <= most) return number;
  return Fail(Code::kInvalidArgument,
              fmt::format("option {}:{} is not a number of {} from 0 to {}", key, value, unit, most));
}

Result<bool> ParseSwitch(std::string_view key, std::string_view value) {
  if (value.empty() || value == "1" || value == "true") return true;
  if (value == "0" || value == "false") return false;
  return Fail(Code::kInvalidArgument, fmt::format("option {}:{} is neither true nor false", key, value));
}

}  // namespace zenfs
