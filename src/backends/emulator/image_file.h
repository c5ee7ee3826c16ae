// The host's file of an emulated device, accessed by system calls only. Through a mapping, the
// process would die by SIGBUS if another process shortened the file or the host had no space.
//
// If the file was shortened while in use, the device is gone for good. Check finds this, and so
// does a read beyond the end; from then on both fail. Call Check before each command that writes,
// so that the file does not grow again with zeros. If the file is shortened between Check and the
// write, that write extends it again, and is the last one.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace zenfs {

class ImageFile {
 public:
  // `bytes`: the length that the file has and must keep. `direct`: large writes bypass the host's page cache, if the host
  // can, so that a Sync for a small write does not wait for them.
  ImageFile(std::string path, UniqueFd fd, std::uint64_t bytes, bool direct);

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

  // All errors are kIo, with the errno of the host if there is one. A zoned device has no "no space
  // left" error, and the code must not suggest that the zones are full.
  [[nodiscard]] Status Read(std::uint64_t at, ByteSpan into) const;
  // Writes the pieces contiguously. They survive the death of the process on return.
  [[nodiscard]] Status Write(std::uint64_t at, std::span<const ByteView> pieces);
  // Writes a word of a table: 8 bytes at a multiple of 8. The change is atomic, also under a kill
  // -9. After an error the table may contradict the device, so every later Check fails.
  [[nodiscard]] Status WriteWord(std::uint64_t at, std::uint64_t word);
  // Allocates space on the host for a range and keeps its bytes. Does nothing if the host can't.
  [[nodiscard]] Status Allocate(std::uint64_t at, std::uint64_t bytes);
  // Makes the range zeros and frees its space. Returns 0 or an errno: EOPNOTSUPP if the host can't.
  [[nodiscard]] int Punch(std::uint64_t at, std::uint64_t bytes);
  // Makes all of the file durable on the host's stable media.
  [[nodiscard]] Status Sync();
  // OK if the file has its length and no earlier error made the device unusable.
  [[nodiscard]] Status Check() const;
  // True once the file was found shorter than it was: then all calls fail.
  bool IsGone() const { return shortened_.load(std::memory_order_relaxed); }

 private:
  Status Shortened() const;
  // The descriptor for a write of these pieces.
  int FdFor(std::uint64_t at, std::span<const ByteView> pieces) const;

  const std::string path_;
  const UniqueFd fd_;
  const UniqueFd direct_;  // the same file with O_DIRECT; invalid: not used
  const std::uint64_t bytes_;
  const bool limited_;  // when it was opened; SIGXFSZ is then kept from its writes
  mutable std::atomic<bool> shortened_{false};
  std::atomic<bool> table_failed_{false};
};

}  // namespace zenfs
