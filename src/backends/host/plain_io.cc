#include "backends/host/plain_io.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/aligned_buffer.h"

namespace zenfs {

void SkipAccessTimes(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0) static_cast<void>(::fcntl(fd, F_SETFL, flags | O_NOATIME));
}

IoOutcome ReadPlainly(int fd, std::uint64_t offset, ByteSpan into) {
  IoOutcome outcome;
  while (outcome.bytes < into.size()) {
    const ByteSpan rest = into.subspan(outcome.bytes);
    const ssize_t n = ::pread(fd, rest.data(), rest.size(), static_cast<off_t>(offset + outcome.bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) outcome.os_errno = errno;
    if (n <= 0) return outcome;
    outcome.bytes += static_cast<std::uint64_t>(n);
  }
  return outcome;
}

IoOutcome WritePlainly(int fd, std::uint64_t offset, std::span<const ByteView> pieces,
                       std::uint64_t longest) {
  IoOutcome outcome;
  PieceCursor cursor(pieces);
  while (!cursor.AtEnd()) {
    const std::span<const iovec> next = cursor.Next(longest);
    const ssize_t n = ::pwritev2(fd, next.data(), static_cast<int>(next.size()),
                                 static_cast<off_t>(offset + outcome.bytes), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) outcome.os_errno = errno;
    if (n <= 0) return outcome;
    outcome.bytes += static_cast<std::uint64_t>(n);
    cursor.Advance(static_cast<std::uint64_t>(n));
  }
  return outcome;
}

bool HoldsPlainly(int fd, std::uint64_t offset, std::span<const ByteView> pieces) {
  for (const ByteView piece : pieces) {
    AlignedBuffer found(piece.size());
    found.Resize(piece.size());
    if (!ReadPlainly(fd, offset, found.Span()).Moved(piece.size())) return false;
    if (std::memcmp(found.data(), piece.data(), piece.size()) != 0) return false;
    offset += piece.size();
  }
  return true;
}

std::uint64_t TotalBytes(std::span<const ByteView> pieces) {
  std::uint64_t bytes = 0;
  for (const ByteView piece : pieces) bytes += piece.size();
  return bytes;
}

}  // namespace zenfs
