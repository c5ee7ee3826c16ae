// Reads file bytes through a list of extents.
//
// Requests need no alignment. The parts that are aligned on the device and in memory are read in place, the others
// through a bounce buffer. Through the host's cache all are read in place. No lock is taken.
#pragma once

#include <span>

#include "base/status.h"
#include "device/zoned_device.h"
#include "model/file_record.h"

namespace zenfs {

// Who may answer a read.
enum class ReadSource {
  kDevice,  // only the device, as for all that proves something
  kCache,  // also the host's cache, where there is one (HostCache). What it can't read is read from the device
};

struct ReadRequest {
  std::uint64_t offset = 0;
  ByteSpan into;
  Status status;
};

// Fills `into` with the file's bytes from `offset` on. Errors: those of the device, with file offset, zone and
// device offset in the text; kCorruption if the extents do not cover [offset, offset + into.size()).
[[nodiscard]] Status ReadExtents(ZonedDevice& device, std::span<const Extent> extents, std::uint64_t offset,
                                 ByteSpan into, ReadSource source = ReadSource::kDevice);

// The error of a device read of `length` bytes at `place`, as these functions return it.
[[nodiscard]] Error ReadError(const Geometry& geometry, const Error& error, DeviceOffset place,
                              std::uint64_t length, std::uint64_t file_offset);
// Whether the device can read whole blocks from `place` into this memory.
[[nodiscard]] bool MayReadInPlace(const Geometry& geometry, DeviceOffset place, ByteView into);

// Executes several reads with all device commands in flight at the same time. Each request gets its own status. Who reads often
// uses a ReadPool (file/read_batch.h).
void ReadExtentsMany(ZonedDevice& device, std::span<const Extent> extents, std::span<ReadRequest> requests,
                     ReadSource source = ReadSource::kDevice);

// Advises the host's cache about the part of [offset, offset + length) that the extents cover. Nothing without a cache.
void AdviseExtents(ZonedDevice& device, std::span<const Extent> extents, std::uint64_t offset,
                   std::uint64_t length, CacheAdvice advice);

}  // namespace zenfs
