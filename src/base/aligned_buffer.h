// A buffer for I/O to block devices: aligned memory of fixed capacity, with a size. Owns its memory unless borrowed;
// movable, not copyable. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "base/assert.h"
#include "base/bytes.h"

namespace zenfs {

class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 4096;

  AlignedBuffer() = default;
  // `capacity` is rounded up to kAlignment. The memory is not cleared.
  explicit AlignedBuffer(std::size_t capacity)
      : capacity_(RoundUp(capacity, kAlignment)),
        data_(static_cast<std::byte*>(std::aligned_alloc(kAlignment, capacity_))) {
    if (data_ == nullptr && capacity_ != 0) throw std::bad_alloc();
  }

  // A buffer on the caller's `memory`, which must be aligned, a multiple of kAlignment bytes long, and outlive the buffer.
  static AlignedBuffer Borrow(ByteSpan memory) {
    AlignedBuffer buffer;
    buffer.capacity_ = memory.size();
    buffer.data_ = std::unique_ptr<std::byte, Free>(memory.data(), Free(false));
    return buffer;
  }

  std::byte* data() {
    zeros_end_ = 0;  // the caller may write anywhere
    return data_.get();
  }
  const std::byte* data() const { return data_.get(); }
  std::size_t capacity() const { return capacity_; }
  std::size_t size() const { return size_; }
  std::size_t room() const { return capacity_ - size_; }
  bool empty() const { return size_ == 0; }

  // Copies as many of `bytes` as fit and returns their number.
  std::size_t Append(ByteView bytes) {
    const std::size_t n = std::min(bytes.size(), room());
    if (n != 0) std::memcpy(data_.get() + size_, bytes.data(), n);
    size_ += n;
    return n;
  }
  // Appends zeros up to the next multiple of `unit`. `unit` must divide the capacity.
  void PadTo(std::size_t unit) {
    const std::size_t padded = RoundUp(size_, unit);
    if (padded != size_) ZeroBehind(padded);
    size_ = padded;
  }
  // size <= capacity()
  void Resize(std::size_t size) {
    ZENFS_ASSERT(size <= capacity_);
    NoteWritten(std::max(size_, size));
    size_ = size;
  }
  // Makes the bytes from size() to `end` zero; the size stays. Clears only those that may have been written since the last
  // call, so a buffer that is reused for small frames costs little.
  void ZeroBehind(std::size_t end) {
    ZENFS_ASSERT(size_ <= end && end <= capacity_);
    NoteWritten(size_);
    if (zeros_begin_ >= std::min(zeros_end_, end)) zeros_begin_ = zeros_end_ = end;
    std::fill(data_.get() + size_, data_.get() + zeros_begin_, std::byte{});
    if (zeros_end_ < end) std::fill(data_.get() + zeros_end_, data_.get() + end, std::byte{});
    zeros_begin_ = size_;
    zeros_end_ = std::max(zeros_end_, end);
  }
  void Clear() {
    NoteWritten(size_);
    size_ = 0;
  }
  // Removes the bytes before `from` and moves the rest to the front.
  void DropFront(std::size_t from) {
    ZENFS_ASSERT(from <= size_);
    NoteWritten(size_);
    std::memmove(data_.get(), data_.get() + from, size_ - from);
    size_ -= from;
  }

  ByteView View() const { return {data_.get(), size_}; }
  ByteView View(std::size_t offset, std::size_t length) const { return {data_.get() + offset, length}; }
  ByteSpan Span() { return {data_.get(), size_}; }
  ByteSpan Whole() { return {data(), capacity_}; }

 private:
  struct Free {
    Free() : owned(true) {}
    explicit Free(bool owns) : owned(owns) {}
    bool owned;
    void operator()(std::byte* p) const {
      if (owned) std::free(p);
    }
  };
  // Bytes before `end` may have been written.
  void NoteWritten(std::size_t end) { zeros_begin_ = std::max(zeros_begin_, end); }

  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  // [zeros_begin_, zeros_end_) is zero, except for bytes before size_ that NoteWritten has not been told of yet.
  std::size_t zeros_begin_ = 0;
  std::size_t zeros_end_ = 0;
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace zenfs
