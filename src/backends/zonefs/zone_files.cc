#include "backends/zonefs/zone_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <charconv>
#include <filesystem>

#include "backends/host/failed_write.h"
#include "backends/host/lock_holder.h"
#include "backends/host/plain_io.h"
#include "base/file_lock.h"

namespace zenfs {
namespace {

constexpr mode_t kRead = 0444;
constexpr mode_t kWrite = 0222;
constexpr std::uint64_t kStatBlock = 512;  // bytes, the unit of st_blocks

std::string Name(ZoneId zone) { return fmt::format("{}", zone.value); }

// The number of files, which must be named 0, 1, 2, ... without a gap.
Result<std::uint32_t> CountZones(const std::string& path) {
  std::uint64_t count = 0;
  std::uint64_t highest = 0;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(path, error); !error && entry != end(entry);
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    std::uint32_t number = 0;
    const char* const last = name.data() + name.size();
    const auto parsed = std::from_chars(name.data(), last, number);
    if (parsed.ec != std::errc{} || parsed.ptr != last) {
      return Fail(Code::kInvalidArgument, fmt::format("{}: '{}' is not the file of a zone", path, name));
    }
    ++count;
    highest = std::max<std::uint64_t>(highest, number);
  }
  if (error) return FailErrno(error.value(), fmt::format("list {}", path));
  if (count == 0) return Fail(Code::kInvalidArgument, fmt::format("{} has no zone files", path));
  if (highest + 1 != count) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: {} files, the last of them {}; zones are missing", path, count, highest));
  }
  return static_cast<std::uint32_t>(count);
}

// Three errors report a limit: one of zonefs (explicit-open), and those of the block layer for open
// and for active zones.
Error OpenError(int error, std::string text) {
  if (error != EBUSY && !IsZoneLimit(error)) return ErrnoError(error, std::move(text));
  return Error(Code::kBusy, text + ": the limit of open or active zones is reached", error);
}

}  // namespace

ZoneAccess AccessOfMode(mode_t mode, mode_t granted) {
  if ((mode & (kRead | kWrite)) == 0 && (granted & (kRead | kWrite)) != 0) return ZoneAccess::kOffline;
  if ((mode & kWrite) == 0 && (granted & kWrite) != 0) return ZoneAccess::kReadOnly;
  return ZoneAccess::kWritable;
}

Result<std::unique_ptr<ZoneDirectory>> ZoneDirectory::Open(const std::string& path) {
  UniqueFd fd = UniqueFd::Opened([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (!fd.valid()) return FailErrno(errno, fmt::format("open {}", path));
  std::unique_ptr<ZoneDirectory> directory(new ZoneDirectory(path, std::move(fd)));
  ZENFS_ASSIGN_OR_RETURN(directory->count_, CountZones(path));
  for (std::uint32_t i = 0; i < directory->count_; ++i) {
    struct stat st{};
    const std::string name = Name(ZoneId(i));
    if (::fstatat(directory->fd_.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
      return FailErrno(errno, fmt::format("examine {}/{}", path, name));
    }
    directory->granted_ |= st.st_mode & (kRead | kWrite);
    directory->device_ = st.st_dev;
    directory->owner_ = DeviceOwner::Of(st);
    directory->block_size_ = static_cast<std::uint32_t>(st.st_blksize);
  }
  return directory;
}

Status ZoneDirectory::Lock() const {
  const int error = LockFile(fd_.get());
  if (error == 0) return {};
  if (error != EWOULDBLOCK) return FailErrno(error, fmt::format("lock {}", path_));
  return Fail(Code::kBusy, fmt::format("{} is in use by {}", path_, DescribeLockHolder(fd_.get())));
}

Status ZoneDirectory::CheckPermission(bool write) const {
  for (std::uint32_t i = 0; i < count_; ++i) {
    ZENFS_ASSIGN_OR_RETURN(const ZoneFileState zone, Look(ZoneId(i)));
    if (zone.access != ZoneAccess::kWritable) continue;  // its bits are those of the failed zone
    const int wanted = write ? R_OK | W_OK : R_OK;
    if (::faccessat(fd_.get(), Name(ZoneId(i)).c_str(), wanted, AT_EACCESS) == 0) return {};
    return Fail(ErrnoError(errno == EROFS ? EROFS : EACCES,
                           fmt::format("{}: this user may not {} it", Path(ZoneId(i)),
                                       write ? "read and write" : "read"))
                    .Advise("owner, group and mode of all zones are given by mkzonefs -o "
                            "uid=UID,gid=GID,perm=660, or until the next mount by chown and chmod"));
  }
  return {};  // all zones have failed; each will report it
}

std::string ZoneDirectory::Path(ZoneId zone) const { return fmt::format("{}/{}", path_, zone.value); }

Result<ZoneFileState> ZoneDirectory::Look(ZoneId zone) const {
  struct stat st{};
  if (::fstatat(fd_.get(), Name(zone).c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return FailErrno(errno, fmt::format("examine {}", Path(zone)));
  }
  return ZoneFileState{.size = static_cast<std::uint64_t>(st.st_size),
                       .capacity = static_cast<std::uint64_t>(st.st_blocks) * kStatBlock,
                       .access = AccessOfMode(st.st_mode, granted_)};
}

Result<UniqueFd> ZoneDirectory::OpenToRead(ZoneId zone) const {
  ZENFS_ASSIGN_OR_RETURN(UniqueFd fd, OpenZone(zone, O_RDONLY, "reading"));
  SkipAccessTimes(fd.get());
  return fd;
}

Result<UniqueFd> ZoneDirectory::OpenToWrite(ZoneId zone) const { return OpenZone(zone, O_WRONLY, "writing"); }

Result<UniqueFd> ZoneDirectory::OpenZone(ZoneId zone, int access, const char* why) const {
  const int flags = access | O_DIRECT | O_CLOEXEC | O_NOFOLLOW;
  UniqueFd fd = UniqueFd::Opened([&] { return ::openat(fd_.get(), Name(zone).c_str(), flags); });
  if (fd.valid()) return fd;
  return Fail(OpenError(errno, fmt::format("open {} for {}", Path(zone), why)));
}

Status ZoneDirectory::Truncate(ZoneId zone, std::uint64_t size) const {
  const std::string text = fmt::format("truncate {} to {}", Path(zone), size);
  const auto length = static_cast<off_t>(size);
  // Truncate by path: a descriptor would open the zone. Not by the path of the mount point, where
  // another file system may be mounted meanwhile.
  if (::truncate(fmt::format("/proc/self/fd/{}/{}", fd_.get(), zone.value).c_str(), length) == 0) return {};
  if (errno != ENOENT && errno != EACCES) return Fail(OpenError(errno, text));
  // Without /proc, or with that of another pid namespace.
  ZENFS_ASSIGN_OR_RETURN(const UniqueFd fd, OpenToWrite(zone));
  if (::ftruncate(fd.get(), length) == 0) return {};
  return Fail(OpenError(errno, text));
}

bool ZoneDirectory::MountedReadOnly() const {
  struct statvfs st{};
  return ::fstatvfs(fd_.get(), &st) == 0 && (st.f_flag & ST_RDONLY) != 0;
}

}  // namespace zenfs
