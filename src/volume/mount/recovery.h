// Recovery: makes a usable read-write mount from a device, also after a crash. The steps, in their order:
//
//    1  replay of the metadata log; the key of two devices is compared -> flush, and a log switch if the log needs one
//    2  the orphaned buffers of a dead process opened; extents that only they name are committed
//    3  live bytes of zones counted
//    4  log zones scanned, tails of framed files reassembled
//    5  the buffers and parts of this mount made
//    6  log zones given to the log; frames in sync blocks moved into other log zones
//    7  flushed bytes that the device lacks taken over into the buffers of this mount; spare log zones finished
//    8  the next key of two devices offered -> flush -> one commit that seals every log's tail, begins a new epoch and sets
//       that key -> the key settled
//    9  framed files opened; sync zones of earlier mounts reset; the old buffers removed
//   10  threads and resets start
//   11  the bytes that were taken over are synced, if the device has room
//
// The flush of step 1 makes all that earlier mounts wrote stable: the replayed commits, and the frames that step 4 finds. The
// flush of step 8 does so for the frames that step 6 wrote: a seal must not outlive the frames before it. If any flush failed
// since the device was opened, the commit of step 8 fails, because bytes that can be read now may be lost.
//
// No data zone and no log zone is reset before that commit, so a mount that fails earlier leaves the bytes in them. If step 4 finds
// that commits are lost, a repair may need zones that the replayed metadata does not name. If there are sync blocks, a commit of
// step 6 takes that place, and the zones of all found frames are pinned.
//
// Metadata zones may be reset earlier: those outside the current generation in step 1 and by each log switch, and a zone of the second
// device's metadata if it has no room for the offered key.
//
// Without sync blocks a mount needs no room on the device: steps 2 and 8 write to the metadata log only. Step 6 takes the spare zone
// (EmptyZones::kSpareForMount), and reclaim runs for it. If the process is killed before step 8, the
// next mount finds the old buffers, and frames of sync blocks in one or both places. If it is killed later, the next mount finds
// the new buffers.
#pragma once

#include <memory>

#include "volume/mount/mounted_volume.h"

namespace zenfs {

// Takes the device, whose superblock is `superblock`, and returns the complete mount. After an error no thread runs, and the
// device is in a state as after a mount that was killed.
// Errors: those of Metalog::Open, PlanSlots, reads and commits; kCorruption for metadata that contradicts the device or
// itself; those of the option flush_dir.
[[nodiscard]] Result<std::shared_ptr<WriterMount>> RecoverVolume(std::unique_ptr<ZonedDevice> device,
                                                                 Superblock superblock,
                                                                 const MountOptions& options);

}  // namespace zenfs
