// Repairs the extents of a draft's files, and makes files of the written bytes that are in no extent.
#pragma once

#include <span>

#include "base/sentences.h"
#include "device/geometry.h"
#include "device/zone_info.h"
#include "device/zoned_device.h"
#include "model/state_draft.h"
#include "volume/fsck/file_names.h"

namespace zenfs {

struct ExtentRules {
  Geometry geometry;
  std::span<const ZoneInfo> report;  // of all zones
  std::span<const ZoneId> metadata_zones;
};

// Afterwards each extent is in the written part of a zone that holds data, no two files share a byte of the device, and no file
// has a gap.
//
// Ends a file before its first invalid extent. The valid extents after it become a file of their
// own in /lost+found. If two files claim the same byte, the newer one (with the higher id) keeps
// it. Extents in offline zones stay, so that the file differs from one that was always shorter.
// Also drops log zones that cannot be log zones. Appends a sentence to `steps` for each change.
void RepairExtents(StateDraft& draft, const ExtentRules& rules, const FileNames& names, Sentences& steps);

// Creates files from unreferenced data, so that the next mount does not reset the zones that hold
// it. For a draft that lacks commits. Each written range of a zone that no extent covers becomes a
// plain file /lost+found/zone-N-OFFSET, with OFFSET in bytes from the start of the zone. Skips
// zones allocated to the log, metadata zones, and ranges of zeros. Some of these files may hold
// deleted data; only somebody who knows the data can tell.
void RescueOrphans(StateDraft& draft, ZonedDevice& device, std::span<const ZoneInfo> report,
                   std::span<const ZoneId> metadata_zones, Sentences& steps);

}  // namespace zenfs
