// A file of the host, on a tmpfs, that is read and written as memory.
//
// While somebody writes, the file on the host may be longer than what was written, by zeros; its true size is known to
// everybody in this process (SizeOf) and is the host's as well once the writer is gone. Who opens a file for writing that
// is open for writing goes on where the other one stands; that two write at a time is the caller's affair.
//
// Threads: one writer; readers at any time, of what lies before size().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace zenfs {

class MemoryFile {
 public:
  enum class Mode { kRead, kReplace, kAppend };

  // Errors: those of the host, with the path.
  [[nodiscard]] static Result<std::unique_ptr<MemoryFile>> Open(const std::string& path, Mode mode);
  // The size of a file as its readers see it.
  [[nodiscard]] static Result<std::uint64_t> SizeOf(const std::string& path);
  // Cuts the host's file to its true size, if it is open for writing.
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::uint64_t size() const { return size_->load(std::memory_order_acquire); }
  // Writes `bytes` at `offset`, which is at most size(). kNoSpace when the tmpfs is full.
  [[nodiscard]] Status Write(std::uint64_t offset, ByteView bytes);
  // To equal or shorter.
  [[nodiscard]] Status Truncate(std::uint64_t size);
  // Up to `into`.size() bytes, fewer at the end of the file; how many.
  std::size_t Read(std::uint64_t offset, ByteSpan into) const;

 private:
  using SharedSize = std::shared_ptr<std::atomic<std::uint64_t>>;

  MemoryFile(UniqueFd fd, std::string path, Mode mode, SharedSize size);
  [[nodiscard]] Status Map();
  [[nodiscard]] Status Grow(std::uint64_t to);

  const UniqueFd fd_;
  const std::string path_;
  const Mode mode_;
  const SharedSize size_;
  std::byte* memory_ = nullptr;
  std::uint64_t allocated_ = 0;  // by the writer, and zeroed
};

}  // namespace zenfs
