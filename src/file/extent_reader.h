// Reads file bytes through a list of extents.
//
// Requests need not be aligned: what is not goes through a block-aligned bounce buffer; an aligned request
// into aligned memory is read in place. No lock is taken.
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

// Fills `into` with the file's bytes from `offset`; [offset, offset + into.size()) lies inside the extents.
// Errors: those of the device, with the file offset, zone and device offset in the text.
[[nodiscard]] Status ReadExtents(ZonedDevice& device, std::span<const Extent> extents, std::uint64_t offset,
                                 ByteSpan into);

// Several reads with their device commands in flight together; each gets its own status.
void ReadExtentsMany(ZonedDevice& device, std::span<const Extent> extents, std::span<ReadRequest> requests);

}  // namespace zenfs
