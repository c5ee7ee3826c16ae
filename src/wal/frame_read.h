// Reads a frame back from the place where it was written.
//
// Threads: a function on values, no state.
#pragma once

#include <cstdint>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "wal/frame_index.h"
#include "wal/log_zones.h"

namespace zenfs {

// Reads a placed frame of `owner`, with the header in front, into an empty `buffer` with room for all of frame_bytes.
// Errors: those of the read; kCorruption if another frame, or none, stands there.
[[nodiscard]] Status ReadFrame(ZonedDevice& device, const LogZones& zones, std::uint64_t owner,
                               const Piece& piece, AlignedBuffer& buffer);

}  // namespace zenfs
