#include "cli/random_area.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "cli/number.h"

namespace zenfs {

Json RandomAreaJson(std::uint64_t bytes, std::uint64_t unit, std::uint32_t zones) {
  if (bytes == 0) return nullptr;
  return {{"bytes", bytes}, {"unit", unit}, {"zones", zones}};
}

std::string RandomAreaText(std::uint64_t bytes, std::uint64_t unit, std::uint32_t zones) {
  if (bytes == 0) return "none";
  return fmt::format("{}, commits of {}, {} at most", FormatSize(bytes), FormatSize(unit),
                     Counted(zones, "zone"));
}

}  // namespace zenfs
