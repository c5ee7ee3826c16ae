// Puts the tails of framed files together again from the frames in log zones, for a read-write mount.
//
// Threads: the mounting one. Writes nothing.
#pragma once

#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "device/zone_info.h"
#include "model/state.h"
#include "volume/mounted_device.h"
#include "wal/log_replay.h"

namespace zenfs {

// Committed files that have, or may have, frames.
using RecoveredLogs = std::unordered_map<FileId, ReplayedLog>;

// Scans the log zones of `state`. `report`: of all zones. `plain_tails`: plain files to which an earlier mount may have
// written frames. Damage is a notice of `device`. Errors: kCorruption if a frame proves that commits are lost.
[[nodiscard]] Result<RecoveredLogs> ReplayLogs(MountedDevice& device, const State& state,
                                               std::span<const ZoneInfo> report,
                                               const std::set<FileId>& plain_tails);

// The edits that seal every log with an open window: frames behind what was found are dead for ever once these are
// committed. The device must be flushed before.
[[nodiscard]] std::vector<Edit> SealEdits(const RecoveredLogs& logs, const State& state);

}  // namespace zenfs
