// How much data may not have. The log has one zone that it writes and some ready; one more empty zone is kept for it, so that
// syncs go on when the device is full of data.
#pragma once

#include <cstdint>
#include <vector>

#include "device/geometry.h"
#include "zone/zone_manager.h"

namespace zenfs {

inline constexpr std::uint32_t kFewZones = 16;

// Zones that the log keeps ready beside the one it writes. Devices with few zones can't afford two.
inline std::uint32_t ReadyLogZones(const Geometry& geometry, std::size_t metadata_zones) {
  const auto others = geometry.zone_count - static_cast<std::uint32_t>(metadata_zones);
  return others < kFewZones ? 1 : 2;
}

inline constexpr std::uint32_t kKeptForLog = 1;

// Reclaim needs a zone to move into. A device with fewer zones for data than this can't spare one: there it moves what
// fits the room that happens to be left.
inline constexpr std::uint32_t kFewestZonesToReclaim = 6;

// What of a volume's zones is not for data. The same for who writes it and who only looks.
inline ZoneManager::Options SpaceOptions(const Geometry& geometry,
                                         const std::vector<ZoneId>& metadata_zones) {
  const std::uint32_t log_in_use = 1 + ReadyLogZones(geometry, metadata_zones.size());
  const auto others = geometry.zone_count - static_cast<std::uint32_t>(metadata_zones.size());
  return {.metadata_zones = metadata_zones,
          .reserved_for_log = kKeptForLog,
          .log_in_use = log_in_use,
          .reclaims = true,
          .headroom = others >= log_in_use + kKeptForLog + kFewestZonesToReclaim};
}

}  // namespace zenfs
