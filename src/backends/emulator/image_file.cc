#include "backends/emulator/image_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/clock.h"
#include "base/file_size_limit.h"

namespace zenfs {
namespace {

// The host lets one thread at a time change a file. Small writes must not wait long for large ones, or for holes.
constexpr std::size_t kWritePiece = 128 << 10;
constexpr std::uint64_t kPunchPiece = 512 << 10;
constexpr std::chrono::microseconds kPunchPause{20};

constexpr std::size_t kDirectBytes = 64 << 10;    // smaller writes are faster through the page cache
constexpr std::uint64_t kDirectAlignment = 4096;  // what hosts ask for; a larger one ends in EINVAL

std::unexpected<Error> HostError(int os_errno, std::string text) {
  return Fail(Code::kIo, std::move(text), os_errno);
}

void DropFront(std::vector<iovec>& vectors, std::size_t& first, std::size_t done) {
  while (first < vectors.size() && done >= vectors[first].iov_len) done -= vectors[first++].iov_len;
  if (first == vectors.size()) return;
  vectors[first].iov_base = static_cast<char*>(vectors[first].iov_base) + done;
  vectors[first].iov_len -= done;
}

// Those that one call writes.
std::span<const iovec> FirstOf(std::span<const iovec> vectors) {
  std::size_t count = 0;
  for (std::size_t bytes = 0; count < std::min<std::size_t>(vectors.size(), IOV_MAX); ++count) {
    bytes += vectors[count].iov_len;
    if (count != 0 && bytes > kWritePiece) break;
  }
  return vectors.first(count);
}

// Returns 0 or the errno.
int Fallocate(int fd, int mode, std::uint64_t at, std::uint64_t bytes) {
  while (::fallocate(fd, mode, static_cast<off_t>(at), static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

bool IsAligned(ByteView piece) {
  return (reinterpret_cast<std::uintptr_t>(piece.data()) | piece.size()) % kDirectAlignment == 0;
}

}  // namespace

ImageFile::ImageFile(std::string path, UniqueFd fd, std::uint64_t bytes, bool direct)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      direct_(direct ? UniqueFd::Reopened(fd_.get(), O_WRONLY | O_DIRECT) : UniqueFd()),
      bytes_(bytes),
      limited_(HasFileSizeLimit()) {}

int ImageFile::FdFor(std::uint64_t at, std::span<const ByteView> pieces) const {
  if (!direct_.valid() || at % kDirectAlignment != 0) return fd_.get();
  std::size_t bytes = 0;
  for (const ByteView piece : pieces) bytes += piece.size();
  return bytes >= kDirectBytes && std::ranges::all_of(pieces, IsAligned) ? direct_.get() : fd_.get();
}

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
  const NoFileSizeSignal no_signal(limited_);
  std::vector<iovec> vectors;
  vectors.reserve(pieces.size());
  for (ByteView piece : pieces) {
    for (; !piece.empty(); piece = piece.subspan(std::min(kWritePiece, piece.size())))
      vectors.push_back({const_cast<std::byte*>(piece.data()), std::min(kWritePiece, piece.size())});
  }
  int fd = FdFor(at, pieces);
  std::size_t first = 0;
  while (first < vectors.size()) {
    const std::span<const iovec> some = FirstOf(std::span(vectors).subspan(first));
    const ssize_t n = ::pwritev(fd, some.data(), static_cast<int>(some.size()), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EINVAL && fd != fd_.get()) {
      fd = fd_.get();  // the rest of a short write has another alignment, or the host asks for a larger one
      continue;
    }
    if (n < 0) return HostError(errno, fmt::format("write {} at {}", path_, at));
    at += static_cast<std::uint64_t>(n);
    DropFront(vectors, first, static_cast<std::size_t>(n));
  }
  return {};
}

Status ImageFile::WriteWord(std::uint64_t at, std::uint64_t word) {
  const NoFileSizeSignal no_signal(limited_);
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

// Only what is allocated: a zone may claim any length. tmpfs needs 16 ms for 128 MiB. In the pause between two pieces a thread that waits gets its turn; otherwise it would wait
// for 4 ms, because this thread would be the first one again.
int ImageFile::Punch(std::uint64_t at, std::uint64_t bytes) {
  for (const std::uint64_t end = at + bytes; at < end; at += kPunchPiece) {
    const off_t data = ::lseek(fd_.get(), static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return 0;  // only a hole from here on
    if (data > 0) at = std::max(at, static_cast<std::uint64_t>(data));
    if (at >= end) return 0;
    const std::uint64_t piece = std::min(kPunchPiece, end - at);
    const int error = Fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, piece);
    if (error != 0) return error;
    if (piece != end - at) SleepUntil(SteadyNow() + kPunchPause);
  }
  return 0;
}

Status ImageFile::Sync() {
  if (::fdatasync(fd_.get()) == 0) return {};
  return HostError(errno, fmt::format("flush of {}", path_));
}

}  // namespace zenfs
