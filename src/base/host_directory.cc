#include "base/host_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <memory>
#include <system_error>

#include "base/shared_memory.h"
#include "base/sync_point.h"

namespace zenfs {
namespace {

constexpr int kStep = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kListing = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kAttempts = 10;  // tries to create a name that another program creates again after its removal

std::atomic<int> without_openat2{0};

// Returns an invalid descriptor and sets errno if the kernel lacks openat2 or refuses the path.
UniqueFd OpenBeneath(int directory, const std::string& relative) {
  struct open_how how{};
  how.flags = kStep;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, directory, relative.c_str(), &how, sizeof how)));
}

}  // namespace

Error MissingError(std::string_view what, const std::string& path) {
  char target[PATH_MAX];
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
  if (length <= 0) return ErrnoError(ENOENT, fmt::format("{}{}", what, path));
  return Error(Code::kNotFound,
               fmt::format("{}{}: the symbolic link leads to {}, which does not exist", what, path,
                           std::string_view(target, static_cast<std::size_t>(length))));
}

namespace {

Result<UniqueFd> OpenDirectory(const std::string& path, int access) {
  // Opened() prevents a fork() before the registration: a backup locks this descriptor.
  UniqueFd fd = UniqueFd::Opened([&] { return ::open(path.c_str(), access | O_DIRECTORY | O_CLOEXEC); });
  const int error = errno;
  struct stat link{};
  if (!fd.valid() && error == ENOENT && ::lstat(path.c_str(), &link) == 0)
    return Fail(MissingError("", path));
  errno = error;
  if (!fd.valid()) return FailErrno(errno, fmt::format("{} could not be opened", path));
  return fd;
}

Result<HostStat> StatAt(int directory, const std::string& name, const std::string& path) {
  struct stat st{};
  if (::fstatat(directory, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) return HostStat::From(st);
  if (errno == ENOENT) return HostStat{};
  return FailErrno(errno, path);
}

// The error for an entry that should be a directory.
Error NotADirectoryError(int directory, const std::string& name, const std::string& path) {
  const Result<HostStat> stat = StatAt(directory, name, path);
  const bool link = stat && stat->kind == HostStat::Kind::kSymlink;
  return {Code::kNotADirectory, link ? fmt::format("{} is a symbolic link, which is not followed", path)
                                     : fmt::format("{} is not a directory", path)};
}

// Opens `relative` below `top`, whose descriptor is `directory`, one component at a time.
Result<UniqueFd> WalkBelow(const HostDirectory& top, int directory, const std::string& relative) {
  UniqueFd at;
  for (std::size_t begin = 0; begin < relative.size();) {
    const std::size_t end = std::min(relative.find('/', begin), relative.size());
    const std::string name = relative.substr(begin, end - begin);
    UniqueFd next(::openat(directory, name.c_str(), kStep));
    if (!next.valid()) {
      const int error = errno;
      const std::string path = top.PathOf(std::string_view(relative).substr(0, end));
      if (error == ENOTDIR || error == ELOOP) return Fail(NotADirectoryError(directory, name, path));
      return FailErrno(error, path);
    }
    at = std::move(next);
    directory = at.get();
    begin = end + 1;
  }
  return at;
}

bool IsMissing(const Error& error) { return error.code() == Code::kNotFound; }

// Sets the exact mode, whatever the umask.
Status SetMode(int fd, mode_t mode, mode_t made_with, const std::string& path) {
  if (mode == made_with || ::fchmod(fd, mode) == 0) return {};
  return FailErrno(errno, fmt::format("the mode of {} could not be set to {:o}", path, mode));
}

// Of a directory that was just made with HostDirectory::kDirectoryMode, if it is still the one that has the name.
Status SetModeOfMade(int fd, mode_t mode, const std::string& path) {
  struct stat st{};
  if (::fstat(fd, &st) != 0) return FailErrno(errno, path);
  if (st.st_uid == ::geteuid()) return SetMode(fd, mode, HostDirectory::kDirectoryMode, path);
  return Fail(Code::kPermission, fmt::format("{} was replaced by user {}", path, st.st_uid));
}

Status SetModeOfDirectory(int parent, const std::string& name, mode_t mode, const std::string& path) {
  if (mode == HostDirectory::kDirectoryMode) return {};
  const UniqueFd fd(::openat(parent, name.c_str(), kListing));
  if (!fd.valid()) return FailErrno(errno, path);
  return SetModeOfMade(fd.get(), mode, path);
}

Status CheckOwn(const HostDirectory& directory) {
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, directory.StatSelf());
  if (IsOwnDirectory(stat)) return {};
  return Fail(Code::kPermission,
              fmt::format("{} belongs to another user or is writable by all; give it to root or the user of "
                          "this process, with mode 0755",
                          directory.path()));
}

}  // namespace

bool IsOwnDirectory(const HostStat& stat) {
  if (stat.kind != HostStat::Kind::kDirectory || !IsTrustedOwner(stat.owner, {})) return false;
  return (stat.mode & S_IWOTH) == 0 || (stat.mode & S_ISVTX) != 0;
}

bool IsInnerPath(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) return false;
  for (;;) {
    const std::string_view part = path.substr(0, path.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    if (part.size() == path.size()) return true;
    path.remove_prefix(part.size() + 1);
  }
}

bool IsUnfitName(const Error& error) {
  return error.os_errno() == ENAMETOOLONG || error.os_errno() == EINVAL || error.os_errno() == EILSEQ;
}

std::string UnfitReason(const Error& error) { return std::generic_category().message(error.os_errno()); }

HostDirectory::WithoutOpenat2ForTests::WithoutOpenat2ForTests() { ++without_openat2; }
HostDirectory::WithoutOpenat2ForTests::~WithoutOpenat2ForTests() { --without_openat2; }

// --- opening ---

Result<HostDirectory> HostDirectory::Open(const std::string& path) {
  ZENFS_ASSIGN_OR_RETURN(UniqueFd fd, OpenDirectory(path, O_RDONLY));
  return HostDirectory(std::move(fd), path);
}

Result<HostDirectory> HostDirectory::OpenOrMake(const std::string& path, mode_t mode) {
  Result<HostDirectory> opened = Open(path);
  if (opened || !IsMissing(opened.error())) return opened;
  std::string name;
  const auto parent = OpenParentOf(path.substr(0, path.find_last_not_of('/') + 1), name);
  if (!parent) return Fail(parent.error().With(fmt::format("{} could not be made", path)));
  const int at = parent->fd_.get();
  const bool made = ::mkdirat(at, name.c_str(), kDirectoryMode) == 0;
  if (!made && errno != EEXIST) return FailErrno(errno, fmt::format("{} could not be made", path));
  SyncPoint::Reach("HostDirectory::OpenOrMake:made");
  if (!made) return Open(path);
  // Another program may have taken the name since, for a link to a directory of somebody else.
  UniqueFd fd = UniqueFd::Opened([&] { return ::openat(at, name.c_str(), kListing); });
  if (!fd.valid() && (errno == ENOTDIR || errno == ELOOP)) return Fail(NotADirectoryError(at, name, path));
  if (!fd.valid()) return FailErrno(errno, fmt::format("{} could not be opened", path));
  ZENFS_RETURN_IF_ERROR(SetModeOfMade(fd.get(), mode, path));
  return HostDirectory(std::move(fd), path);
}

Result<HostDirectory> HostDirectory::OpenParentOf(const std::string& path, std::string& name) {
  const std::size_t slash = path.rfind('/');
  name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (!IsInnerPath(name)) return Fail(Code::kInvalidArgument, fmt::format("{} does not name a file", path));
  const std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  // O_PATH, because the directory may be accessible but not readable.
  ZENFS_ASSIGN_OR_RETURN(UniqueFd fd, OpenDirectory(parent, O_PATH));
  return HostDirectory(std::move(fd), parent);
}

Result<HostDirectory> HostDirectory::OpenTrusted(const std::string& path) {
  ZENFS_ASSIGN_OR_RETURN(UniqueFd fd, OpenDirectory("/", O_PATH));
  HostDirectory root(std::move(fd), "/");
  ZENFS_RETURN_IF_ERROR(CheckOwn(root));
  if (path == "/") return root;
  if (!path.starts_with('/')) return Fail(Code::kInvalidArgument, fmt::format("{} is not absolute", path));
  return root.EnterTrusted(path.substr(1));
}

Result<HostDirectory> HostDirectory::EnterTrusted(const std::string& relative, std::optional<mode_t> make,
                                                  std::vector<std::string>* made) const {
  if (!IsInnerPath(relative)) {
    return Fail(Code::kInvalidArgument, fmt::format("'{}' is not a path below {}", relative, path_));
  }
  std::optional<HostDirectory> entered;
  for (std::size_t begin = 0; begin < relative.size();) {
    const std::size_t end = std::min(relative.find('/', begin), relative.size());
    const HostDirectory& at = entered ? *entered : *this;
    ZENFS_ASSIGN_OR_RETURN(HostDirectory next, at.Enter(relative.substr(begin, end - begin), make, made));
    ZENFS_RETURN_IF_ERROR(CheckOwn(next));
    entered.emplace(std::move(next));
    begin = end + 1;
  }
  return *std::move(entered);
}

Result<HostDirectory> HostDirectory::Enter(const std::string& name, std::optional<mode_t> make,
                                           std::vector<std::string>* made) const {
  const std::string path = PathOf(name);
  UniqueFd fd(::openat(fd_.get(), name.c_str(), kStep));
  if (!fd.valid() && errno == ENOENT && make) {
    const bool is_new = ::mkdirat(fd_.get(), name.c_str(), kDirectoryMode) == 0;
    if (!is_new && errno != EEXIST) return FailErrno(errno, fmt::format("{} could not be made", path));
    if (is_new && made != nullptr) made->push_back(path);
    if (is_new) ZENFS_RETURN_IF_ERROR(SetModeOfDirectory(fd_.get(), name, *make, path));
    fd = UniqueFd(::openat(fd_.get(), name.c_str(), kStep));
  }
  if (fd.valid()) return HostDirectory(std::move(fd), path);
  if (errno == ENOTDIR || errno == ELOOP) return Fail(NotADirectoryError(fd_.get(), name, path));
  return FailErrno(errno, path);
}

Result<UniqueFd> HostDirectory::OpenBelow(const std::string& relative) const {
  if (without_openat2 == 0) {
    UniqueFd fd = OpenBeneath(fd_.get(), relative);
    if (fd.valid()) return fd;
  }
  // The kernel or its seccomp filter may lack openat2 (ENOSYS, EPERM). Any other error occurs again in the walk, which
  // names the component.
  return WalkBelow(*this, fd_.get(), relative);
}

Result<HostDirectory::Parent> HostDirectory::ParentOf(const std::string& relative) const {
  if (!IsInnerPath(relative)) {
    return Fail(Code::kInvalidArgument, fmt::format("'{}' is not a path below {}", relative, path_));
  }
  // The kernel's limit for the path of one call. It also bounds a walk into an extremely deep tree.
  if (relative.size() >= PATH_MAX) return FailErrno(ENAMETOOLONG, PathOf(relative.substr(0, 100)) + "...");
  const std::size_t slash = relative.rfind('/');
  if (slash == std::string::npos) return Parent{.opened = UniqueFd(), .fd = fd_.get(), .name = relative};
  ZENFS_ASSIGN_OR_RETURN(UniqueFd opened, OpenBelow(relative.substr(0, slash)));
  const int fd = opened.get();
  return Parent{.opened = std::move(opened), .fd = fd, .name = relative.substr(slash + 1)};
}

Result<UniqueFd> HostDirectory::OpenForListing(const std::string& relative) const {
  UniqueFd fd;
  if (relative.empty()) {
    fd = UniqueFd(::openat(fd_.get(), ".", kListing));
  } else {
    ZENFS_ASSIGN_OR_RETURN(const Parent parent, ParentOf(relative));
    fd = UniqueFd(::openat(parent.fd, parent.name.c_str(), kListing));
    if (!fd.valid() && (errno == ENOTDIR || errno == ELOOP)) {
      return Fail(NotADirectoryError(parent.fd, parent.name, PathOf(relative)));
    }
  }
  if (!fd.valid()) return FailErrno(errno, PathOf(relative));
  return fd;
}

// --- looking ---

std::string HostDirectory::PathOf(std::string_view relative) const {
  if (relative.empty()) return path_;
  if (path_ == ".") return std::string(relative);
  return fmt::format("{}{}{}", path_, path_.ends_with('/') ? "" : "/", relative);
}

Status HostDirectory::CheckStillNamed() const {
  struct stat held{};
  struct stat named{};
  if (::fstat(fd_.get(), &held) != 0) return FailErrno(errno, path_);
  const bool found = ::stat(path_.c_str(), &named) == 0;
  if (found && held.st_dev == named.st_dev && held.st_ino == named.st_ino) return {};
  return Fail(Code::kNotFound, fmt::format("{} was moved or replaced by another program", path_));
}

Result<HostStat> HostDirectory::StatSelf() const {
  struct stat st{};
  if (::fstat(fd_.get(), &st) != 0) return FailErrno(errno, path_);
  return HostStat::From(st);
}

Result<HostStat> HostDirectory::Stat(const std::string& relative) const {
  const Result<Parent> parent = ParentOf(relative);
  if (!parent) return IsMissing(parent.error()) ? Result<HostStat>(HostStat{}) : Fail(parent.error());
  return StatAt(parent->fd, parent->name, PathOf(relative));
}

Result<std::vector<std::string>> HostDirectory::List(const std::string& relative) const {
  ZENFS_ASSIGN_OR_RETURN(const UniqueFd fd, OpenForListing(relative));
  const int own = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);  // closedir closes it
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(own < 0 ? nullptr : ::fdopendir(own), ::closedir);
  if (dir == nullptr) {
    const int error = errno;
    if (own >= 0) ::close(own);
    return FailErrno(error, fmt::format("{} could not be listed", PathOf(relative)));
  }
  std::vector<std::string> names;
  errno = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): only this thread uses the stream
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return FailErrno(errno, fmt::format("{} could not be listed", PathOf(relative)));
  std::sort(names.begin(), names.end());
  return names;
}

// --- files ---

Result<HostFile> HostDirectory::OpenForRead(const std::string& relative, Access access) const {
  const int flags = access == Access::kRead ? O_RDONLY : O_RDWR | O_APPEND;
  const std::string path = PathOf(relative);
  const auto refuse = [&](const HostStat& stat) {
    const bool link = stat.kind == HostStat::Kind::kSymlink;
    return Fail(Code::kInvalidArgument, fmt::format("{} is {}, not a regular file", path,
                                                    link ? "a symbolic link" : "a directory or device"));
  };
  ZENFS_ASSIGN_OR_RETURN(const Parent parent, ParentOf(relative));
  // Opening a device may have side effects, so check the kind first.
  ZENFS_ASSIGN_OR_RETURN(const HostStat before, StatAt(parent.fd, parent.name, path));
  if (before.kind != HostStat::Kind::kFile && before.kind != HostStat::Kind::kMissing) return refuse(before);
  // O_NONBLOCK: if a pipe has taken the name since, open must not wait for a writer.
  // Opened() prevents a fork() before the registration: the file may be locked.
  UniqueFd fd = UniqueFd::Opened(
      [&] { return ::openat(parent.fd, parent.name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); });
  if (!fd.valid()) return FailErrno(errno, fmt::format("{} could not be opened", path));
  HostFile file(std::move(fd), path);
  ZENFS_ASSIGN_OR_RETURN(const HostStat opened, file.Stat());
  if (opened.kind != HostStat::Kind::kFile) return refuse(opened);
  (void)::posix_fadvise(file.fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);  // only a hint
  return file;
}

Result<HostFile> HostDirectory::CreateNew(const std::string& relative, mode_t mode) const {
  const std::string path = PathOf(relative);
  ZENFS_ASSIGN_OR_RETURN(const Parent parent, ParentOf(relative));
  // O_EXCL: fails for an existing file or link.
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  UniqueFd fd(::openat(parent.fd, parent.name.c_str(), kFlags, kFileMode));
  if (!fd.valid()) return FailErrno(errno, fmt::format("{} could not be created", path));
  ZENFS_RETURN_IF_ERROR(SetMode(fd.get(), mode, kFileMode, path));
  return HostFile(std::move(fd), path);
}

Result<HostFile> HostDirectory::Create(const std::string& relative, mode_t mode) const {
  for (int attempt = 1;; ++attempt) {
    Result<HostFile> file = CreateNew(relative, mode);
    if (file || file.error().code() != Code::kExists || attempt == kAttempts) return file;
    ZENFS_RETURN_IF_ERROR(RemoveFile(relative));
  }
}

Result<HostFile> HostDirectory::Replace(const std::string& relative, const std::string& temporary,
                                        mode_t mode, const std::function<Status(HostFile&)>& write) const {
  ZENFS_ASSIGN_OR_RETURN(HostFile file, Create(temporary, mode));
  ZENFS_RETURN_IF_ERROR(write(file));
  ZENFS_RETURN_IF_ERROR(file.Sync());
  ZENFS_RETURN_IF_ERROR(Rename(temporary, relative));
  const std::size_t slash = relative.rfind('/');
  ZENFS_RETURN_IF_ERROR(Sync(slash == std::string::npos ? "" : relative.substr(0, slash)));
  file.path_ = PathOf(relative);
  return file;
}

// --- names ---

Status HostDirectory::MakeDirectory(const std::string& relative, mode_t mode) const {
  const std::string path = PathOf(relative);
  ZENFS_ASSIGN_OR_RETURN(const Parent parent, ParentOf(relative));
  const bool made = ::mkdirat(parent.fd, parent.name.c_str(), kDirectoryMode) == 0;
  if (!made) {
    if (errno != EEXIST) return FailErrno(errno, fmt::format("{} could not be made", path));
    ZENFS_ASSIGN_OR_RETURN(const HostStat stat, StatAt(parent.fd, parent.name, path));
    if (stat.kind == HostStat::Kind::kDirectory) return {};
    return Fail(NotADirectoryError(parent.fd, parent.name, path));
  }
  return SetModeOfDirectory(parent.fd, parent.name, mode, path);
}

Status HostDirectory::Rename(const std::string& from, const std::string& to) const {
  return RenameTo(from, *this, to);
}

Status HostDirectory::RenameTo(const std::string& from, const HostDirectory& target,
                               const std::string& to) const {
  ZENFS_ASSIGN_OR_RETURN(const Parent old_parent, ParentOf(from));
  ZENFS_ASSIGN_OR_RETURN(const Parent new_parent, target.ParentOf(to));
  if (::renameat(old_parent.fd, old_parent.name.c_str(), new_parent.fd, new_parent.name.c_str()) == 0)
    return {};
  return FailErrno(errno, fmt::format("{} could not be renamed to {}", PathOf(from), target.PathOf(to)));
}

Status HostDirectory::Link(const std::string& existing, const std::string& new_name) const {
  return LinkTo(existing, *this, new_name);
}

Status HostDirectory::LinkTo(const std::string& existing, const HostDirectory& target,
                             const std::string& new_name) const {
  ZENFS_ASSIGN_OR_RETURN(const Parent old_parent, ParentOf(existing));
  ZENFS_ASSIGN_OR_RETURN(const Parent new_parent, target.ParentOf(new_name));
  if (::linkat(old_parent.fd, old_parent.name.c_str(), new_parent.fd, new_parent.name.c_str(), 0) == 0)
    return {};
  return FailErrno(errno,
                   fmt::format("{} could not be linked as {}", PathOf(existing), target.PathOf(new_name)));
}

Status HostDirectory::RemoveFile(const std::string& relative) const { return Remove(relative, 0); }

Status HostDirectory::RemoveDirectory(const std::string& relative) const {
  return Remove(relative, AT_REMOVEDIR);
}

Status HostDirectory::Remove(const std::string& relative, int flags) const {
  const Result<Parent> parent = ParentOf(relative);
  if (!parent) return IsMissing(parent.error()) ? Status() : Fail(parent.error());
  if (::unlinkat(parent->fd, parent->name.c_str(), flags) == 0 || errno == ENOENT) return {};
  return FailErrno(errno, fmt::format("{} could not be removed", PathOf(relative)));
}

Status HostDirectory::Sync(const std::string& relative) const {
  ZENFS_ASSIGN_OR_RETURN(const UniqueFd fd, OpenForListing(relative));
  // Some network file systems can't sync directories and return EINVAL.
  if (::fsync(fd.get()) != 0 && errno != EINVAL) {
    return FailErrno(errno, fmt::format("{} could not be synced", PathOf(relative)));
  }
  return {};
}

}  // namespace zenfs
