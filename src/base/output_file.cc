#include "base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/file_size_limit.h"
#include "base/random.h"
#include "base/sync_point.h"

namespace zenfs {
namespace {

constexpr int kTries = 10;  // to make a name that another program makes or removes at the same time
constexpr std::size_t kStem =
    200;  // bytes of the name in that of the temporary file: NAME_MAX leaves room for the rest

struct OutputPlace {
  UniqueFd directory;
  std::string name;
  bool shared = false;  // others can put files there
  std::optional<HostStat> found;
};

std::string_view KindText(HostStat::Kind kind) {
  switch (kind) {
    case HostStat::Kind::kSymlink: return "a symbolic link, which is not followed; name its target";
    case HostStat::Kind::kDirectory: return "a directory; name a file";
    default: return "not a regular file; name another one";
  }
}

Status CheckFound(const HostStat& found, bool shared, const std::string& path) {
  if (found.kind != HostStat::Kind::kFile)
    return Fail(Code::kInvalidArgument, fmt::format("{} is {}", path, KindText(found.kind)));
  if (shared && found.owner != ::geteuid()) {
    return Fail(
        Code::kPermission,
        fmt::format("{} belongs to user {}, in a directory where others can write; it was not changed. "
                    "Name a file elsewhere",
                    path, found.owner));
  }
  if (shared && found.links > 1) {
    return Fail(
        Code::kPermission,
        fmt::format("{} has {} names, and is in a directory where others can write; it was not changed. "
                    "Name a file elsewhere",
                    path, found.links));
  }
  return {};
}

Result<OutputPlace> FindPlace(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  OutputPlace place{.directory = UniqueFd(),
                    .name = slash == std::string::npos ? path : path.substr(slash + 1),
                    .found = std::nullopt};
  if (place.name.empty() || place.name == "." || place.name == ".." || path.find('\0') != std::string::npos)
    return Fail(Code::kInvalidArgument, fmt::format("'{}' does not name a file", path));
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  // O_PATH, because the directory may be accessible but not readable.
  place.directory = UniqueFd(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat st{};
  if (!place.directory.valid() || ::fstat(place.directory.get(), &st) != 0) return FailErrno(errno, path);
  place.shared = (st.st_mode & (S_ISVTX | S_IWOTH)) != 0;
  if (::fstatat(place.directory.get(), place.name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
    place.found = HostStat::From(st);
    ZENFS_RETURN_IF_ERROR(CheckFound(*place.found, place.shared, path));
  } else if (errno != ENOENT) {
    return FailErrno(errno, path);
  }
  return place;
}

// The descriptor, or nothing if the name was taken or freed meanwhile.
Result<UniqueFd> TryOpen(const OutputPlace& place, int flags, const std::string& path) {
  // O_NONBLOCK: if a pipe has taken the name since, its other end is not waited for.
  flags |= O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (place.found ? 0 : O_CREAT | O_EXCL);
  UniqueFd fd =
      UniqueFd::Opened([&] { return ::openat(place.directory.get(), place.name.c_str(), flags, 0600); });
  if (!fd.valid()) {
    if (errno == (place.found ? ENOENT : EEXIST)) return UniqueFd();
    return FailErrno(errno, fmt::format("{} can't be written", path));
  }
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) return FailErrno(errno, path);
  ZENFS_RETURN_IF_ERROR(CheckFound(HostStat::From(st), place.shared, path));
  return fd;
}

}  // namespace

Result<UniqueFd> OpenExistingOutput(const std::string& path) {
  ZENFS_ASSIGN_OR_RETURN(const OutputPlace place, FindPlace(path));
  if (!place.found) return UniqueFd();
  SyncPoint::Reach("OpenExistingOutput:found");
  return TryOpen(place, 0, path);
}

Result<UniqueFd> OpenOutput(const std::string& path, OutputUse use) {
  for (int i = 0; i < kTries; ++i) {
    ZENFS_ASSIGN_OR_RETURN(const OutputPlace place, FindPlace(path));
    ZENFS_ASSIGN_OR_RETURN(UniqueFd fd, TryOpen(place, use == OutputUse::kAppend ? O_APPEND : 0, path));
    if (fd.valid()) return fd;
  }
  return Fail(Code::kBusy, fmt::format("{} is made and removed by another program", path));
}

Result<NewOutput> NewOutput::Begin(const std::string& path, Place place, mode_t mode) {
  ZENFS_ASSIGN_OR_RETURN(OutputPlace at, FindPlace(path));
  if (place == Place::kNew && at.found)
    return Fail(Code::kExists, fmt::format("{} exists already; it was not changed", path));
  NewOutput output;
  output.path_ = path;
  output.place_ = place;
  output.replaced_ = at.found;
  output.directory_ = std::move(at.directory);
  output.name_ = std::move(at.name);
  Random random(RandomSeed());
  for (int i = 0; i < kTries; ++i) {
    const std::string name = fmt::format("{}.{:08x}", output.name_.substr(0, kStem), random.Next() >> 32);
    output.fd_ = UniqueFd::Opened([&] {
      constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
      return ::openat(output.directory_.get(), name.c_str(), kFlags, mode);
    });
    if (output.fd_.valid()) {
      output.temporary_ = name;
      return output;
    }
    if (errno != EEXIST) break;
  }
  return FailErrno(errno, fmt::format("create {}", path));
}

NewOutput::~NewOutput() {
  if (!temporary_.empty()) ::unlinkat(directory_.get(), temporary_.c_str(), 0);
}

NewOutput::NewOutput(NewOutput&& other) noexcept
    : path_(std::move(other.path_)),
      place_(other.place_),
      replaced_(other.replaced_),
      directory_(std::move(other.directory_)),
      name_(std::move(other.name_)),
      temporary_(std::exchange(other.temporary_, std::string())),
      fd_(std::move(other.fd_)) {}

Status NewOutput::KeepModeAndOwner() {
  if (!replaced_) return {};
  // Before the mode: a change of the owner clears its setuid bits. Only root can do it.
  if (replaced_->owner != ::geteuid()) static_cast<void>(!::fchown(fd_.get(), replaced_->owner, -1U));
  if (::fchmod(fd_.get(), replaced_->mode & 0777) == 0) return {};
  return FailErrno(errno, fmt::format("set the permissions of {}", path_));
}

Status NewOutput::Append(ByteView bytes) {
  const NoFileSizeSignal no_signal;
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return FailErrno(n < 0 ? errno : EIO, fmt::format("{} can't be written", path_));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Status NewOutput::Publish() {
  if (::fsync(fd_.get()) != 0) return FailErrno(errno, fmt::format("write {}", path_));
  const int directory = directory_.get();
  const char* const from = temporary_.c_str();
  int result = -1;
  if (place_ == Place::kReplace) {
    result = ::renameat(directory, from, directory, name_.c_str());
  } else {
    // Another process may have made a file of this name meanwhile.
    result = ::renameat2(directory, from, directory, name_.c_str(), RENAME_NOREPLACE);
    if (result != 0 && errno == EINVAL) result = ::renameat(directory, from, directory, name_.c_str());
  }
  if (result != 0) return FailErrno(errno, fmt::format("give the new file its name, {}", path_));
  temporary_.clear();
  // The directory may not be readable, and some network file systems can't sync one: then only a crash of the host can
  // take the name back.
  const UniqueFd readable(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (readable.valid() && ::fsync(readable.get()) != 0 && errno != EINVAL)
    return FailErrno(errno, fmt::format("make the name {} durable", path_));
  return {};
}

}  // namespace zenfs
