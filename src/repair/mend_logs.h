// Mends framed files by what the log zones hold: loss at a file's end is acknowledged, frames whose file nobody knows
// any more become files in /lost+found.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "device/zoned_device.h"
#include "format/superblock.h"
#include "model/state_draft.h"
#include "volume/file_names.h"
#include "wal/epoch_witness.h"
#include "wal/log_scan.h"

namespace zenfs {

// The frames that the log zones hold, by the file that owns them.
struct LogFrames {
  std::map<FileId, std::vector<ScannedFrame>> of;
  EpochWitness witness;
};
// Of the zones that `draft` has reserved and that can be log zones.
[[nodiscard]] LogFrames ScanLogs(const StateDraft& draft, ZonedDevice& device, const Superblock& superblock,
                                 std::span<const ZoneInfo> report);

struct LogRules {
  const FileNames& names;
  bool commits_are_lost = false;  // so frames may belong to files that these created
};

// - A file whose last bytes are lost ends before them, so that no mount names them again: nothing else is lost by that.
//   One that lost bytes in its middle stays as it is, and is named: cutting it would lose what is behind.
// - All ids seen move the draft's counter, frames of a later epoch its epoch, so that no frame can come back to life. Where
//   commits are lost, frames of unknown files become files in /lost+found, which may be files that were deleted.
// Appends a sentence for each change to `steps`, and for each loss that stays to `losses`.
void MendLogs(StateDraft& draft, LogFrames frames, const LogRules& rules, std::vector<std::string>& steps,
              std::vector<std::string>& losses);

}  // namespace zenfs
