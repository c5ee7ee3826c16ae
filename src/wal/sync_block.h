// Reads a frame from a sync block (wal/sync_area.h), which its writer may replace at any time.
//
// Threads: a function on values, no state.
#pragma once

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "wal/frame_index.h"

namespace zenfs {

// Reads the block of `piece` into `block`, which has the size of a block, and leaves header and payload in it. Returns the
// header. The block may hold a later version of the frame, which has the bytes of `piece` too. Errors: those of the read;
// kBusy if the block does not hold the frame.
[[nodiscard]] Result<FrameHeader> ReadSyncBlock(ZonedDevice& device, const FrameSeed& seed, FileId owner,
                                                const Piece& piece, AlignedBuffer& block);

}  // namespace zenfs
