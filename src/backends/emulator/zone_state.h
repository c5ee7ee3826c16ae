// The state of a zone in the zone machine.
#pragma once

#include <cstdint>

#include "backends/emulator/emulator_geometry.h"
#include "base/status.h"
#include "device/zone_info.h"

namespace zenfs {

struct MachineZone {
  ZoneCondition condition = ZoneCondition::kEmpty;
  std::uint64_t written =
      0;  // blocks up to the write pointer; keeps its value when the zone is finished or fails
  bool random_area = false;

  friend bool operator==(const MachineZone&, const MachineZone&) = default;
};

// kCorruption if the zone machine never leaves a zone in this state. Does not check limits of the device.
[[nodiscard]] Status CheckPossible(const EmulatorGeometry& geometry, ZoneId zone, MachineZone state);

}  // namespace zenfs
