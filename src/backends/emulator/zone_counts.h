// Counts the zones of a device that its limits are about.
#pragma once

#include <cstdint>

#include "backends/emulator/zone_state.h"

namespace zenfs {

class ZoneCounts {
 public:
  std::uint32_t open() const { return explicitly_open_ + implicitly_open_; }
  std::uint32_t implicitly_open() const { return implicitly_open_; }
  std::uint32_t active() const { return open() + closed_; }
  std::uint32_t random_areas() const { return random_areas_; }

  void Replace(MachineZone before, MachineZone after) {
    Count(before, ~std::uint32_t{0});  // -1
    Count(after, 1);
  }

 private:
  void Count(MachineZone zone, std::uint32_t step) {
    if (zone.condition == ZoneCondition::kExplicitlyOpen) explicitly_open_ += step;
    if (zone.condition == ZoneCondition::kImplicitlyOpen) implicitly_open_ += step;
    if (zone.condition == ZoneCondition::kClosed) closed_ += step;
    if (zone.random_area) random_areas_ += step;
  }

  std::uint32_t explicitly_open_ = 0;
  std::uint32_t implicitly_open_ = 0;
  std::uint32_t closed_ = 0;
  std::uint32_t random_areas_ = 0;
};

}  // namespace zenfs
