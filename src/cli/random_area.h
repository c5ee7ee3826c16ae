// How random write areas of a device (device/geometry.h) are shown.
#pragma once

#include <cstdint>
#include <string>

#include "cli/console.h"

namespace zenfs {

// null if there are none; otherwise bytes, unit and zones.
[[nodiscard]] Json RandomAreaJson(std::uint64_t bytes, std::uint64_t unit, std::uint32_t zones);

// "none" or "64 KiB, commits of 16 KiB, 8 zones at most".
[[nodiscard]] std::string RandomAreaText(std::uint64_t bytes, std::uint64_t unit, std::uint32_t zones);

}  // namespace zenfs
