// Reads of scans. After a power loss, a block that cannot be read is treated like a missing write
// (docs/internals/device-assumptions.md, 1): as zeros, which are never a valid frame.
#pragma once

#include "device/zoned_device.h"

namespace zenfs {

struct ScanRead {
  std::uint32_t unreadable = 0;  // blocks that are zeros because they could not be read
  // Nothing in the zone can be read: it is offline, or the device serves nothing. A scan ends here, because the rest of a zone may
  // be any number of blocks.
  bool zone_is_gone = false;
};

// Fills `into`, a part of one zone, block by block.
[[nodiscard]] ScanRead ReadBlocksOrZeros(ZonedDevice& device, DeviceOffset offset, ByteSpan into);
// The same with one command, if that succeeds.
[[nodiscard]] ScanRead ReadOrZeros(ZonedDevice& device, DeviceOffset offset, ByteSpan into);

// A scan looks for known zeros in steps of this many bytes, passes over a hole of log frames that is as long, and reads no more
// at once where it has not seen anything yet.
inline constexpr std::uint64_t kScanStepBytes = 64 << 10;

// How many of `bytes` at `from`, in one zone, a scan should read at once: it ends where known zeros begin, as far as that can be
// seen in such steps. At least one step, or all.
[[nodiscard]] std::uint64_t WorthReading(ZonedDevice& device, DeviceOffset from, std::uint64_t bytes);

}  // namespace zenfs
