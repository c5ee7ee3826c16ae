// The bytes of a file that are not on the device yet: aligned memory that grows with need, from nothing. It keeps their
// CRC as they come, so that what goes to the device later is summed once, before it was copied.
// Not thread-safe.
#pragma once

#include "base/aligned_buffer.h"
#include "base/crc32c.h"

namespace zenfs {

class TailBuffer {
 public:
  std::size_t size() const { return memory_.size(); }
  bool empty() const { return memory_.empty(); }
  ByteView View() const { return memory_.View(); }

  // Of the whole content.
  std::uint32_t crc() const { return crc_; }
  // Of the first `count` bytes; sums those behind them.
  std::uint32_t CrcOfFront(std::size_t count) const;

  void Append(ByteView bytes) {
    Add(bytes);
    crc_ = Crc32c(bytes, crc_);
  }
  // `crc`: of `bytes`.
  void Append(ByteView bytes, std::uint32_t crc) {
    Add(bytes);
    crc_ = Crc32cWhole(crc_, crc, bytes.size());
  }
  // Replaces the bytes from `at`; at + bytes.size() <= size(). `crc`: of `bytes`.
  void Overwrite(std::size_t at, ByteView bytes, std::uint32_t crc);
  // To at most size().
  void Cut(std::size_t size);
  void DropFront(std::size_t count);
  // The content followed by zeros up to a multiple of `unit`; valid until the next change.
  ByteView Padded(std::size_t unit);
  // Gives memory beyond the content back to the system.
  void Shrink();

 private:
  void Reserve(std::size_t capacity);
  void Add(ByteView bytes) {
    Reserve(size() + bytes.size());
    memory_.Append(bytes);
  }

  AlignedBuffer memory_;
  std::uint32_t crc_ = 0;
};

}  // namespace zenfs
