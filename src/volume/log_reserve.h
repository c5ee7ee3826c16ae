// How much data may not have. The log keeps as many empty zones for itself as it has ready, so that syncs go on when
// the device is full of data; devices with few zones can't afford two.
#pragma once

#include <cstdint>
#include <vector>

#include "device/geometry.h"
#include "zone/slot_plan.h"
#include "zone/zone_manager.h"

namespace zenfs {

inline constexpr std::uint32_t kFewZones = 16;

inline std::uint32_t LogReserve(const Geometry& geometry, std::size_t metadata_zones, const SlotPlan& plan) {
  const auto others = geometry.zone_count - static_cast<std::uint32_t>(metadata_zones);
  return plan.log_carries_data || others < kFewZones ? 1 : 2;
}

// Reclaim needs a zone to move into. A device with fewer zones for data than this can't spare one: there it moves what
// fits the room that happens to be left.
inline constexpr std::uint32_t kFewestZonesToReclaim = 6;

// What of a volume's zones is not for data. The same for who writes it and who only looks.
inline ZoneManager::Options SpaceOptions(const Geometry& geometry, const std::vector<ZoneId>& metadata_zones,
                                         const SlotPlan& plan) {
  const std::uint32_t reserve = LogReserve(geometry, metadata_zones.size(), plan);
  const auto others = geometry.zone_count - static_cast<std::uint32_t>(metadata_zones.size());
  return {.metadata_zones = metadata_zones,
          .reserved_for_log = reserve,
          .log_in_use = 1 + reserve,
          .reclaims = true,
          .headroom = others >= 1 + 2 * reserve + kFewestZonesToReclaim};
}

}  // namespace zenfs
