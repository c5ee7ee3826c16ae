// Reads whole frames from the device and verifies them.
//
// Threads: functions on values, no state.
#pragma once

#include <cstdint>
#include <span>

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

// Bytes of a frame to read.
struct FrameRead {
  Piece piece;         // not damaged, not in a sync block
  FrameSeed seed;      // of the zone of the piece
  std::uint64_t from;  // file offset, in the piece
  ByteSpan into;       // ends in the piece
};

// Fills `parts`, which are frames of file `owner` in file order. Reads and verifies the whole frames, adjacent ones with one
// command. Errors: those of the reads; kCorruption, with zone and byte, if a frame is not there or not intact.
[[nodiscard]] Status ReadFrames(ZonedDevice& device, FileId owner, std::span<const FrameRead> parts);

}  // namespace zenfs
