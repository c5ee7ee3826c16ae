#include "base/shared_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/file_lock.h"
#include "base/file_size_limit.h"
#include "base/sync_point.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kPage = 4096;

bool IsTmpfs(int fd) {
  struct statfs fs{};
  return fstatfs(fd, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

Result<UniqueFd> OpenTmpfsDirectory(const std::string& directory) {
  UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return FailErrno(errno, fmt::format("{}: can't be opened for shared memory", directory));
  if (!IsTmpfs(fd.get())) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{}: is not on a tmpfs; shared memory must not survive a power loss. Name a directory on "
                    "a tmpfs, such as /dev/shm",
                    directory));
  }
  return fd;
}

// `status` must come from the descriptor, because the name may refer to another file at any time.
Status CheckPrivate(const struct stat& status, const std::string& path,
                    const std::vector<std::uint32_t>& trusted) {
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1) {
    return Fail(Code::kCorruption, fmt::format("{}: is not a plain file with one name", path));
  }
  if (!IsTrustedOwner(status.st_uid, trusted) || (status.st_mode & 0077) != 0) {
    return Fail(
        Code::kPermission,
        fmt::format("{}: belongs to user {} with mode {:o}, expected a file of this user with mode 600", path,
                    status.st_uid, status.st_mode & 07777));
  }
  if (status.st_size < 0 || status.st_size % static_cast<off_t>(kPage) != 0) {
    return Fail(Code::kCorruption,
                fmt::format("{}: has an impossible size of {} bytes", path, status.st_size));
  }
  return {};
}

// Bytes that are locked, beyond the end of any file.
constexpr std::uint64_t kAnnouncementsAt = std::uint64_t{1} << 40;
constexpr std::uint64_t kMakerAt = std::uint64_t{1} << 41;

struct flock Range(short type, std::uint64_t at, std::uint64_t bytes = 1) {
  struct flock range{};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(at);
  range.l_len = static_cast<off_t>(bytes);
  return range;
}

bool LockBytes(const UniqueFd& fd, short type, std::uint64_t at, std::uint64_t bytes = 1) {
  struct flock range = Range(type, at, bytes);
  return fcntl(fd.get(), F_OFD_SETLK, &range) == 0;
}

// True if somebody else's lock would refuse this one.
bool IsLocked(const UniqueFd& fd, short type, std::uint64_t at) {
  struct flock range = Range(type, at);
  return fcntl(fd.get(), F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

Error InUse(const std::string& path) {
  return Error(Code::kBusy, fmt::format("{}: the process that made it is still running", path));
}

// LockFile retries, because MakerLives of another process takes the lock for a moment.
Status LockWhole(const UniqueFd& fd, const std::string& path) {
  const int error = LockFile(fd.get());
  if (error == 0) return {};
  if (error != EWOULDBLOCK) return FailErrno(error, fmt::format("{}: can't be locked", path));
  return Fail(InUse(path));
}

}  // namespace

Result<SharedMemory> SharedMemory::Create(const std::string& directory, const std::string& name,
                                          std::uint64_t bytes, std::uint64_t allocated) {
  ZENFS_ASSERT(allocated != 0 && allocated <= bytes);
  ZENFS_ASSIGN_OR_RETURN(const UniqueFd at, OpenTmpfsDirectory(directory));
  const std::string path = directory + "/" + name;
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd fd = UniqueFd::Opened([&] { return openat(at.get(), name.c_str(), kFlags, 0600); });
  if (!fd.valid()) return FailErrno(errno, fmt::format("{}: can't be created", path));
  SharedMemory made(std::move(fd), path);
  SyncPoint::Reach("SharedMemory::Create:named");
  const Status ready = [&]() -> Status {
    ZENFS_RETURN_IF_ERROR(LockWhole(made.fd_, path));
    // A file is removed only under its lock (Open), so from now on it keeps its name.
    struct stat status{};
    if (fstat(made.fd_.get(), &status) != 0 || status.st_nlink == 0) {
      return Fail(Code::kBusy, fmt::format("{}: was removed while it was made", path));
    }
    LockBytes(made.fd_, F_WRLCK, kMakerAt);  // if it fails, readers see no maker
    ZENFS_RETURN_IF_ERROR(made.Allocate(0, allocated));
    const NoFileSizeSignal no_signal;
    if (ftruncate(made.fd_.get(), static_cast<off_t>(bytes)) != 0) {
      return FailErrno(errno, fmt::format("{}: can't be made {} bytes large", path, bytes));
    }
    return made.Map(bytes, MAP_SHARED);
  }();
  if (!ready.ok()) {
    IgnoreError(made.Unlink());  // at worst an unused file stays
    return Fail(ready.error());
  }
  return made;
}

Result<SharedMemory> SharedMemory::Open(const std::string& path, Access access,
                                        const std::vector<std::uint32_t>& trusted, std::uint64_t bytes_max) {
  const bool take_over = access == Access::kTakeOver;
  // A device may name any file of the host. So its kind is looked at before it is opened, which alone may have effects: a
  // waiting writer of a pipe would lose its bytes.
  const UniqueFd named(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!named.valid()) return FailErrno(errno, fmt::format("{}: can't be opened", path));
  struct stat status{};
  if (fstat(named.get(), &status) != 0) return FailErrno(errno, fmt::format("{}: fstat failed", path));
  ZENFS_RETURN_IF_ERROR(CheckPrivate(status, path, trusted));
  if (access != Access::kReadAnywhere && !IsTmpfs(named.get())) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: is not on a tmpfs, so it is no shared memory", path));
  }
  UniqueFd fd = UniqueFd::Reopened(named.get(), take_over ? O_RDWR : O_RDONLY);
  if (!fd.valid()) return FailErrno(errno, fmt::format("{}: can't be opened", path));
  SharedMemory opened(std::move(fd), path);
  opened.file_bytes_ = static_cast<std::uint64_t>(status.st_size);
  if (take_over) ZENFS_RETURN_IF_ERROR(LockWhole(opened.fd_, path));
  if (status.st_size != 0) ZENFS_RETURN_IF_ERROR(opened.Load(status, bytes_max));
  return opened;
}

Status SharedMemory::Load(const struct stat& status, std::uint64_t bytes_max) {
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const bool whole = size <= bytes_max;
  if (whole && size > kWholeBytesMax) {
    return Fail(Code::kCorruption,
                fmt::format("{}: has {} bytes, more than {}", path_, size, kWholeBytesMax));
  }
  ZENFS_RETURN_IF_ERROR(Map(std::min(size, bytes_max), MAP_PRIVATE | MAP_ANONYMOUS));
  return ReadPagesAt(0, memory_);
}

FileStamp FileStamp::Of(const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return {};
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = static_cast<std::uint64_t>(status.st_size),
          .changed_seconds = status.st_ctim.tv_sec,
          .changed_nanoseconds = status.st_ctim.tv_nsec,
          .settled = status.st_ctim.tv_sec < static_cast<std::int64_t>(WallSeconds())};
}

Status SharedMemory::ReadPagesAt(std::uint64_t offset, ByteSpan zeros) const {
  const std::uint64_t end = offset + zeros.size();
  for (std::uint64_t at = offset; at < end;) {
    ZENFS_ASSIGN_OR_RETURN(at, SkipHole(at, end));
    if (at >= end) break;
    ZENFS_ASSIGN_OR_RETURN(const std::uint64_t to, EndOfData(at, end));
    ZENFS_RETURN_IF_ERROR(ReadAt(at, zeros.subspan(at - offset, to - at)));
    at = to;
  }
  return {};
}

Status SharedMemory::ReadAt(std::uint64_t offset, ByteSpan into) const {
  while (!into.empty()) {
    const ssize_t n = pread(fd_.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FailErrno(errno, fmt::format("{}: can't be read", path_));
    if (n == 0) return Fail(Shortened());
    offset += static_cast<std::uint64_t>(n);
    into = into.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

void SharedMemory::Announce(std::uint64_t first, std::uint64_t count) const {
  LockBytes(fd_, F_RDLCK, kAnnouncementsAt + first, count);
}

void SharedMemory::Withdraw(std::uint64_t first, std::uint64_t count) const {
  LockBytes(fd_, F_UNLCK, kAnnouncementsAt + first, count);
}

bool SharedMemory::IsAnnounced(std::uint64_t number) const {
  return IsLocked(fd_, F_WRLCK, kAnnouncementsAt + number);
}

bool SharedMemory::MakerRuns() const { return IsLocked(fd_, F_RDLCK, kMakerAt); }

Error SharedMemory::Shortened() const {
  return Error(Code::kCorruption, fmt::format("{}: was shortened while it was read", path_));
}

Result<std::uint64_t> SharedMemory::SkipHole(std::uint64_t at, std::uint64_t size) const {
  const off_t data = lseek(fd_.get(), static_cast<off_t>(at), SEEK_DATA);
  if (data >= 0) return static_cast<std::uint64_t>(data);
  if (errno != ENXIO) return FailErrno(errno, fmt::format("{}: can't be searched for data", path_));
  // No data from `at` on, or no file.
  struct stat now{};
  if (fstat(fd_.get(), &now) != 0) return FailErrno(errno, fmt::format("{}: fstat failed", path_));
  if (static_cast<std::uint64_t>(now.st_size) < size) return Fail(Shortened());
  return size;
}

// Reading a hole would take memory for it.
Result<std::uint64_t> SharedMemory::EndOfData(std::uint64_t at, std::uint64_t size) const {
  const off_t hole = lseek(fd_.get(), static_cast<off_t>(at), SEEK_HOLE);
  if (hole < 0 && errno == ENXIO) return Fail(Shortened());
  if (hole < 0) return FailErrno(errno, fmt::format("{}: can't be searched for holes", path_));
  return std::clamp(static_cast<std::uint64_t>(hole), at, size);
}

Status SharedMemory::Allocate(std::uint64_t offset, std::uint64_t bytes) {
  const NoFileSizeSignal no_signal;
  if (fallocate(fd_.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) {
    return FailErrno(errno, fmt::format("{}: {} bytes of shared memory can't be allocated", path_, bytes));
  }
  return {};
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::move(other.fd_)),
      path_(std::move(other.path_)),
      memory_(std::exchange(other.memory_, ByteSpan())),
      file_bytes_(other.file_bytes_) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  if (this != &other) {
    Unmap();
    fd_ = std::move(other.fd_);
    path_ = std::move(other.path_);
    memory_ = std::exchange(other.memory_, ByteSpan());
    file_bytes_ = other.file_bytes_;
  }
  return *this;
}

SharedMemory::~SharedMemory() { Unmap(); }

Status SharedMemory::Map(std::uint64_t bytes, int flags) {
  const int fd = (flags & MAP_ANONYMOUS) != 0 ? -1 : fd_.get();
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (at == MAP_FAILED) return FailErrno(errno, fmt::format("{}: can't be mapped into memory", path_));
  memory_ = ByteSpan(static_cast<std::byte*>(at), bytes);
  if (madvise(at, bytes, MADV_DONTFORK) != 0) {
    return FailErrno(errno, fmt::format("{}: can't be hidden from forked children", path_));
  }
  return {};
}

void SharedMemory::Unmap() {
  // In a child of fork() the range is not mapped, or something else has been mapped there.
  if (!memory_.empty() && !fork_guard_.InChild()) munmap(memory_.data(), memory_.size());
  memory_ = {};
}

bool SharedMemory::MakerLives() const {
  if (flock(fd_.get(), LOCK_SH | LOCK_NB) != 0) return true;
  flock(fd_.get(), LOCK_UN);
  return false;
}

void SharedMemory::HandOver(std::optional<std::uint32_t> user) {
  if (!fd_.valid() || fork_guard_.InChild()) return;
  void* const zeros = mmap(memory_.data(), memory_.size(), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  // If either fails, only root can take the bytes over.
  if (zeros != MAP_FAILED && user && geteuid() == 0) static_cast<void>(!fchown(fd_.get(), *user, -1U));
  LockBytes(fd_, F_UNLCK, kMakerAt);
  flock(fd_.get(), LOCK_UN);
}

Status SharedMemory::Unlink() {
  struct stat named{};
  struct stat own{};
  if (lstat(path_.c_str(), &named) != 0) {
    if (errno == ENOENT) return {};
    return FailErrno(errno, fmt::format("{}: stat failed", path_));
  }
  if (fstat(fd_.get(), &own) != 0) return FailErrno(errno, fmt::format("{}: fstat failed", path_));
  if (named.st_dev != own.st_dev || named.st_ino != own.st_ino) return {};
  if (unlink(path_.c_str()) == 0 || errno == ENOENT) return {};
  return FailErrno(errno, fmt::format("{}: can't be removed", path_));
}

bool IsTrustedOwner(std::uint32_t owner, const std::vector<std::uint32_t>& trusted) {
  return owner == 0 || owner == geteuid() || std::ranges::find(trusted, owner) != trusted.end();
}

std::optional<std::uint32_t> OwnerOfName(const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_uid;
}

std::vector<std::string> SharedMemoryDirectories() {
  const std::string_view runtime = EnvironmentVariable("XDG_RUNTIME_DIR");
  std::vector<std::string> directories{"/dev/shm"};
  if (runtime.starts_with('/')) directories.emplace_back(runtime);
  directories.emplace_back("/run");
  return directories;
}

std::string DefaultSharedMemoryDirectory() {
  for (const std::string& directory : SharedMemoryDirectories()) {
    if (OpenTmpfsDirectory(directory) && access(directory.c_str(), W_OK | X_OK) == 0) return directory;
  }
  return "";
}

std::vector<std::string> ListSharedMemory(const std::string& directory, std::string_view prefix) {
  std::vector<std::string> paths;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(directory.c_str()), closedir);
  if (entries == nullptr) return paths;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): only this thread uses the stream
  while (const dirent* entry = readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(prefix)) paths.push_back(fmt::format("{}/{}", directory, name));
  }
  return paths;
}

}  // namespace zenfs
