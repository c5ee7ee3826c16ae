// Reads pieces of framed files from the device. Frames that stand one behind the other are read in one
// command, headers and padding included.
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
  DeviceOffset place;  // of any byte, within one zone
  ByteSpan into;
};

// Fills all of `parts`, which are pieces of file `id` in file order.
[[nodiscard]] Status ReadPieces(ZonedDevice& device, FileId id, std::span<const PieceRead> parts);

}  // namespace zenfs
