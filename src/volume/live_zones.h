// The space of a volume as a read-only mount sees it. All verbs and the exporter use it.
//
// The zone manager counts live bytes of data zones only. Here metadata and log zones are counted too: all written bytes of
// a metadata zone are live, and the frames of files in a log zone.
#pragma once

#include <map>
#include <vector>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "model/state.h"
#include "zone/zone_manager.h"

namespace zenfs {

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
