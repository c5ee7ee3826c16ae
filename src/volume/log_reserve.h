// How much data may not have. The log has one zone that it writes and one ready; one more empty zone is kept for it, so that
// syncs go on when the device is full of data.
#pragma once

#include <cstdint>
#include <vector>

#include "device/geometry.h"
#include "zone/zone_manager.h"

namespace zenfs {

// The zone that the log writes, and one that it keeps ready.
inline constexpr std::uint32_t kLogInUse = 2;
inline constexpr std::uint32_t kKeptForLog = 1;

// Reclaim needs a zone to move into. A device with fewer zones for data than this can't spare one: there it moves what
// fits the room that happens to be left.
inline constexpr std::uint32_t kFewestZonesToReclaim = 6;

// What of a volume's zones is not for data. The same for who writes it and who only looks.
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
