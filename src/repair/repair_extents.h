// Repairs the extents of a draft's files. Afterwards each extent is in the written part of a zone
// that holds data, no two files share a byte of the device, and no file has a gap.
#pragma once

#include <span>

#include "base/sentences.h"
#include "device/geometry.h"
#include "device/zone_info.h"
#include "model/state_draft.h"
#include "volume/fsck/file_names.h"

namespace zenfs {

struct ExtentRules {
  Geometry geometry;
  std::span<const ZoneInfo> report;  // of all zones
  std::span<const ZoneId> metadata_zones;
};

// Ends a file before its first invalid extent. The valid extents after it become a file of their
// own in /lost+found. If two files claim the same byte, the newer one (with the higher id) keeps
// it. Extents in offline zones stay, so that the file differs from one that was always shorter.
// Also drops log zones that cannot be log zones. Appends a sentence to `steps` for each change.
void RepairExtents(StateDraft& draft, const ExtentRules& rules, const FileNames& names, Sentences& steps);

}  // namespace zenfs
