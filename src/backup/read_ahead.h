// Reads a file from start to end in large aligned chunks. The next chunk is read while the caller
// processes the last one.
//
// Threads: Next is called by one thread. A file of more than one chunk has its own reading thread;
// if the host refuses that thread, Next reads.
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
  // Reads into.size() bytes at `offset`, fewer only at the end. Called by one thread at a time.
  using Reader = std::function<Result<std::size_t>(std::uint64_t offset, ByteSpan into)>;

  // The objects that `read` uses must outlive this one. `name` is for the error of a file that ends
  // before `size`.
  ReadAhead(Reader read, std::uint64_t size, std::string name);
  ~ReadAhead();

  // Returns the next bytes, valid until the next call; empty after `size` bytes. Errors: those of
  // `read`; kIo if the file is shorter than `size`.
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
  Slot slots_[2];  // the caller owns a slot's buffer while it is full, otherwise the reader
  bool stop_ GUARDED_BY(mutex_) = false;
  Thread thread_;
};

}  // namespace zenfs
