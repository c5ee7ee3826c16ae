// Reads of scans. After a power loss, a block that cannot be read is treated like a missing write
// (docs/internals/device-assumptions.md, 1): as zeros, with which no frame begins.
#pragma once

#include "device/zoned_device.h"

namespace zenfs {

struct ScanRead {
  std::uint32_t unreadable = 0;  // blocks
  // Nothing in the zone can be read: it is offline, or the device serves nothing. A scan ends here, because the rest of a zone may
  // be any number of blocks.
  bool zone_is_gone = false;
};

// What a block is shown as if it cannot be read.
enum class UnreadableBlock : std::uint8_t {
  kZeros,
  // Random bytes. If the data of a frame has a block of zeros, the frame would be valid with zeros instead of that block.
  kRandom,
};

// Fills `into`, a part of one zone, block by block.
[[nodiscard]] ScanRead ReadBlocksOrZeros(ZonedDevice& device, DeviceOffset offset, ByteSpan into,
                                         UnreadableBlock unreadable = UnreadableBlock::kZeros);
// The same with one command, if that succeeds.
[[nodiscard]] ScanRead ReadOrZeros(ZonedDevice& device, DeviceOffset offset, ByteSpan into,
                                   UnreadableBlock unreadable = UnreadableBlock::kZeros);

// A scan looks for known zeros in steps of this many bytes, passes over a hole of log frames that is as long, and reads no more
// at once where it has not seen anything yet.
inline constexpr std::uint64_t kScanStepBytes = 64 << 10;

// How many of `bytes` at `from`, in one zone, a scan should read at once: it ends where known zeros begin, as far as that can be
// seen in such steps. At least one step, or all.
[[nodiscard]] std::uint64_t WorthReading(ZonedDevice& device, DeviceOffset from, std::uint64_t bytes);

}  // namespace zenfs
