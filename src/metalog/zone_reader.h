// Reads one zone from front to back in large pieces. Unreadable blocks are returned as zeros, which are never a valid
// frame. After a power loss, an unreadable block is treated like a missing write
// (docs/internals/device-assumptions.md, 1).
//
// Threads: one at a time.
#pragma once

#include "base/aligned_buffer.h"
#include "device/claimed_crcs.h"
#include "device/zoned_device.h"
#include "format/frame.h"

namespace zenfs {

class ZoneReader {
 public:
  // Reads within [0, end) of `zone`; `end` is a multiple of the block size. `device` must outlive this.
  ZoneReader(ZonedDevice& device, ZoneId zone, std::uint64_t end)
      : device_(device), zone_(zone), end_(end), claimed_crcs_(device, device.geometry().ZoneStart(zone)) {}

  // Returns at least `at_least` bytes from `offset` (a multiple of the block size), or fewer at `end`. Valid until the next
  // call.
  ByteView View(std::uint64_t offset, std::uint64_t at_least);
  // What ParseFrame says of the block at `offset`, but without the payload. `offset` is never lower than in the call before.
  ParsedFrame FrameAt(std::uint64_t offset, FrameSeed seed);
  // The first block from `offset` on that may have other bytes than zeros, or `end`. For scans.
  std::uint64_t SkipZeros(std::uint64_t offset);
  // Comes nearer if the zone can't be read any more.
  std::uint64_t end() const { return end_; }
  // Returns true if a block read so far was unreadable.
  bool met_unreadable() const { return met_unreadable_; }

 private:
  void Fill(std::uint64_t offset, std::uint64_t bytes);

  ZonedDevice& device_;
  const ZoneId zone_;
  std::uint64_t end_;
  AlignedBuffer buffer_;
  std::uint64_t buffer_offset_ = 0;
  std::uint64_t next_bytes_ = 0;  // to read at once, if the next read goes on behind the last one
  bool met_unreadable_ = false;
  ClaimedCrcs claimed_crcs_;
};

}  // namespace zenfs
