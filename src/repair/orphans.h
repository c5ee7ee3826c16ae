// Creates files from unreferenced data, so that the next mount does not reset the zones that hold
// it.
#pragma once

#include <span>

#include "base/sentences.h"
#include "device/zoned_device.h"
#include "model/state_draft.h"

namespace zenfs {

// For a draft that lacks commits. Each written range of a zone that no extent covers becomes a
// plain file /lost+found/zone-N-OFFSET, with OFFSET in bytes from the start of the zone. Skips
// zones allocated to the log, metadata zones, and ranges of zeros. Some of these files may hold
// deleted data; only somebody who knows the data can tell.
void RescueOrphans(StateDraft& draft, ZonedDevice& device, std::span<const ZoneInfo> report,
                   std::span<const ZoneId> metadata_zones, Sentences& steps);

}  // namespace zenfs
