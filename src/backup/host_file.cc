#include "backup/host_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace zenfs {
namespace {

constexpr mode_t kFileMode = 0666;  // less the umask
constexpr mode_t kDirectoryMode = 0777;

std::string DirectoryOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

HostStat FromStat(const struct stat& st) {
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
  return out;
}

Result<HostStat> StatWith(int (*call)(const char*, struct stat*), const std::string& path) {
  struct stat st{};
  if (call(path.c_str(), &st) == 0) return FromStat(st);
  if (errno == ENOENT) return HostStat{};
  return FailErrno(errno, path);
}

}  // namespace

Result<HostFile> HostFile::OpenForRead(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for somebody to write to it.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid()) return FailErrno(errno, fmt::format("{} could not be opened", path));
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) return FailErrno(errno, path);
  if (!S_ISREG(st.st_mode)) return Fail(Code::kInvalidArgument, fmt::format("{}: not a regular file", path));
  (void)::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);  // advice: a refusal changes nothing
  return HostFile(std::move(fd), path);
}

Result<HostFile> HostFile::Create(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  if (!fd.valid()) return FailErrno(errno, fmt::format("{} could not be created", path));
  return HostFile(std::move(fd), path);
}

Result<HostFile> HostFile::CreateNew(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  if (!fd.valid()) return FailErrno(errno, fmt::format("{} could not be created", path));
  return HostFile(std::move(fd), path);
}

Result<HostFile> HostFile::OpenForAppend(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return FailErrno(errno, fmt::format("{} could not be opened for writing", path));
  return HostFile(std::move(fd), path);
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

Status HostFile::Append(ByteView bytes) {
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

void HostFile::DropCache() const { (void)::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED); }

Result<HostStat> StatHost(const std::string& path) { return StatWith(::lstat, path); }
Result<HostStat> StatHostTarget(const std::string& path) { return StatWith(::stat, path); }

Result<std::vector<std::string>> ListHost(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(directory.c_str()), ::closedir);
  if (dir == nullptr) return FailErrno(errno, fmt::format("{} could not be listed", directory));
  std::vector<std::string> names;
  errno = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this thread's
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return FailErrno(errno, fmt::format("{} could not be listed", directory));
  std::sort(names.begin(), names.end());
  return names;
}

Status MakeHostDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), kDirectoryMode) == 0) return {};
  if (errno != EEXIST) return FailErrno(errno, fmt::format("{} could not be made", path));
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, StatHost(path));
  if (stat.kind == HostStat::Kind::kDirectory) return {};
  return Fail(Code::kNotADirectory, fmt::format("{} is in the way: a directory is needed there", path));
}

Status RenameHost(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return FailErrno(errno, fmt::format("{} could not get its name", to));
}

Status RemoveHostFile(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return FailErrno(errno, fmt::format("{} could not be removed", path));
}

Status RemoveHostDirectory(const std::string& path) {
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return {};
  return FailErrno(errno, fmt::format("{} could not be removed", path));
}

Status SyncHostDirectory(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return FailErrno(errno, path);
  // Some network file systems don't sync directories, and say EINVAL.
  if (::fsync(fd.get()) != 0 && errno != EINVAL) {
    return FailErrno(errno, fmt::format("{} could not be synced", path));
  }
  return {};
}

Status ReplaceHostFile(const std::string& path, const std::string& temporary, std::string_view text) {
  ZENFS_ASSIGN_OR_RETURN(HostFile file, HostFile::Create(temporary));
  ZENFS_RETURN_IF_ERROR(file.Append(AsBytes(text)));
  ZENFS_RETURN_IF_ERROR(file.Sync());
  ZENFS_RETURN_IF_ERROR(RenameHost(temporary, path));
  return SyncHostDirectory(DirectoryOf(path));
}

Result<std::string> ReadHostFile(const std::string& path, std::uint64_t max_bytes) {
  ZENFS_ASSIGN_OR_RETURN(const HostFile file, HostFile::OpenForRead(path));
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, StatHost(path));
  if (stat.size > max_bytes) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{} has {} bytes; more than {} can't be right", path, stat.size, max_bytes));
  }
  std::string text(stat.size, '\0');
  ZENFS_ASSIGN_OR_RETURN(const std::size_t n, file.Read(0, std::as_writable_bytes(std::span(text))));
  text.resize(n);
  return text;
}

}  // namespace zenfs
