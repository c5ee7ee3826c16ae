// Reads and writes by system calls that every kernel and container allows, pread(2) and pwritev2(2), and the outcomes of
// these and of all other commands of the kernel or of a drive.
//
// Threads: no state.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"

namespace zenfs {

// Longest read or write sent as one call, in bytes. The kernel transfers at most 2 GiB less a page
// in one call.
constexpr std::uint64_t kLongestCall = std::uint64_t{1} << 30;

struct IoOutcome {
  std::uint64_t bytes = 0;       // transferred before the end or the error
  int os_errno = 0;              // 0: no error; `bytes` can be short at the end of the file
  const char* status = nullptr;  // of a failed NVMe command: its name, a static string
  std::uint64_t place = 0;       // of an append: where the drive put the bytes, as IoPlace::offset counts

  bool Moved(std::uint64_t wanted) const { return os_errno == 0 && bytes == wanted; }
};

// Of a command that moves no bytes.
struct CommandResult {
  int os_errno = 0;              // 0: it succeeded
  const char* status = nullptr;  // of a failed NVMe command: its name, a static string

  bool ok() const { return os_errno == 0; }
};

// `text`, with the status of the drive if there is one.
[[nodiscard]] inline std::string WithStatus(std::string text, const char* status) {
  return status == nullptr ? text : text + ", the drive says: " + status;
}

// Iterates over the pieces of a write while the kernel takes them in parts that may end anywhere.
class PieceCursor {
 public:
  static constexpr std::size_t kVectors = 64;  // per call; far below IOV_MAX, and enough for every caller

  explicit PieceCursor(std::span<const ByteView> pieces) : pieces_(pieces) { Settle(); }

  bool AtEnd() const { return pieces_.empty(); }

  // The next part: at most kVectors pieces and `longest` bytes. Valid until the next call. Not
  // allowed at the end.
  std::span<const iovec> Next(std::uint64_t longest) {
    std::size_t count = 0;
    while (count < std::min(pieces_.size(), kVectors) && longest != 0) {
      ByteView piece = count == 0 ? pieces_[0].subspan(in_first_) : pieces_[count];
      piece = piece.first(std::min<std::uint64_t>(piece.size(), longest));
      longest -= piece.size();
      vectors_[count++] = {.iov_base = const_cast<std::byte*>(piece.data()), .iov_len = piece.size()};
    }
    return std::span(vectors_).first(count);
  }
  // The kernel has taken `bytes` of the part that Next returned.
  void Advance(std::uint64_t bytes) {
    in_first_ += bytes;
    Settle();
  }

 private:
  void Settle() {
    while (!pieces_.empty() && in_first_ >= pieces_[0].size()) {
      in_first_ -= pieces_[0].size();
      pieces_ = pieces_.subspan(1);
    }
  }

  std::span<const ByteView> pieces_;
  std::uint64_t in_first_ = 0;  // bytes of pieces_[0] already taken
  std::array<iovec, kVectors> vectors_;
};

// Reads by `fd` leave the time of access alone, which the kernel would look at in each of them. Nothing happens if the file belongs
// to another user (open(2), O_NOATIME).
void SkipAccessTimes(int fd);

// Interrupted and short calls continue where they stopped.
[[nodiscard]] IoOutcome ReadPlainly(int fd, std::uint64_t offset, ByteSpan into);
// Writes the pieces contiguously, at most `longest` bytes per call. Each call is sent after the
// previous one has completed.
[[nodiscard]] IoOutcome WritePlainly(int fd, std::uint64_t offset, std::span<const ByteView> pieces,
                                     std::uint64_t longest = kLongestCall);

// True if the bytes at `offset` equal the concatenated pieces. False also if they can't be read.
[[nodiscard]] bool HoldsPlainly(int fd, std::uint64_t offset, std::span<const ByteView> pieces);

// Total length of the pieces in bytes.
[[nodiscard]] std::uint64_t TotalBytes(std::span<const ByteView> pieces);

}  // namespace zenfs
