#include "base/host_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/file_size_limit.h"
#include "base/zeros.h"

namespace zenfs {

HostStat HostStat::From(const struct stat& st) {
  HostStat out;
  if (S_ISREG(st.st_mode)) {
    out.kind = HostStat::Kind::kFile;
  } else if (S_ISDIR(st.st_mode)) {
    out.kind = HostStat::Kind::kDirectory;
  } else if (S_ISLNK(st.st_mode)) {
    out.kind = HostStat::Kind::kSymlink;
  } else {
    out.kind = HostStat::Kind::kSpecial;
  }
  out.size = static_cast<std::uint64_t>(st.st_size);
  out.mtime_ns = std::int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec;
  out.owner = st.st_uid;
  out.mode = st.st_mode & 07777;
  out.device = st.st_dev;
  out.inode = st.st_ino;
  out.links = st.st_nlink;
  return out;
}

Result<std::size_t> HostFile::Read(std::uint64_t offset, ByteSpan into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t n =
        ::pread(fd_.get(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (n == 0) break;
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      return FailErrno(errno, fmt::format("{} could not be read at offset {}", path_, offset + done));
    }
  }
  return done;
}

std::uint64_t HostFile::KnownZeros(std::uint64_t offset, std::uint64_t length) const {
  return KnownHole(fd_.get(), offset, length);
}

Status HostFile::Append(ByteView bytes) {
  const NoFileSizeSignal no_signal;
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
    if (n >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      return FailErrno(errno, fmt::format("{} could not be written", path_));
    }
  }
  return {};
}

Status HostFile::SetModified(std::uint64_t mtime_seconds) {
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                             {.tv_sec = static_cast<time_t>(mtime_seconds), .tv_nsec = 0}};
  if (::futimens(fd_.get(), times) != 0) return FailErrno(errno, path_);
  return {};
}

Status HostFile::Sync() {
  if (::fsync(fd_.get()) != 0) return FailErrno(errno, fmt::format("{} could not be synced", path_));
  return {};
}

Status HostFile::Truncate(std::uint64_t size) {
  const NoFileSizeSignal no_signal;
  if (::ftruncate(fd_.get(), static_cast<off_t>(size)) == 0) return {};
  return FailErrno(errno, fmt::format("{} could not get a length of {} bytes", path_, size));
}

Status HostFile::TakeLock() {
  struct flock all{};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  if (::fcntl(fd_.get(), F_OFD_SETLK, &all) == 0) return {};
  return FailErrno(errno == EACCES ? EAGAIN : errno, fmt::format("{} could not be locked", path_));
}

Result<HostStat> HostFile::Stat() const {
  struct stat st{};
  if (::fstat(fd_.get(), &st) != 0) return FailErrno(errno, path_);
  return HostStat::From(st);
}

void HostFile::DropCache() const { (void)::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED); }

}  // namespace zenfs
