// A file of the host, on a tmpfs, accessed as memory.
//
// While it is open for writing, the file on the host may be longer than its true size, by zeros.
// Everybody in this process knows the true size (SizeOf); the file on the host gets it when the
// writer closes. A second writer of an open file continues at its end; the caller must not let two
// write at a time.
//
// Threads: one writer; readers at any time, of bytes below size().
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
  // Cuts the file on the host to its true size, if it is open for writing.
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::uint64_t size() const { return size_->load(std::memory_order_acquire); }
  // Writes `bytes` at `offset`, which is at most size(). kNoSpace if the tmpfs is full.
  [[nodiscard]] Status Write(std::uint64_t offset, ByteView bytes);
  // `size` is at most the present one.
  [[nodiscard]] Status Truncate(std::uint64_t size);
  // Reads up to `into`.size() bytes, fewer at the end of the file. Returns their number.
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
  std::uint64_t allocated_ = 0;  // allocated and zeroed by the writer
};

}  // namespace zenfs
