// Reads a file front to back in large aligned chunks; the next chunk is read while the caller works on the last.
//
// Threads: Next is called by one thread. A file of more than one chunk has a thread of its own that reads; if the host
// refuses that thread, Next reads.
#pragma once

#include <cstdint>
#include <functional>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/thread.h"

namespace zenfs {

class ReadAhead {
 public:
  static constexpr std::size_t kChunk = 1 << 20;
  // Reads into.size() bytes at `offset`, fewer only at the end; called by one thread at a time.
  using Reader = std::function<Result<std::size_t>(std::uint64_t offset, ByteSpan into)>;

  // What `read` uses outlives this object. `name` is for the error of a file that ends before `size`.
  ReadAhead(Reader read, std::uint64_t size, std::string name);
  ~ReadAhead();

  // The next bytes, valid until the next call; empty when `size` bytes have been handed out.
  // Errors: those of `read`, and kIo when the file is shorter than it was.
  [[nodiscard]] Result<ByteView> Next() EXCLUDES(mutex_);

 private:
  struct Slot {
    AlignedBuffer buffer;
    bool full = false;
    Status status;
  };

  void ReadAll() EXCLUDES(mutex_);
  [[nodiscard]] Status Fill(std::uint64_t offset, AlignedBuffer& buffer);

  const Reader read_;
  const std::uint64_t size_;
  const std::string name_;
  std::uint64_t handed_out_ = 0;  // the caller's
  std::size_t current_ = 0;       // the caller's: slot of the next chunk
  bool holding_ = false;          // the caller's: it still works on the slot before current_

  Mutex mutex_;  // leaf
  CondVar changed_;
  Slot slots_[2];  // a slot's buffer belongs to the caller while it is full, else to the reader
  bool stop_ GUARDED_BY(mutex_) = false;
  Thread thread_;
};

}  // namespace zenfs
