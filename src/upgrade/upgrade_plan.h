// What an upgrade will do: how a volume of the older ZenFS, format 1 or 2, becomes one of format 3 in place. upgrade.h carries it
// out. Reads only; who opens the device decides whether anybody may write meanwhile.
//
// Files stay where they are. Anew are written only the parts of files whose extents format 3 can't have: those that do not begin
// on a block of the device and of the file (model/file_record.h). These are the logs of the older ZenFS, whose segments have a
// header, and what follows a sync in the middle of other files.
//
// New metadata and data go to zones that hold nothing of the older volume. Never written, reset or finished before the switch: the
// zone of the older log, and zones with a file that was open when its writer ended, whose write pointer is the end of that file.
//
// Threads: functions on values. Units: bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/sentences.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "model/edit.h"
#include "model/units.h"

namespace zenfs {

// The part of a file that is written anew.
struct RewrittenPart {
  std::string path;
  std::size_t edit = 0;         // of UpgradePlan::edits: the SetExtents of the file
  std::size_t first = 0;        // of its extents; these and all later ones are new places
  std::vector<Extent> sources;  // the whole file as it is
};

struct UpgradePlan {
  Superblock older;
  std::uint64_t older_sequence = 0;  // of the superblock of its log
  ZoneId older_log;                  // the metadata zone that counts
  std::uint64_t older_log_bytes = 0;
  Sentences losses;       // of the older volume, one sentence each; they stay
  Superblock superblock;  // of the new one; has the same UUID
  std::uint32_t copies = 1;
  std::string why_one_copy;  // if copies is 1
  std::uint64_t snapshot_bytes = 0;

  std::vector<Edit>
      edits;  // make the new state from an empty one; extents that are written anew have no checksum yet
  std::vector<RewrittenPart> rewritten;
  std::uint64_t files = 0;
  std::uint64_t directories = 0;
  std::uint64_t staying_bytes = 0;
  std::uint64_t rewritten_bytes = 0;

  std::vector<ZoneId> keep;    // metadata zones that are not touched before the switch
  std::vector<ZoneId> resets;  // zones with nothing of the older volume, to be reset first
  // Active zones that may be finished if slots are needed, the fullest first.
  std::vector<ZoneId> may_finish;
  // If the new volume will be short of room: how many empty zones it has, and should have.
  std::uint32_t empty_after = 0;
  std::uint32_t wanted_empty = 0;
};

// Errors: kExists if the volume is one of format 3; kNoSpace if there is no room (the text has the missing bytes, and what can be
// deleted or moved); kCorruption if the older volume is damaged so that a file can't be taken over; those of ProbeReadable.
[[nodiscard]] Result<UpgradePlan> PlanUpgrade(ZonedDevice& device);

}  // namespace zenfs
