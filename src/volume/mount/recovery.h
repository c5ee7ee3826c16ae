// Recovery: makes a usable read-write mount from a device, also after a crash. The steps, in their order:
//
//    1  replay of the metadata log; the key of two devices is compared before the first write
//    2  the orphaned buffers of a dead process opened; extents that only they name are committed
//    3  live bytes of zones counted
//    4  log zones scanned, tails of framed files reassembled
//    5  the buffers and parts of this mount made
//    6  frames in sync blocks moved into the log
//    7  flushed bytes that the device lacks taken over into the buffers of this mount
//    8  flush -> one commit that seals every log's tail and begins a new epoch
//    9  framed files opened; the old buffers removed
//   10  threads and resets start
//   11  the bytes that were taken over are synced, if the device has room
//
// The flush of step 8 comes first because scanned frames may be only in the device's cache: a seal must not outlive the frames
// before it. No zone is reset before that commit, because until then the replayed commits may also be only in the cache. If
// there are sync blocks, a commit of step 6 takes that place, and the zones of all found frames are pinned.
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
