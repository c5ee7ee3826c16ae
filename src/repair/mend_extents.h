// Mends the extents of a draft's files: each in a zone that holds data, within its written part, no byte of the device
// in two files, no gap.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/geometry.h"
#include "device/zone_info.h"
#include "model/state_draft.h"
#include "volume/file_names.h"

namespace zenfs {

struct ExtentRules {
  Geometry geometry;
  std::span<const ZoneInfo> report;  // of all zones
  std::span<const ZoneId> metadata_zones;
};

// A file ends before the first of its extents that can't be; what is sound behind it goes to /lost+found as a file of
// its own. Of two files that claim a byte the one with the higher id, which is newer, keeps it. Extents in offline
// zones stay: the file is to be told from one that was always shorter. Appends a sentence for each change.
// Log zones that are none are dropped too.
void MendExtents(StateDraft& draft, const ExtentRules& rules, const FileNames& names,
                 std::vector<std::string>& steps);

}  // namespace zenfs
