// Sizes as text, in binary units.
#pragma once

#include <cstdint>
#include <string>

namespace zenfs {

// Three significant digits: "812 B", "1.25 KiB", "48.1 MiB", "950 GiB". Rounded down, like the megabytes of `zenfs df`, so
// that both agree. For rates, append "/s".
[[nodiscard]] std::string ShortBytes(double bytes);
[[nodiscard]] inline std::string ShortBytes(std::uint64_t bytes) {
  return ShortBytes(static_cast<double>(bytes));
}

}  // namespace zenfs
