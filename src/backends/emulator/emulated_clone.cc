#include "backends/emulator/emulated_clone.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "backends/emulator/emulated_file.h"
#include "backends/host/lock_holder.h"
#include "base/file_size_limit.h"
#include "base/output_file.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kStepBytes = 8 << 20;  // between two reports of progress

// Keeps writers out: they need the exclusive lock.
Status LockAgainstWriters(const UniqueFd& fd, const std::string& path) {
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return FailErrno(errno, fmt::format("lock {}", path));
  return Fail(Code::kBusy,
              fmt::format("emulated device {} is in use by {}", path, DescribeLockHolder(fd.get())));
}

bool SameFile(int one, int other) {
  struct stat a{};
  struct stat b{};
  return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Opens and locks the file that the copy will replace. Invalid if there is none.
Result<UniqueFd> LockReplaced(const std::string& path, bool overwrite, int from) {
  ZENFS_ASSIGN_OR_RETURN(UniqueFd fd, OpenExistingOutput(path));
  if (!fd.valid()) return fd;
  if (SameFile(fd.get(), from)) {
    return Fail(Code::kInvalidArgument, fmt::format("{} is the device to clone", path));
  }
  if (!overwrite) return Fail(Code::kExists, fmt::format("{} exists already; it was not changed", path));
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) return FailErrno(errno, fmt::format("examine {}", path));
  if (st.st_size == 0) {
    ZENFS_RETURN_IF_ERROR(LockEmulatedFile(fd, path));
    return fd;
  }
  Result<OpenedEmulatedFile> old = CheckEmulatedFile(std::move(fd), path, OpenMode::kExclusive);
  if (old) return std::move(old->fd);
  return Fail(old.error().With(fmt::format("{} can't be replaced", path)));
}

bool CantCopyInKernel(int error) {
  return error == EXDEV || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM;
}

// Copies up to `bytes` at `at`. Returns the number of bytes copied.
Result<std::uint64_t> CopyByHand(int from, int to, std::uint64_t at, std::uint64_t bytes,
                                 const std::string& path) {
  std::vector<std::byte> buffer(std::min<std::uint64_t>(bytes, 1 << 20));
  const ssize_t got = ::pread(from, buffer.data(), buffer.size(), static_cast<off_t>(at));
  if (got <= 0) {
    return FailErrno(got < 0 ? errno : EIO, fmt::format("read the device to be cloned at {}", at));
  }
  for (ssize_t done = 0; done < got;) {
    const ssize_t put = ::pwrite(to, buffer.data() + done, static_cast<std::size_t>(got - done),
                                 static_cast<off_t>(at) + done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return FailErrno(put < 0 ? errno : EIO, fmt::format("write {} at {}", path, at));
    done += put;
  }
  return static_cast<std::uint64_t>(got);
}

}  // namespace

EmulatedClone::EmulatedClone(OpenedEmulatedFile from, std::string to, UniqueFd replaced, NewOutput file)
    : from_(std::move(from)), to_(std::move(to)), replaced_(std::move(replaced)), file_(std::move(file)) {}

Result<std::unique_ptr<EmulatedClone>> EmulatedClone::Begin(const std::string& from, const std::string& to,
                                                            bool overwrite, const Progress& progress,
                                                            mode_t mode) {
  ZENFS_ASSIGN_OR_RETURN(OpenedEmulatedFile source, OpenAndCheckEmulatedFile(from, OpenMode::kReadOnly));
  ZENFS_RETURN_IF_ERROR(LockAgainstWriters(source.fd, from));
  ZENFS_ASSIGN_OR_RETURN(UniqueFd replaced, LockReplaced(to, overwrite, source.fd.get()));
  const auto place = replaced.valid() ? NewOutput::Place::kReplace : NewOutput::Place::kNew;
  ZENFS_ASSIGN_OR_RETURN(NewOutput file, NewOutput::Begin(to, place, kEmulatedFileMode));
  std::unique_ptr<EmulatedClone> clone(
      new EmulatedClone(std::move(source), to, std::move(replaced), std::move(file)));
  ZENFS_RETURN_IF_ERROR(SetFileMode(clone->fd(), mode, to));
  ZENFS_RETURN_IF_ERROR(clone->CopyData(progress));
  ZENFS_RETURN_IF_ERROR(clone->MakeHeader());
  return clone;
}

Status EmulatedClone::MakeHeader() {
  EmulatedFileInfo info = from_.info;
  struct stat source{};
  if (::fstat(from_.fd.get(), &source) != 0) return FailErrno(errno, "examine the device to be cloned");
  // The copy belongs to this user, so its times would be kept.
  if (!DeviceOwner::Of(source).IsTrusted()) dropped_timing_ = std::exchange(info.timing, Timing::kNone);
  return RenewDeviceUuid(fd(), info, to_);
}

Status EmulatedClone::CopyData(const Progress& progress) {
  const NoFileSizeSignal no_signal;
  const auto bytes = static_cast<off_t>(from_.layout.file_bytes);
  if (::ftruncate(fd().get(), bytes) != 0) {
    return FailErrno(errno, fmt::format("make {} {} bytes long", to_, bytes));
  }
  if (::ioctl(fd().get(), FICLONE, from_.fd.get()) == 0) return {};
  ZENFS_RETURN_IF_ERROR(CheckHostSpace(fd(), from_.info.allocated_bytes, "the clone", to_));
  const std::uint64_t length = from_.layout.file_bytes;
  for (std::uint64_t at = 0; at < length;) {
    const off_t data = ::lseek(from_.fd.get(), static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return {};  // only holes up to the end
    const off_t hole = data < 0 ? -1 : ::lseek(from_.fd.get(), data, SEEK_HOLE);
    if (hole < 0) return FailErrno(errno, fmt::format("look for data behind {} of the device", at));
    const std::uint64_t end = std::min(static_cast<std::uint64_t>(hole), length);
    ZENFS_RETURN_IF_ERROR(CopyRange(static_cast<std::uint64_t>(data), end, progress));
    at = end;
  }
  return {};
}

Status EmulatedClone::CopyRange(std::uint64_t start, std::uint64_t end, const Progress& progress) {
  while (start < end) {
    auto in = static_cast<off_t>(start);
    off_t out = in;
    const std::uint64_t step = std::min(end - start, kStepBytes);
    const ssize_t n = ::copy_file_range(from_.fd.get(), &in, fd().get(), &out, step, 0);
    std::uint64_t copied = n > 0 ? static_cast<std::uint64_t>(n) : 0;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && !CantCopyInKernel(errno)) return FailErrno(errno, fmt::format("write {} at {}", to_, start));
    if (n <= 0) {
      ZENFS_ASSIGN_OR_RETURN(copied, CopyByHand(from_.fd.get(), fd().get(), start, step, to_));
    }
    start += copied;
    copied_bytes_ += copied;
    if (progress) progress(copied_bytes_, from_.info.allocated_bytes);
  }
  return {};
}

Status EmulatedClone::ReadStart(ZoneId zone, ByteSpan bytes) const {
  const ssize_t got = ::pread(fd().get(), bytes.data(), bytes.size(), static_cast<off_t>(StartOf(zone)));
  if (got == static_cast<ssize_t>(bytes.size())) return {};
  return FailErrno(got < 0 ? errno : EIO, fmt::format("read the start of zone {} of the clone", zone.value));
}

Status EmulatedClone::ReplaceStart(ZoneId zone, ByteView bytes) {
  return WriteAll(fd(), StartOf(zone), bytes, to_);
}

}  // namespace zenfs
