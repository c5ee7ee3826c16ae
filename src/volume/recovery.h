// From a device to a volume that can be used.
//
//   superblock -> metadata log replayed -> zones told what is live -> log zones scanned, logs put together
//   what a dead process left in its append buffers goes to the device, as more of its epoch
//   flush; one commit that seals every log's tail and begins a new epoch; then resets may start
//
// The flush comes first because what a scan found may be in the device's cache only: a seal must not outlive
// the frames it vouches for. Nothing is reset before a commit, because what the metadata log said may
// itself have been in the cache only until then.
#pragma once

#include <memory>

#include "volume/writer_mount.h"

namespace zenfs {

// Takes the device, on which `superblock` stands, and returns the finished volume. After an error no thread is left, and the
// device is as a mount that was killed would have left it.
// Errors: those of Metalog::Open, PlanSlots, reads and commits; kCorruption for metadata that contradicts the device or
// itself; those of the option flush_dir.
[[nodiscard]] Result<std::shared_ptr<WriterMount>> RecoverVolume(std::unique_ptr<ZonedDevice> device,
                                                                 Superblock superblock,
                                                                 const MountOptions& options);

}  // namespace zenfs
