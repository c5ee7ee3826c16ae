#include "base/short_bytes.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace zenfs {

std::string ShortBytes(double bytes) {
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  constexpr std::array<std::string_view, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (bytes /= 1024; bytes >= 1000 && unit + 1 < kUnits.size(); bytes /= 1024) ++unit;
  const int digits = bytes < 10 ? 2 : bytes < 100 ? 1 : 0;  // after the decimal point
  const double scale = std::pow(10.0, digits);
  return fmt::format("{:.{}f} {}", std::floor(bytes * scale) / scale, digits, kUnits[unit]);
}

}  // namespace zenfs
