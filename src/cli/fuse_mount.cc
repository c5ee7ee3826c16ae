#include "cli/fuse_mount.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fuse3/fuse_lowlevel.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <map>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/caught.h"
#include "base/mutex.h"
#include "base/unique_fd.h"
#include "cli/volume_inodes.h"
#include "model/edit.h"

namespace zenfs {

// --- before the mount ---

namespace {

// True if something is mounted on the directory: it is on another file system than its parent, or it is the root.
bool HasMount(const std::string& directory, const struct stat& found) {
  struct stat parent = {};
  if (::stat((directory + "/..").c_str(), &parent) != 0) return false;
  return parent.st_dev != found.st_dev || parent.st_ino == found.st_ino;
}

Error MountPointError(int os_errno, const std::string& path) {
  Error error = ErrnoError(os_errno, path);
  if (os_errno == ENOENT) return error.Advise("make the directory with mkdir");
  if (os_errno == ENOTCONN) {
    return Error(Code::kBusy, fmt::format("{}: a mount whose program has ended is left there", path))
        .Advise(fmt::format("fusermount3 -u {} removes it", path));
  }
  return error;
}

}  // namespace

Result<std::string> CheckMountPoint(const std::string& path) {
  std::error_code error;
  std::string directory = std::filesystem::canonical(path, error).string();
  if (error) return Fail(MountPointError(error.value(), path));
  struct stat found = {};
  if (::stat(directory.c_str(), &found) != 0) return Fail(MountPointError(errno, path));
  if (!S_ISDIR(found.st_mode))
    return Fail(Code::kNotADirectory,
                fmt::format("{}: is not a directory; a volume is mounted on an empty one", path));
  if (HasMount(directory, found)) {
    return Fail(Error(Code::kBusy, fmt::format("{}: a file system is mounted there already", path))
                    .Advise(fmt::format("fusermount3 -u {} unmounts one of zenfs mount", path)));
  }
  if (::access(directory.c_str(), W_OK) != 0) {
    return Fail(ErrnoError(errno, fmt::format("{}: the mount point must be writable", path))
                    .Advise("use a directory of your own"));
  }
  const bool empty = std::filesystem::is_empty(directory, error);
  if (error) return Fail(MountPointError(error.value(), path));
  if (!empty) {
    return Fail(
        Error(Code::kNotEmpty, fmt::format("{}: is not empty, and a mount would hide its entries", path))
            .Advise("use an empty directory"));
  }
  return directory;
}

Status CheckFuse() {
  const UniqueFd fuse(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (fuse.valid()) return {};
  Error error = ErrnoError(errno, "/dev/fuse");
  if (error.os_errno() == EACCES || error.os_errno() == EPERM)
    return Fail(error.Advise("this user, or this container, may not use FUSE"));
  return Fail(error.Advise(
      "this host has no FUSE: load it with modprobe fuse, or start the container with --device=/dev/fuse"));
}

namespace {

// --- what the kernel is told ---

// Seconds for which the kernel may use names and attributes without asking again: find and ls ask for each file just after the list that
// has it.
constexpr double kFresh = 1.0;
constexpr std::uint32_t kReadBytes = 128 << 10;  // suggested to programs: each of their reads is a request
constexpr blkcnt_t kSectorBytes = 512;           // of st_blocks
// In a list before its entries: "." and "..".
constexpr std::size_t kDotEntries = 2;

struct stat AttributesOf(const FileStat& stat) {
  struct stat out = {};
  out.st_ino = stat.id.value;
  out.st_mode = stat.is_directory ? S_IFDIR | 0555 : S_IFREG | 0444;
  out.st_nlink = stat.is_directory ? 1 : stat.links;  // 1: the number of directories in it is not known
  out.st_uid = ::getuid();
  out.st_gid = ::getgid();
  out.st_size = static_cast<off_t>(stat.size);
  out.st_blksize = kReadBytes;
  out.st_blocks = static_cast<blkcnt_t>(RoundUp(stat.size, kSectorBytes) / kSectorBytes);
  out.st_mtim.tv_sec = static_cast<time_t>(stat.mtime_seconds);
  out.st_ctim = out.st_atim = out.st_mtim;
  return out;
}

fuse_entry_param EntryOf(const FileStat& stat) {
  fuse_entry_param entry = {};
  entry.ino = stat.id.value;
  entry.attr = AttributesOf(stat);
  entry.attr_timeout = entry.entry_timeout = kFresh;
  return entry;
}

int ErrnoOf(const Error& error) {
  if (error.os_errno() == ESTALE) return ESTALE;
  switch (error.code()) {
    case Code::kNotFound: return ENOENT;
    case Code::kNotADirectory: return ENOTDIR;
    case Code::kIsADirectory: return EISDIR;
    case Code::kNoSpace: return ENOMEM;
    case Code::kPermission: return EACCES;
    default: return EIO;
  }
}

// --- requests ---

using Entries = std::vector<DirectoryEntry>;

class FuseRequests {
 public:
  FuseRequests(Volume& volume, FuseMount::Say say) : volume_(volume), inodes_(volume), say_(std::move(say)) {}

  static fuse_lowlevel_ops Operations();

  // Says it, unless it was said last: a device that fails would otherwise say so for each read.
  void Tell(const std::string& line) {
    {
      MutexLock lock(mutex_);
      if (line == told_) return;
      told_ = line;
    }
    say_(line);
  }

 private:
  static FuseRequests& Of(fuse_req_t request) {
    return *static_cast<FuseRequests*>(fuse_req_userdata(request));
  }
  // Answers with an error. That a name is missing, or stale, is an answer like any other.
  void Refuse(fuse_req_t request, const Error& error, bool told) {
    const int code = ErrnoOf(error);
    if (told || code == EIO || code == ENOMEM) {
      IgnoreError(Caught([&]() -> Status {  // without memory for the line there is still the answer
        Tell(error.ToString());
        return {};
      }));
    }
    fuse_reply_err(request, code);
  }

  static void Lookup(fuse_req_t request, fuse_ino_t parent, const char* name);
  static void Forget(fuse_req_t request, fuse_ino_t inode, std::uint64_t times);
  static void ForgetMany(fuse_req_t request, std::size_t count, fuse_forget_data* forgets);
  static void GetAttributes(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info);
  static void OpenDir(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info);
  static void ReadDir(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset,
                      fuse_file_info* info);
  static void ReleaseDir(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info);
  static void Open(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info);
  static void Read(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset,
                   fuse_file_info* info);
  static void Release(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info);
  static void StatFs(fuse_req_t request, fuse_ino_t inode);

  void CloseDirectory(std::uint64_t open) EXCLUDES(mutex_);
  // Fills `page` with entries of the list, from number `from` on, and returns their bytes. The kernel has each of them with it.
  std::size_t FillPage(fuse_req_t request, FileId directory, const Entries& entries, std::size_t from,
                       std::span<char> page);

  Volume& volume_;
  VolumeInodes inodes_;
  const FuseMount::Say say_;
  Mutex mutex_{LockRank::kLeaf};
  std::string told_ GUARDED_BY(mutex_);
  // The directories that programs have open, with their entries. The kernel sends one request of each at a time.
  std::map<std::uint64_t, std::shared_ptr<Entries>> directories_ GUARDED_BY(mutex_);
  std::uint64_t next_directory_ GUARDED_BY(mutex_) = 1;
};

void FuseRequests::Lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  FuseRequests& self = Of(request);
  const Result<FileStat> found = Caught([&]() -> Result<FileStat> {
    ZENFS_ASSIGN_OR_RETURN(const FileStat stat, self.inodes_.Find(FileId(parent), name));
    self.inodes_.Remember(FileId(parent), name, stat);
    return stat;
  });
  if (!found) return self.Refuse(request, found.error(), false);
  const fuse_entry_param entry = EntryOf(*found);
  // An interrupted request has given the kernel nothing.
  if (fuse_reply_entry(request, &entry) != 0) self.inodes_.Forget(found->id, 1);
}

void FuseRequests::Forget(fuse_req_t request, fuse_ino_t inode, std::uint64_t times) {
  Of(request).inodes_.Forget(FileId(inode), times);
  fuse_reply_none(request);
}

void FuseRequests::ForgetMany(fuse_req_t request, std::size_t count, fuse_forget_data* forgets) {
  for (const fuse_forget_data& forget : std::span(forgets, count))
    Of(request).inodes_.Forget(FileId(forget.ino), forget.nlookup);
  fuse_reply_none(request);
}

void FuseRequests::GetAttributes(fuse_req_t request, fuse_ino_t inode, fuse_file_info* /*info*/) {
  FuseRequests& self = Of(request);
  const Result<FileStat> stat = Caught([&] { return self.inodes_.Stat(FileId(inode)); });
  if (!stat) return self.Refuse(request, stat.error(), false);
  const struct stat attributes = AttributesOf(*stat);
  fuse_reply_attr(request, &attributes, kFresh);
}

void FuseRequests::OpenDir(fuse_req_t request, fuse_ino_t /*inode*/, fuse_file_info* info) {
  FuseRequests& self = Of(request);
  const Result<std::uint64_t> open = Caught([&]() -> Result<std::uint64_t> {
    auto entries = std::make_shared<Entries>();
    MutexLock lock(self.mutex_);
    self.directories_.emplace(self.next_directory_, std::move(entries));
    return self.next_directory_++;
  });
  if (!open) return self.Refuse(request, open.error(), false);
  info->fh = *open;
  if (fuse_reply_open(request, info) != 0) self.CloseDirectory(*open);
}

void FuseRequests::CloseDirectory(std::uint64_t open) {
  MutexLock lock(mutex_);
  directories_.erase(open);
}

// Lists the directory at its start, so that rewinddir shows new names.
void FuseRequests::ReadDir(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset,
                           fuse_file_info* info) {
  FuseRequests& self = Of(request);
  std::vector<char> page;
  const Status filled = Caught([&]() -> Status {
    std::shared_ptr<Entries> entries;
    {
      MutexLock lock(self.mutex_);
      entries = self.directories_.at(info->fh);
    }
    if (offset == 0) {
      ZENFS_ASSIGN_OR_RETURN(*entries, self.inodes_.List(FileId(inode)));
    }
    page.resize(size);
    page.resize(self.FillPage(request, FileId(inode), *entries, static_cast<std::size_t>(offset), page));
    return {};
  });
  if (!filled.ok()) return self.Refuse(request, filled.error(), false);
  fuse_reply_buf(request, page.data(), page.size());
}

std::size_t FuseRequests::FillPage(fuse_req_t request, FileId directory, const Entries& entries,
                                   std::size_t from, std::span<char> page) {
  std::size_t used = 0;
  for (std::size_t i = from; i < entries.size() + kDotEntries; ++i) {
    const bool dots = i < kDotEntries;
    const char* const name = i == 0 ? "." : i == 1 ? ".." : entries[i - kDotEntries].name.c_str();
    const FileStat stat =
        dots ? FileStat{.id = i == 0 ? directory : inodes_.ParentOf(directory), .is_directory = true}
             : entries[i - kDotEntries].stat;
    fuse_entry_param entry = EntryOf(stat);
    if (dots) entry.ino = 0;  // the kernel looks these up by itself
    const std::size_t bytes = fuse_add_direntry_plus(request, page.data() + used, page.size() - used, name,
                                                     &entry, static_cast<off_t>(i + 1));
    if (bytes > page.size() - used) break;
    used += bytes;
    if (!dots) inodes_.Remember(directory, name, stat);
  }
  return used;
}

void FuseRequests::ReleaseDir(fuse_req_t request, fuse_ino_t /*inode*/, fuse_file_info* info) {
  Of(request).CloseDirectory(info->fh);
  fuse_reply_err(request, 0);
}

void FuseRequests::Open(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  FuseRequests& self = Of(request);
  const Result<std::uint64_t> open = Caught([&] { return self.inodes_.Open(FileId(inode)); });
  if (!open) return self.Refuse(request, open.error(), false);
  info->fh = *open;
  info->direct_io = 1;
  info->noflush = 1;  // nothing is written when it is closed
  if (fuse_reply_open(request, info) != 0) self.inodes_.Close(*open);
}

void FuseRequests::Read(fuse_req_t request, fuse_ino_t /*inode*/, std::size_t size, off_t offset,
                        fuse_file_info* info) {
  FuseRequests& self = Of(request);
  AlignedBuffer bytes;
  const Result<std::size_t> read = Caught([&] {
    bytes = AlignedBuffer(size);
    return self.inodes_.Read(info->fh, static_cast<std::uint64_t>(offset), bytes.Whole().first(size));
  });
  if (!read) return self.Refuse(request, read.error(), true);
  fuse_reply_buf(request, reinterpret_cast<const char*>(bytes.data()), *read);
}

void FuseRequests::Release(fuse_req_t request, fuse_ino_t /*inode*/, fuse_file_info* info) {
  Of(request).inodes_.Close(info->fh);
  fuse_reply_err(request, 0);
}

// The sums of `zenfs df`.
void FuseRequests::StatFs(fuse_req_t request, fuse_ino_t /*inode*/) {
  FuseRequests& self = Of(request);
  const Result<SpaceReport> space = Caught([&]() -> Result<SpaceReport> {
    const SpaceReport report = self.volume_.Space();
    if (report.total == 0) ZENFS_RETURN_IF_ERROR(self.volume_.health());
    return report;
  });
  if (!space) return self.Refuse(request, space.error(), false);
  const std::uint32_t block = self.volume_.info().geometry.block_size;
  struct statvfs out = {};
  out.f_bsize = out.f_frsize = block;
  out.f_blocks = space->total / block;
  out.f_bfree = out.f_bavail = space->free / block;
  out.f_namemax = kMaxNameBytes;
  fuse_reply_statfs(request, &out);
}

fuse_lowlevel_ops FuseRequests::Operations() {
  fuse_lowlevel_ops operations = {};
  operations.lookup = Lookup;
  operations.forget = Forget;
  operations.forget_multi = ForgetMany;
  operations.getattr = GetAttributes;
  operations.opendir = OpenDir;
  operations.readdirplus =
      ReadDir;  // and no readdir: attributes cost nothing more here, and single lookups would
  operations.releasedir = ReleaseDir;
  operations.open = Open;
  operations.read = Read;
  operations.release = Release;
  operations.statfs = StatFs;
  return operations;
}

// --- messages of libfuse ---

// Gets the lines of libfuse, which has one function for the process. Null: nobody.
FuseRequests* lines_go_to = nullptr;
std::string* lines_of_mount = nullptr;

void TakeLine(fuse_log_level /*level*/, const char* format, va_list values) {
  char line[512];
  if (std::vsnprintf(line, sizeof(line), format, values) <= 0) return;
  if (lines_of_mount != nullptr) {
    *lines_of_mount += line;
  } else if (lines_go_to != nullptr) {
    std::string_view text = line;
    while (text.ends_with('\n')) text.remove_suffix(1);
    lines_go_to->Tell(std::string(text));
  }
}

// Keeps what libfuse, and fusermount3 on standard error, say about a mount that fails, so that the user gets one line.
class MountMessages {
 public:
  MountMessages()
      : file_(::memfd_create("messages", MFD_CLOEXEC)), kept_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
    lines_of_mount = &text_;
    if (file_.valid() && kept_.valid()) ::dup2(file_.get(), STDERR_FILENO);
  }
  ~MountMessages() { End(); }
  MountMessages(const MountMessages&) = delete;
  MountMessages& operator=(const MountMessages&) = delete;

  // All lines.
  std::string End() {
    lines_of_mount = nullptr;
    if (!file_.valid() || !kept_.valid()) return text_;
    ::dup2(kept_.get(), STDERR_FILENO);
    char more[4096];
    if (const ssize_t n = ::pread(file_.get(), more, sizeof(more), 0); n > 0)
      text_.append(more, static_cast<std::size_t>(n));
    file_ = UniqueFd();
    kept_ = UniqueFd();
    return text_;
  }

 private:
  std::string text_;
  UniqueFd file_;
  UniqueFd kept_;  // standard error
};

Error MountError(const std::string& mount_point, const std::string& messages) {
  const std::string_view first = std::string_view(messages).substr(0, messages.find('\n'));
  Error error(Code::kIo, fmt::format("{}: the host refuses the mount: {}", mount_point,
                                     first.empty() ? "no reason given" : first));
  if (messages.find("failed to exec") != std::string::npos)
    return error.Advise("install fusermount3 (Debian's package fuse3), or mount as root");
  if (messages.find("user_allow_other") != std::string::npos)
    return error.Advise(
        "leave --allow-other out, or have root add the line user_allow_other to /etc/fuse.conf");
  return error;
}

// For a value in a list of mount options.
std::string Escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == ',' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// --- the mount ---

class MountedByFuse final : public FuseMount {
 public:
  MountedByFuse(Volume& volume, Say say) : requests_(volume, std::move(say)) {}
  ~MountedByFuse() override {
    if (mounted_) ::fuse_session_unmount(session_);
    lines_go_to = nullptr;
    if (session_ == nullptr) return;
    fuse_remove_signal_handlers(session_);
    fuse_session_destroy(session_);
  }

  Status Mount(const std::string& device, const Options& options) {
    std::string flags =
        fmt::format("ro,nosuid,nodev,default_permissions,subtype=zenfs,fsname={}", Escaped(device));
    if (options.allow_other) flags += ",allow_other";
    std::string words[] = {"zenfs", "-o", flags};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data()};
    fuse_args parsed = FUSE_ARGS_INIT(3, arguments);
    const fuse_lowlevel_ops operations = FuseRequests::Operations();
    fuse_set_log_func(TakeLine);
    MountMessages messages;
    session_ = fuse_session_new(&parsed, &operations, sizeof(operations), &requests_);
    fuse_opt_free_args(&parsed);
    mounted_ = session_ != nullptr && fuse_set_signal_handlers(session_) == 0 &&
               fuse_session_mount(session_, options.mount_point.c_str()) == 0;
    const std::string text = messages.End();
    if (!mounted_) return Fail(MountError(options.mount_point, text));
    lines_go_to = &requests_;
    return {};
  }

  Status Serve() override {
    const int ended = fuse_session_loop_mt(session_, nullptr);
    if (ended < 0) return FailErrno(-ended, "requests of the kernel can't be read");
    return {};
  }

 private:
  FuseRequests requests_;
  fuse_session* session_ = nullptr;
  bool mounted_ = false;
};

}  // namespace

Result<std::unique_ptr<FuseMount>> FuseMount::Begin(Volume& volume, const Options& options, Say say) {
  auto mount = std::make_unique<MountedByFuse>(volume, std::move(say));
  ZENFS_RETURN_IF_ERROR(mount->Mount(volume.info().device_name, options));
  return mount;
}

}  // namespace zenfs
