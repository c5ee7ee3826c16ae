// CRCs of the ranges that a scan of one zone finds claimed. Any block may claim the 16 MiB behind it, and on a device of
// somebody else each may. Bytes that were claimed before are known by running CRCs, and known zeros are not read. So a
// scan takes a time in proportion to what the zone holds, however much is claimed.
//
// Ownership: the device outlives it. Threads: one at a time.
#pragma once

#include <cstdint>
#include <deque>

#include "base/aligned_buffer.h"
#include "base/crc32c.h"
#include "device/zoned_device.h"

namespace zenfs {

class ClaimedCrcs {
 public:
  // Of the zone that begins at `zone`.
  ClaimedCrcs(ZonedDevice& device, DeviceOffset zone) : device_(device), zone_(zone) {}

  // The CRC of `length` bytes from byte `from` of the zone on: a multiple of the block size, never lower than in the call
  // before. Unreadable blocks count as random bytes. Nothing if the caller should look at the bytes itself: they were not claimed
  // before, and no long hole is in them.
  [[nodiscard]] KnownCrc Of(std::uint64_t from, std::uint64_t length);

 private:
  // The CRC of the bytes between the first mark and `at`. There is a mark before each block of data and each hole.
  struct Mark {
    std::uint64_t at = 0;
    std::uint32_t crc = 0;
  };

  // `at`: not before the first mark, and not behind the end.
  std::uint32_t CrcBefore(std::uint64_t at) const;
  void ExtendTo(std::uint64_t end);
  ByteView ReadAt(std::uint64_t at, std::uint64_t length);

  ZonedDevice& device_;
  const DeviceOffset zone_;
  std::uint64_t claimed_end_ = 0;
  std::deque<Mark> marks_;
  Mark end_;
  AlignedBuffer buffer_;
};

}  // namespace zenfs
