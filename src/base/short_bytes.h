// Numbers of bytes for people, in binary units.
#pragma once

#include <cstdint>
#include <string>

namespace zenfs {

// Three significant digits: "812 B", "1.25 KiB", "48.1 MiB", "950 GiB". Rounded down, as the megabytes of df are, so that
// the two never differ. For rates too, with "/s" behind it.
[[nodiscard]] std::string ShortBytes(double bytes);
[[nodiscard]] inline std::string ShortBytes(std::uint64_t bytes) {
  return ShortBytes(static_cast<double>(bytes));
}

}  // namespace zenfs
