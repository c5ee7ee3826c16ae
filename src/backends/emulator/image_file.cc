#include "backends/emulator/image_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace zenfs {
namespace {

constexpr std::uint64_t kPunchPiece = 2 << 20;

std::unexpected<Error> HostError(int os_errno, std::string text) {
  return Fail(Code::kIo, std::move(text), os_errno);
}

void DropFront(std::vector<iovec>& vectors, std::size_t& first, std::size_t done) {
  while (first < vectors.size() && done >= vectors[first].iov_len) done -= vectors[first++].iov_len;
  if (first == vectors.size()) return;
  vectors[first].iov_base = static_cast<char*>(vectors[first].iov_base) + done;
  vectors[first].iov_len -= done;
}

// Returns 0 or the errno.
int Fallocate(int fd, int mode, std::uint64_t at, std::uint64_t bytes) {
  while (::fallocate(fd, mode, static_cast<off_t>(at), static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace

Status ImageFile::Shortened() const {
  shortened_.store(true, std::memory_order_relaxed);
  return Fail(Code::kIo, fmt::format("{} was cut off while in use: this device is gone", path_));
}

Status ImageFile::Check() const {
  if (shortened_.load(std::memory_order_relaxed)) return Shortened();
  if (table_failed_.load(std::memory_order_relaxed)) {
    return Fail(Code::kIo,
                fmt::format("{}: the zone table could not be written, so this device is gone until it "
                            "is opened again",
                            path_));
  }
  // Faster than fstat. Nothing here uses the file position.
  const off_t end = ::lseek(fd_.get(), 0, SEEK_END);
  if (end < 0) return HostError(errno, fmt::format("look for the end of {}", path_));
  return static_cast<std::uint64_t>(end) < bytes_ ? Shortened() : Status{};
}

Status ImageFile::Read(std::uint64_t at, ByteSpan into) const {
  if (shortened_.load(std::memory_order_relaxed)) return Shortened();
  while (!into.empty()) {
    const ssize_t n = ::pread(fd_.get(), into.data(), into.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return HostError(errno, fmt::format("read {} at {}", path_, at));
    if (n == 0) return Shortened();
    into = into.subspan(static_cast<std::size_t>(n));
    at += static_cast<std::uint64_t>(n);
  }
  return {};
}

Status ImageFile::Write(std::uint64_t at, std::span<const ByteView> pieces) {
  std::vector<iovec> vectors;
  vectors.reserve(pieces.size());
  for (const ByteView piece : pieces) {
    vectors.push_back({const_cast<std::byte*>(piece.data()), piece.size()});
  }
  std::size_t first = 0;
  DropFront(vectors, first, 0);
  while (first < vectors.size()) {
    const int count = static_cast<int>(std::min<std::size_t>(vectors.size() - first, IOV_MAX));
    const ssize_t n = ::pwritev(fd_.get(), &vectors[first], count, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return HostError(errno, fmt::format("write {} at {}", path_, at));
    at += static_cast<std::uint64_t>(n);
    DropFront(vectors, first, static_cast<std::size_t>(n));
  }
  return {};
}

Status ImageFile::WriteWord(std::uint64_t at, std::uint64_t word) {
  ssize_t n = -1;
  do n = ::pwrite(fd_.get(), &word, sizeof word, static_cast<off_t>(at));
  while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(sizeof word)) return {};
  table_failed_.store(true, std::memory_order_relaxed);
  return HostError(n < 0 ? errno : EIO, fmt::format("write the zone table of {}", path_));
}

Status ImageFile::Allocate(std::uint64_t at, std::uint64_t bytes) {
  const int error = Fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, at, bytes);
  if (error == 0 || error == EOPNOTSUPP || error == ENOSYS) return {};
  return HostError(error, fmt::format("the zone table of {} can't be given its space on the host", path_));
}

// Piece by piece, because the host lets no other thread write to the file meanwhile: tmpfs needs 9 ms for 64 MiB.
int ImageFile::Punch(std::uint64_t at, std::uint64_t bytes) {
  int error = 0;
  for (const std::uint64_t end = at + bytes; at < end && error == 0; at += kPunchPiece)
    error =
        Fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, std::min(kPunchPiece, end - at));
  return error;
}

Status ImageFile::Sync() {
  if (::fdatasync(fd_.get()) == 0) return {};
  return HostError(errno, fmt::format("flush of {}", path_));
}

}  // namespace zenfs
