// Repairs framed files from the frames in the log zones: accepts a loss at the end of a file, and
// turns frames of unknown files into files in /lost+found.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "base/sentences.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "model/state_draft.h"
#include "volume/fsck/file_names.h"
#include "wal/wal_recovery.h"

namespace zenfs {

// The frames in the log zones, by the file that owns them.
struct LogFrames {
  std::map<FileId, std::vector<ScannedFrame>> of;
  EpochCheck epoch_check;
};
// Scans the zones that `draft` has allocated and that can be log zones.
[[nodiscard]] LogFrames ScanLogs(const StateDraft& draft, ZonedDevice& device, const Uuid& seed,
                                 std::span<const ZoneInfo> report, std::span<const ZoneId> metadata_zones);

struct LogRules {
  const FileNames& names;
  bool commits_are_lost = false;  // frames may belong to files that the lost commits created
  std::uint64_t last_epoch = 0;   // of the last mount, as far as something else than the logs shows it
};

// - A file whose last bytes are lost ends before them, so that later mounts do not report them
//   again. Nothing else is lost by that. A file that lost bytes in its middle stays as it is and is
//   named in `losses`: to cut it would lose the bytes after the gap.
// - The draft's id counter moves above all ids seen, and its epoch to the highest epoch of any
//   frame, so that no dead frame becomes live again.
// - If commits are lost, frames of unknown files become files in /lost+found. Some of these may be
//   files that were deleted.
//
// Appends a sentence to `steps` for each change, and to `losses` for each loss that stays.
void RepairLogs(StateDraft& draft, LogFrames frames, const LogRules& rules, Sentences& steps,
                Sentences& losses);

}  // namespace zenfs
