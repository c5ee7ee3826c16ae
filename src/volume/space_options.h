// The zones that data may not take: those that the log needs, and the headroom for copies.
#pragma once

#include <cstdint>
#include <vector>

#include "device/geometry.h"
#include "zone/spread.h"
#include "zone/zone_manager.h"

namespace zenfs {

// The zones that the log writes in turns, and as many that are ready, so that syncs need not wait for one. When nothing else is
// left, data gets the ready ones. Of two joined devices, the log has the second one and needs no zone of the main one.
inline EmptyZones::LogShare LogShareOn(const Geometry& geometry) {
  if (geometry.log_zones != 0) return {};
  const std::uint32_t group = LogGroup(geometry);
  return {.needs = 2 * group, .least = group, .group = group};
}

// Reclaim needs headroom for its copies: a zone, or a group of log zones. A device with fewer zones besides the metadata zones can't spare one;
// there reclaim moves only what fits the remaining room.
inline constexpr std::uint32_t kFewestZonesForHeadroom = 9;

inline std::uint32_t HeadroomZonesOn(const Geometry& geometry, std::uint32_t metadata_zones) {
  return geometry.main_zones() - metadata_zones >= kFewestZonesForHeadroom ? LogGroup(geometry) : 0;
}

// The options of the zone manager for a volume; the same for writers and readers.
inline ZoneManager::Options SpaceOptions(const Geometry& geometry,
                                         const std::vector<ZoneId>& metadata_zones) {
  return {.metadata_zones = metadata_zones,
          .log = LogShareOn(geometry),
          .reclaims = true,
          .headroom = HeadroomZonesOn(geometry, static_cast<std::uint32_t>(metadata_zones.size()))};
}

}  // namespace zenfs
