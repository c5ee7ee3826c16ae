// Recovery: makes a usable read-write mount from a device.
//
//   superblock -> replay of the metadata log -> the key of two devices compared, before the first write
//   live bytes of zones counted -> log zones scanned, tails reassembled
//   orphaned buffers replayed: their bytes are written as frames of the dead process's epoch
//   new key of two devices offered -> flush -> one commit that seals every log's tail and begins a new epoch -> key settled
//   resets may start
//
// The flush comes first because scanned frames may be only in the device's cache: a seal must not outlive the frames before
// it. No zone is reset before the first commit, because until then the replayed commits may also be only in the cache.
#pragma once

#include <memory>

#include "volume/mount/writer_mount.h"

namespace zenfs {

// Takes the device, whose superblock is `superblock`, and returns the complete mount. After an error no thread runs, and the
// device is in a state as after a mount that was killed.
// Errors: those of Metalog::Open, PlanSlots, reads and commits; kCorruption for metadata that contradicts the device or
// itself; those of the option flush_dir.
[[nodiscard]] Result<std::shared_ptr<WriterMount>> RecoverVolume(std::unique_ptr<ZonedDevice> device,
                                                                 Superblock superblock,
                                                                 const MountOptions& options);

}  // namespace zenfs
