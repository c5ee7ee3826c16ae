// Reads of logs. After a power loss, a block that cannot be read is treated like a missing write
// (docs/internals/device-assumptions.md, 1): as zeros, which are never a valid frame.
#pragma once

#include <cstring>

#include "device/zoned_device.h"

namespace zenfs {

// Fills `into` block by block. Blocks that cannot be read become zeros; returns their number.
inline std::uint32_t ReadBlocksOrZeros(ZonedDevice& device, DeviceOffset offset, ByteSpan into) {
  const std::uint32_t block = device.geometry().block_size;
  std::uint32_t unreadable = 0;
  for (std::uint64_t at = 0; at < into.size(); at += block) {
    const ByteSpan one = into.subspan(at, block);
    if (device.Read(offset + at, one).ok()) continue;
    std::memset(one.data(), 0, one.size());
    ++unreadable;
  }
  return unreadable;
}

// The same with one command, if that succeeds.
inline std::uint32_t ReadOrZeros(ZonedDevice& device, DeviceOffset offset, ByteSpan into) {
  return device.Read(offset, into).ok() ? 0 : ReadBlocksOrZeros(device, offset, into);
}

}  // namespace zenfs
