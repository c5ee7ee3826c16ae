// Shared by the tests of the zone machine.
#pragma once

#include "backends/emulator/zone_machine.h"

namespace zenfs {

inline constexpr std::uint64_t kSmallCapacity = 12;  // blocks

// Eight zones, the first of them conventional.
inline EmulatorGeometry SmallGeometry(std::uint32_t max_open = 2, std::uint32_t max_active = 3) {
  return {.zones = 8,
          .zone_size = 16 * 4096,
          .zone_capacity = kSmallCapacity * 4096,
          .max_open = max_open,
          .max_active = max_active,
          .conventional = 1,
          .block_size = 4096};
}

inline Code CodeOf(const Status& status) { return status.error().code(); }

inline Status WriteBlocks(ZoneMachine& machine, ZoneId zone, std::uint64_t block, std::uint64_t count) {
  ZENFS_RETURN_IF_ERROR(machine.BeginWrite(zone, block, count));
  machine.CommitWrite(zone, block, count);
  return {};
}

}  // namespace zenfs
