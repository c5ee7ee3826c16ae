// Replays the log zones for a read-write mount: reassembles the tails of framed files from their frames.
//
// Threads: the mounting thread only. Writes nothing.
#pragma once

#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "device/zone_info.h"
#include "model/state.h"
#include "volume/mount/mounted_device.h"
#include "wal/wal_recovery.h"

namespace zenfs {

// The committed files that have or may have frames.
using RecoveredLogs = std::unordered_map<FileId, ReplayedLog>;

// Scans the log zones of `state`. `report` covers all zones. `plain_tails` are plain files for which an earlier mount may
// have written frames. Adds a notice to `device` for each damage. Errors: kCorruption if a frame proves that commits are
// lost.
[[nodiscard]] Result<RecoveredLogs> ReplayLogs(MountedDevice& device, const State& state,
                                               std::span<const ZoneInfo> report,
                                               const std::set<FileId>& plain_tails);

// The edits that seal every log with an open window, and make the plain files of `taken_over` framed. Once they are committed,
// frames beyond the found ones are dead forever. The caller must flush the device before the commit.
[[nodiscard]] std::vector<Edit> SealEdits(const RecoveredLogs& logs, const State& state,
                                          const std::set<FileId>& taken_over);

}  // namespace zenfs
