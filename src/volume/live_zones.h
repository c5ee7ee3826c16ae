// How the space of a volume is used, for one who only reads it.
#pragma once

#include <memory>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "model/state.h"
#include "zone/zone_manager.h"

namespace zenfs {

// From `state` and a report of all zones that is taken here, so perhaps later than the state: what a writer
// changes between the two shows as garbage. Writes nothing and starts no thread. `device` outlives the result.
[[nodiscard]] Result<std::unique_ptr<ZoneManager>> AccountLiveZones(ZonedDevice& device,
                                                                    const Superblock& superblock,
                                                                    const State& state);

}  // namespace zenfs
