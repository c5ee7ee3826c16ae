// Reads file bytes through a list of extents.
//
// Requests need no alignment. The parts that are aligned on the device and in memory are read in place, the others
// through a bounce buffer. No lock is taken.
#pragma once

#include <span>

#include "base/status.h"
#include "device/zoned_device.h"
#include "model/file_record.h"

namespace zenfs {

struct ReadRequest {
  std::uint64_t offset = 0;
  ByteSpan into;
  Status status;
};

// Fills `into` with the file's bytes from `offset` on. Errors: those of the device, with file offset, zone and
// device offset in the text; kCorruption if the extents do not cover [offset, offset + into.size()).
[[nodiscard]] Status ReadExtents(ZonedDevice& device, std::span<const Extent> extents, std::uint64_t offset,
                                 ByteSpan into);

// Executes several reads with all device commands in flight at the same time. Each request gets its own status.
void ReadExtentsMany(ZonedDevice& device, std::span<const Extent> extents, std::span<ReadRequest> requests);

}  // namespace zenfs
