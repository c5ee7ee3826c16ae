#include "testing/plain_zone_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "backends/zonefs/zone_files.h"

namespace zenfs {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kMode = 0660;

// The zones of `directory` whose files this process has open for writing.
std::set<std::uint32_t> Writing(const std::string& directory) {
  std::set<std::uint32_t> zones;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const fs::path target = fs::read_symlink(entry.path(), gone);
    if (gone || target.parent_path() != directory) continue;
    const int flags = ::fcntl(std::atoi(entry.path().filename().c_str()), F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_WRONLY) {
      zones.insert(static_cast<std::uint32_t>(std::atoi(target.filename().c_str())));
    }
  }
  return zones;
}

}  // namespace

PlainZoneFiles::PlainZoneFiles(std::string directory, const Shape& shape)
    : directory_(fs::canonical(directory).string()), shape_(shape) {
  for (std::uint32_t i = 0; i < shape_.zones; ++i) {
    const std::string path = Path(ZoneId(i));
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, kMode));
    if (!fd.valid() || ::fchmod(fd.get(), kMode) != 0) std::abort();
  }
}

std::string PlainZoneFiles::Path(ZoneId zone) const { return fmt::format("{}/{}", directory_, zone.value); }

Result<ZoneFileState> PlainZoneFiles::Look(ZoneId zone) const {
  struct stat st{};
  if (::stat(Path(zone).c_str(), &st) != 0) return FailErrno(errno, "examine " + Path(zone));
  return ZoneFileState{.size = static_cast<std::uint64_t>(st.st_size),
                       .capacity = shape_.capacity,
                       .access = AccessOfMode(st.st_mode, kMode)};
}

Result<UniqueFd> PlainZoneFiles::OpenToRead(ZoneId zone) const {
  UniqueFd fd(::open(flushes_fail ? "/dev/null" : Path(zone).c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.valid()) return fd;
  return FailErrno(errno, "open " + Path(zone));
}

Result<UniqueFd> PlainZoneFiles::OpenToWrite(ZoneId zone) const {
  if (shape_.max_open != 0) {
    std::set<std::uint32_t> zones = Writing(directory_);
    zones.insert(zone.value);
    if (zones.size() > shape_.max_open) return Fail(Code::kBusy, "open " + Path(zone), EBUSY);
  }
  UniqueFd fd(::open(writes_fail ? "/dev/full" : Path(zone).c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.valid()) return fd;
  return FailErrno(errno, "open " + Path(zone));
}

Status PlainZoneFiles::Truncate(ZoneId zone, std::uint64_t size) const {
  ++truncates;
  if (truncates_fail) return FailErrno(EIO, "truncate " + Path(zone));
  if (finish_opens && size != 0) ZENFS_RETURN_IF_ERROR(OpenToWrite(zone));
  const bool done = ::truncate(Path(zone).c_str(), static_cast<off_t>(size)) == 0;
  if (done && !truncates_lie) return {};
  return FailErrno(done ? EIO : errno, "truncate " + Path(zone));
}

Status PlainZoneFiles::Lock() {
  lock_ = UniqueFd(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return {};
  return Fail(Code::kBusy, directory_ + " is in use", errno);
}

std::string PlainZoneFiles::OpenForWriting() const {
  return fmt::format("{}", fmt::join(Writing(directory_), " "));
}

}  // namespace zenfs
