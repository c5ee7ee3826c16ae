// The zones that data may not take. The log has one zone that it writes and one ready zone. One more empty zone is reserved
// for it, so that syncs succeed when the device is full of data.
#pragma once

#include <cstdint>
#include <vector>

#include "device/geometry.h"
#include "zone/zone_manager.h"

namespace zenfs {

// The zone that the log writes, and the ready zone.
inline constexpr std::uint32_t kLogInUse = 2;
inline constexpr std::uint32_t kKeptForLog = 1;

// Reclaim needs one zone as headroom for its copies. A device with fewer data zones than this can't spare one; there reclaim
// moves only what fits the remaining room.
inline constexpr std::uint32_t kFewestZonesToReclaim = 6;

// The options of the zone manager for a volume; the same for writers and readers.
inline ZoneManager::Options SpaceOptions(const Geometry& geometry,
                                         const std::vector<ZoneId>& metadata_zones) {
  const auto others = geometry.zone_count - static_cast<std::uint32_t>(metadata_zones.size());
  return {.metadata_zones = metadata_zones,
          .reserved_for_log = kKeptForLog,
          .log_in_use = kLogInUse,
          .reclaims = true,
          .headroom = others >= kLogInUse + kKeptForLog + kFewestZonesToReclaim};
}

}  // namespace zenfs
