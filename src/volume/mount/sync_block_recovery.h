// Moves frames out of the sync blocks of earlier mounts (wal/zrwa_sync_blocks.h) into log zones, unchanged, so that the sync zones can
// be reset. If the process is killed before the first commit of the mount, the next mount finds both copies.
//
// Threads: the mounting thread only.
#pragma once

#include <vector>

#include "volume/mount/log_recovery.h"
#include "volume/mount/mounted_device.h"
#include "wal/log_space.h"

namespace zenfs {

// True if a file has bytes in a sync block.
[[nodiscard]] bool HasSyncBlocks(const RecoveredLogs& logs);

// Changes the places in `logs`. `pins` keeps the zones of the new places until the files count the frames as live. Errors:
// those of a read and of FrameWriter::Write; kCorruption if a frame is no longer there.
[[nodiscard]] Status MoveSyncBlocks(MountedDevice& device, LogSpace& log, RecoveredLogs& logs,
                                    std::vector<ZonePin>& pins);

}  // namespace zenfs
