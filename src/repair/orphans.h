// Data that no file points to, made files, so that the next mount does not reset the zones that hold it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/zoned_device.h"
#include "model/state_draft.h"

namespace zenfs {

// For a draft that lacks commits: each written stretch of a zone that no extent covers becomes a plain file
// /lost+found/zone-N-OFFSET (bytes from the start of the zone). Zones reserved for the log, metadata zones and stretches
// of zeros are passed over. Some of these files are what was deleted; only who knows the data can tell.
void RescueOrphans(StateDraft& draft, ZonedDevice& device, std::span<const ZoneInfo> report,
                   std::span<const ZoneId> metadata_zones, std::vector<std::string>& steps);

}  // namespace zenfs
