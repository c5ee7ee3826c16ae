// Reads pieces of framed files from the device. Adjacent frames are read with one command, including
// headers and padding.
//
// Threads: functions on values, no state.
#pragma once

#include <span>

#include "base/bytes.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "model/units.h"

namespace zenfs {

struct PieceRead {
  DeviceOffset place;  // need not be on a block boundary; all bytes are in one zone
  ByteSpan into;
};

// Fills `parts`, which are pieces of file `id` in file order. Errors: those of the reads.
[[nodiscard]] Status ReadPieces(ZonedDevice& device, FileId id, std::span<const PieceRead> parts);

}  // namespace zenfs
