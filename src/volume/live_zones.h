// How the space of a volume is used, as a read-only mount sees it: every verb and the exporter take it from here.
//
// The zone manager counts live bytes of data zones only. Here metadata and log zones are counted too: of a metadata
// zone all that is written is live, of a log zone the frames that files consist of.
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
  SpaceReport space;  // space.used() is the sum of what is live in all zones that are not lost
};

// From `state`, `frame_bytes` (device bytes of live frames by log zone) and a report of all zones that is taken here,
// so perhaps later than the state: what a writer changes between the two shows as garbage. Writes nothing and starts
// no thread. Errors: those of PlanSlots and of a report.
[[nodiscard]] Result<LiveZones> AccountLiveZones(ZonedDevice& device, const Superblock& superblock,
                                                 const State& state,
                                                 const std::map<ZoneId, std::uint64_t>& frame_bytes);

}  // namespace zenfs
