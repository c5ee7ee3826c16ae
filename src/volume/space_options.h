// The zones that data may not take: those that the log needs, and the headroom for copies.
#pragma once

#include <cstdint>
#include <vector>

#include "device/geometry.h"
#include "zone/zone_manager.h"

namespace zenfs {

// The zone that the log writes, and the ready zone, so that syncs need not wait for one. When nothing else is left, data
// gets the second one.
inline constexpr EmptyZones::LogShare kLogShare{.needs = 2, .least = 1};

// Reclaim needs one zone as headroom for its copies. A device with fewer zones besides the metadata zones can't spare one;
// there reclaim moves only what fits the remaining room.
inline constexpr std::uint32_t kFewestZonesForHeadroom = 9;

// The options of the zone manager for a volume; the same for writers and readers. Of two joined devices, the log has the
// second one and needs no zone of the main one.
inline ZoneManager::Options SpaceOptions(const Geometry& geometry,
                                         const std::vector<ZoneId>& metadata_zones) {
  const auto others = geometry.main_zones() - static_cast<std::uint32_t>(metadata_zones.size());
  return {.metadata_zones = metadata_zones,
          .log = geometry.log_zones == 0 ? kLogShare : EmptyZones::LogShare{},
          .reclaims = true,
          .headroom = others >= kFewestZonesForHeadroom};
}

}  // namespace zenfs
