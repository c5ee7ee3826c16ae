// Reads a whole frame from the device and verifies it.
//
// Threads: functions on values, no state.
#pragma once

#include <cstdint>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "wal/frame_index.h"
#include "wal/log_zones.h"

namespace zenfs {

// Reads the frame of `piece`, which belongs to file `owner`, into `buffer`: header and payload. `buffer` is
// empty and has room for piece.frame_bytes.
// Errors: those of the read; kCorruption if the frame is not there, or not intact.
[[nodiscard]] Status ReadFrame(ZonedDevice& device, const LogZones& zones, std::uint64_t owner,
                               const Piece& piece, AlignedBuffer& buffer);

// The same for a frame in a sync block (wal/sync_area.h), which its writer may replace at any time. The block may hold a later
// version of the frame, which has the bytes of `piece` too. Returns the header of what it holds. Errors: those of the read;
// kBusy if the block does not hold the frame.
[[nodiscard]] Result<FrameHeader> ReadSyncBlock(ZonedDevice& device, const FrameSeed& seed, FileId owner,
                                                const Piece& piece, AlignedBuffer& buffer);

}  // namespace zenfs
