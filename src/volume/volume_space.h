// The space account of a volume: the zones that data may not take, and what the others hold.
//
// The zone manager counts live bytes of data zones only. A read-only mount counts metadata and log zones too: all written bytes of
// a metadata zone are live, and the frames of files in a log zone. All verbs and the exporter use that.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/status.h"
#include "device/geometry.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "model/state.h"
#include "zone/spread.h"
#include "zone/zone_limits.h"
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

// A zone manager that knows the log zones and the live bytes of `state`. `report` covers all zones. Errors: those of
// ZoneManager::Create.
[[nodiscard]] Result<std::unique_ptr<ZoneManager>> AccountZones(ZonedDevice& device, const SlotPlan& plan,
                                                                std::vector<ZoneInfo> report,
                                                                ZoneManager::Options options,
                                                                const State& state);

struct LiveZones {
  std::vector<ZoneStatus> zones;
  SpaceReport space;  // space.used() is the sum of the live bytes of all zones that are not lost
};

// Counts zones and space from `state`, `frame_bytes` (device bytes of live frames by log zone) and a new report of all
// zones. The report may be later than the state: then the writer's changes in between show as garbage. Writes nothing and
// starts no thread. Errors: those of PlanSlots and of a zone report.
[[nodiscard]] Result<LiveZones> AccountLiveZones(ZonedDevice& device, const Superblock& superblock,
                                                 const State& state,
                                                 const std::vector<ZoneId>& metadata_zones,
                                                 const std::map<ZoneId, std::uint64_t>& frame_bytes);

}  // namespace zenfs
