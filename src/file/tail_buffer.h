// The bytes of a file that are not on the device yet: aligned memory that grows with need, from nothing.
// Not thread-safe.
#pragma once

#include "base/aligned_buffer.h"

namespace zenfs {

class TailBuffer {
 public:
  std::size_t size() const { return memory_.size(); }
  bool empty() const { return memory_.empty(); }
  ByteView View() const { return memory_.View(); }

  void Append(ByteView bytes) {
    Reserve(size() + bytes.size());
    memory_.Append(bytes);
  }
  // Replaces the bytes from `at`; at + bytes.size() <= size().
  void Overwrite(std::size_t at, ByteView bytes);
  // To at most size().
  void Cut(std::size_t size) { memory_.Resize(size); }
  void DropFront(std::size_t count) { memory_.DropFront(count); }
  // The content followed by zeros up to a multiple of `unit`; valid until the next change.
  ByteView Padded(std::size_t unit);
  // Gives memory beyond the content back to the system.
  void Shrink();

 private:
  void Reserve(std::size_t capacity);

  AlignedBuffer memory_;
};

}  // namespace zenfs
