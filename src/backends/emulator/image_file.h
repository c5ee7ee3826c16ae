// The host's file of an emulated device, read and written by system calls: no load and no store goes through a mapping,
// which another process could shorten, or which the host could have no space for, so that the process would die by
// SIGBUS.
//
// A file that was shortened while in use is gone for good. Check finds it, and so does a read behind its end; from then on
// both fail. Call Check before each command that writes, so that the file does not grow again as zeros. If the file is
// shortened between Check and the write, that write makes it longer again, and is the last one.
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
  // `bytes`: how long the file is and has to stay.
  ImageFile(std::string path, UniqueFd fd, std::uint64_t bytes)
      : path_(std::move(path)), fd_(std::move(fd)), bytes_(bytes) {}

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

  // All errors are kIo, with the host's errno where there is one: a zoned device has no "no space left", and the code
  // must not look as if the zones had run out.
  [[nodiscard]] Status Read(std::uint64_t at, ByteSpan into) const;
  // The pieces one behind the other. They survive the death of the process when it returns.
  [[nodiscard]] Status Write(std::uint64_t at, std::span<const ByteView> pieces);
  // A word of a table, 8 bytes at a multiple of 8. It changes as a whole, also under a kill -9. The device can't go on
  // with a table that says something else than it does, so behind an error each Check fails.
  [[nodiscard]] Status WriteWord(std::uint64_t at, std::uint64_t word);
  // Takes the host's space for a range, whose bytes stay as they are. Does nothing where the host can't.
  [[nodiscard]] Status Allocate(std::uint64_t at, std::uint64_t bytes);
  // Makes the range zeros and gives its space back. Returns 0 or an errno: EOPNOTSUPP where the host can't.
  [[nodiscard]] int Punch(std::uint64_t at, std::uint64_t bytes);
  // Everything is on the host's stable media.
  [[nodiscard]] Status Sync();
  // Whether the file is still there in its length, and nothing has made it gone.
  [[nodiscard]] Status Check() const;

 private:
  Status Shortened() const;

  const std::string path_;
  const UniqueFd fd_;
  const std::uint64_t bytes_;
  mutable std::atomic<bool> shortened_{false};
  std::atomic<bool> table_failed_{false};
};

}  // namespace zenfs
