// The buffered bytes at the end of a file, in aligned memory that grows with the content. It maintains their CRC, so
// that each byte is summed once, before it is copied.
//
// Threads: not thread-safe.
#pragma once

#include "base/aligned_buffer.h"
#include "base/crc32c.h"

namespace zenfs {

class TailBuffer {
 public:
  std::size_t size() const { return memory_.size(); }
  bool empty() const { return memory_.empty(); }
  ByteView View() const { return memory_.View(); }

  // The CRC of the whole content.
  std::uint32_t crc() const { return crc_; }
  // Returns the CRC of the first `count` bytes. Costs a sum over the bytes behind them.
  std::uint32_t CrcOfFront(std::size_t count) const;

  void Append(ByteView bytes) {
    Add(bytes);
    crc_ = Crc32c(bytes, crc_);
  }
  // `crc` is the CRC of `bytes`.
  void Append(ByteView bytes, std::uint32_t crc) {
    Add(bytes);
    crc_ = Crc32cWhole(crc_, crc, bytes.size());
  }
  // Replaces the bytes from `at` on; at + bytes.size() <= size(). `crc` is the CRC of `bytes`.
  void Overwrite(std::size_t at, ByteView bytes, std::uint32_t crc);
  // Shortens the content to `size` <= size().
  void Cut(std::size_t size);
  void DropFront(std::size_t count);
  // Returns the content with zeros appended up to a multiple of `unit`; valid until the next change.
  ByteView Padded(std::size_t unit);
  // Frees memory beyond the content.
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
