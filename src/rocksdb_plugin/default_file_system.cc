#include "rocksdb_plugin/default_file_system.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/printable.h"
#include "rocksdb_plugin/mount_uri.h"
#include "rocksdb_plugin/print_line.h"
#include "rocksdb_plugin/random_access_file.h"
#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {

namespace {

#if ZENFS_ROCKSDB_HAS_READ_ASYNC
// A file of the host whose asynchronous reads end before they return: Poll can't tell handles of the host from those of the volume.
class HostRandomAccessFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  using FSRandomAccessFileOwnerWrapper::FSRandomAccessFileOwnerWrapper;

  IOStatus ReadAsync(FSReadRequest& req, const IOOptions& opts, ReadAsyncCallback cb, void* cb_arg,
                     void** io_handle, rocksdb::IOHandleDeleter* del_fn, IODebugContext* dbg) override {
    return FSRandomAccessFile::ReadAsync(req, opts, std::move(cb), cb_arg, io_handle, del_fn, dbg);
  }
};
#endif

std::atomic<bool> used{false};

IOStatus AcrossFileSystems(const std::string& from, const std::string& to) {
  return IOStatus::IOError(WhileDoing(fmt::format("renaming {} to", Printable(from)), to),
                           std::strerror(EXDEV));
}

bool IsHostDirectory(const std::string& path) {
  struct stat st{};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

bool IsOnHost(const std::string& path) {
  struct stat st{};
  return ::lstat(path.c_str(), &st) == 0;
}

// Flink has a RocksDB of its own. It copies the files of RocksDB's checkpoints by Java's means, which see the directory on the host.
// It copies what is there, so its checkpoint would be complete for Flink, and without data.
bool IsRocksDbOfFlink() {
  static const bool found =
      dlsym(RTLD_DEFAULT, "Java_org_rocksdb_FlinkCompactionFilter_createNewFlinkCompactionFilter0") !=
      nullptr;
  return found;
}

}  // namespace

// Syncs both sides of a directory.
class DefaultDirectory final : public rocksdb::FSDirectory {
 public:
  DefaultDirectory(DefaultFileSystem& owner, std::string path, std::unique_ptr<rocksdb::FSDirectory> host)
      : owner_(owner), path_(std::move(path)), host_(std::move(host)) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
    IOStatus synced = host_->Fsync(options, dbg);
    return synced.ok() ? owner_.SyncDirectory(path_) : synced;
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* dbg,
                               const rocksdb::DirFsyncOptions& dir_fsync_options) override {
    IOStatus synced = host_->FsyncWithDirOptions(options, dbg, dir_fsync_options);
    // A renamed directory may no longer have the path by which it was opened; what a rename does in the volume is durable on return.
    if (!synced.ok() || dir_fsync_options.reason == rocksdb::DirFsyncOptions::kDirRenamed) return synced;
    return owner_.SyncDirectory(path_);
  }
#if ZENFS_ROCKSDB_HAS_DIRECTORY_CLOSE
  IOStatus Close(const IOOptions& options, IODebugContext* dbg) override {
    return host_->Close(options, dbg);
  }
#endif

 private:
  DefaultFileSystem& owner_;
  const std::string path_;
  const std::unique_ptr<rocksdb::FSDirectory> host_;
};

bool DefaultFileSystem::WasUsed() { return used.load(std::memory_order_relaxed); }

// --- mounting ---

DefaultFileSystem::~DefaultFileSystem() {
  Process* const process = process_.load(std::memory_order_acquire);
  if (process != nullptr && process->id == ::getpid()) delete process;
}

DefaultFileSystem::Process& DefaultFileSystem::ThisProcess() {
  Process* found = process_.load(std::memory_order_acquire);
  while (found == nullptr || found->id != ::getpid()) {
    auto fresh = std::make_unique<Process>();
    if (process_.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel))
      return *fresh.release();
  }
  return *found;
}

DefaultFileSystem::Mounted* DefaultFileSystem::AlreadyMounted() const {
  const Process* const process = process_.load(std::memory_order_acquire);
  return process != nullptr && process->id == ::getpid() ? process->mounted.load(std::memory_order_acquire)
                                                         : nullptr;
}

Result<DefaultFileSystem::Mounted*> DefaultFileSystem::Mount() {
  if (Mounted* const mounted = AlreadyMounted()) return mounted;
  Process& process = ThisProcess();
  MutexLock lock(process.mutex);
  if (process.owned) return process.owned.get();
  Result<std::shared_ptr<Volume>> volume = VolumeOfUri(device_->uri);
  if (!volume) {
    const Error error = volume.error().code() == Code::kBusy
                            ? volume.error().Advise("to read beside it, add ?ro to the URI")
                            : volume.error();
    if (!told_.exchange(true)) PrintLine("ZENFS_DEFAULT_URI: " + error.ToString());
    return Fail(error);
  }
  process.owned = std::make_unique<Mounted>(std::make_shared<ZenFileSystem>(device_->uri, std::move(*volume)),
                                            device_->prefixes);
  process.mounted.store(process.owned.get(), std::memory_order_release);
  return process.owned.get();
}

const Error& DefaultFileSystem::NoDevice() {
  if (!told_.exchange(true)) PrintLine(device_.error().ToString());
  return device_.error();
}

bool DefaultFileSystem::StartsReads() const {
  const Mounted* const mounted = AlreadyMounted();
  return mounted != nullptr && mounted->files->volume()->StartsReads();
}

// --- who has a file ---

Result<DefaultFileSystem::Place> DefaultFileSystem::PlaceOf(const std::string& path) {
  used.store(true, std::memory_order_relaxed);
  if (!device_) return Fail(NoDevice());
  ZENFS_ASSIGN_OR_RETURN(const std::string absolute, PathOnHost(path));
  ZENFS_ASSIGN_OR_RETURN(const std::optional<Bound> bound, BoundAt(DirectoryOf(absolute)));
  if (!bound) return Place{host_.get(), path};
  Place place = PlaceIn(*bound, absolute);
  const Result<FileStat> stat = bound->files->volume()->Stat(place.path);
  if (stat && !stat->is_directory) return place;
  if (!stat && stat.error().code() != Code::kNotFound) return Fail(stat.error());
  return Place{host_.get(), path};
}

Result<std::optional<DefaultFileSystem::Bound>> DefaultFileSystem::BoundAt(const std::string& directory) {
  if (!device_->Covers(directory) || !BoundDirectories::HasMarker(directory)) return std::nullopt;
  ZENFS_ASSIGN_OR_RETURN(Mounted* const mounted, Mount());
  ZENFS_ASSIGN_OR_RETURN(std::optional<std::string> path, mounted->directories.Find(directory));
  if (!path) return std::nullopt;  // unbound meanwhile
  return Bound{mounted->files.get(), *std::move(path)};
}

DefaultFileSystem::Place DefaultFileSystem::PlaceIn(const Bound& bound, const std::string& absolute) {
  return {bound.files, bound.directory + absolute.substr(absolute.rfind('/')), /*in_volume=*/true};
}

Result<DefaultFileSystem::Place> DefaultFileSystem::PlaceForNew(const std::string& path, bool also_on_host) {
  used.store(true, std::memory_order_relaxed);
  if (!device_) return Fail(NoDevice());
  ZENFS_ASSIGN_OR_RETURN(const std::string absolute, PathOnHost(path));
  const std::string directory = DirectoryOf(absolute);
  if (!device_->Covers(directory)) {
    ZENFS_RETURN_IF_ERROR(device_->CheckPrefixes());
    if (!BoundDirectories::HasMarker(directory)) return Place{host_.get(), path};
    return Fail(
        Error(Code::kInvalidArgument,
              fmt::format("{}: its files are in a volume ({}), and it is not below ZENFS_DEFAULT_PREFIX",
                          directory, BoundDirectories::kMarker))
            .Advise("add its directory to ZENFS_DEFAULT_PREFIX"));
  }
  if (IsHostDirectory(absolute)) return Fail(Code::kIsADirectory, absolute);
  if (!also_on_host && IsOnHost(absolute)) {
    return Fail(Error(Code::kExists, fmt::format("{}: is a file of the host", absolute))
                    .Advise("remove it, or exclude its directory by ZENFS_DEFAULT_PREFIX"));
  }
  ZENFS_ASSIGN_OR_RETURN(Mounted* const mounted, Mount());
  ZENFS_ASSIGN_OR_RETURN(std::string bound, mounted->directories.Bind(directory));
  return PlaceIn({mounted->files.get(), std::move(bound)}, absolute);
}

template <typename Body>
IOStatus DefaultFileSystem::At(const std::string& path, std::string_view doing, Body&& body) {
  return Guarded([&] {
    const Result<Place> place = PlaceOf(path);
    return place ? body(*place) : ToIOStatus(place.error(), doing, path);
  });
}

template <typename Body>
IOStatus DefaultFileSystem::AtNew(const std::string& path, std::string_view doing, Body&& body) {
  return Guarded([&] {
    const Result<Place> place = PlaceForNew(path);
    return place ? body(*place) : ToWriteStatus(place.error(), doing, path);
  });
}

template <typename Body>
IOStatus DefaultFileSystem::AtDirectory(const std::string& path, std::string_view doing, Body&& body) {
  return Guarded([&] {
    used.store(true, std::memory_order_relaxed);
    if (!device_) return ToIOStatus(NoDevice(), doing, path);
    const Result<std::string> absolute = PathOnHost(path);
    return absolute ? body(*absolute) : ToIOStatus(absolute.error(), doing, path);
  });
}

// --- files ---

IOStatus DefaultFileSystem::NewSequentialFile(const std::string& fname, const FileOptions& file_opts,
                                              std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                              IODebugContext* dbg) {
  return At(fname, "opening for sequential reads", [&](const Place& place) {
    return place.files->NewSequentialFile(place.path, file_opts, result, dbg);
  });
}

IOStatus DefaultFileSystem::NewRandomAccessFile(const std::string& fname, const FileOptions& file_opts,
                                                std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                                IODebugContext* dbg) {
  return At(fname, "opening for random reads", [&](const Place& place) {
    IOStatus opened = place.files->NewRandomAccessFile(place.path, file_opts, result, dbg);
#if ZENFS_ROCKSDB_HAS_READ_ASYNC
    if (opened.ok() && !place.in_volume) *result = std::make_unique<HostRandomAccessFile>(std::move(*result));
#endif
    return opened;
  });
}

IOStatus DefaultFileSystem::NewWritableFile(const std::string& fname, const FileOptions& file_opts,
                                            std::unique_ptr<rocksdb::FSWritableFile>* result,
                                            IODebugContext* dbg) {
  return AtNew(fname, "creating", [&](const Place& place) {
    return place.files->NewWritableFile(place.path, file_opts, result, dbg);
  });
}

IOStatus DefaultFileSystem::ReopenWritableFile(const std::string& fname, const FileOptions& file_opts,
                                               std::unique_ptr<rocksdb::FSWritableFile>* result,
                                               IODebugContext* dbg) {
  return AtNew(fname, "opening for appending", [&](const Place& place) {
    return place.files->ReopenWritableFile(place.path, file_opts, result, dbg);
  });
}

IOStatus DefaultFileSystem::ReuseWritableFile(const std::string& fname, const std::string& old_fname,
                                              const FileOptions& file_opts,
                                              std::unique_ptr<rocksdb::FSWritableFile>* result,
                                              IODebugContext* dbg) {
  IOStatus deleted = DeleteFile(old_fname, file_opts.io_options, dbg);
  return deleted.ok() ? NewWritableFile(fname, file_opts, result, dbg) : deleted;
}

IOStatus DefaultFileSystem::NewRandomRWFile(const std::string& fname, const FileOptions& options,
                                            std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                            IODebugContext* dbg) {
  return At(fname, "opening for random writes", [&](const Place& place) {
    return place.files->NewRandomRWFile(place.path, options, result, dbg);
  });
}

IOStatus DefaultFileSystem::NewMemoryMappedFileBuffer(
    const std::string& fname, std::unique_ptr<rocksdb::MemoryMappedFileBuffer>* result) {
  return At(fname, "mapping",
            [&](const Place& place) { return place.files->NewMemoryMappedFileBuffer(place.path, result); });
}

IOStatus DefaultFileSystem::NewLogger(const std::string& fname, const IOOptions& io_opts,
                                      std::shared_ptr<rocksdb::Logger>* result, IODebugContext* dbg) {
  return AtNew(fname, "creating",
               [&](const Place& place) { return place.files->NewLogger(place.path, io_opts, result, dbg); });
}

// --- directories: the host's ---

IOStatus DefaultFileSystem::NewDirectory(const std::string& name, const IOOptions& io_opts,
                                         std::unique_ptr<rocksdb::FSDirectory>* result, IODebugContext* dbg) {
  return AtDirectory(name, "opening directory", [&](const std::string& directory) {
    std::unique_ptr<rocksdb::FSDirectory> host;
    IOStatus opened = host_->NewDirectory(name, io_opts, &host, dbg);
    if (opened.ok()) *result = std::make_unique<DefaultDirectory>(*this, directory, std::move(host));
    return opened;
  });
}

IOStatus DefaultFileSystem::SyncDirectory(const std::string& directory) {
  return Guarded([&] {
    const auto sync = [&]() -> Status {
      ZENFS_ASSIGN_OR_RETURN(const std::optional<Bound> bound, BoundAt(directory));
      return bound ? bound->files->volume()->SyncDirectory(bound->directory) : Status();
    };
    return ToWriteStatus(sync(), "syncing directory", directory);
  });
}

IOStatus DefaultFileSystem::GetChildren(const std::string& dir, const IOOptions& options,
                                        std::vector<std::string>* result, IODebugContext* dbg) {
  result->clear();
  return AtDirectory(dir, "listing", [&](const std::string& directory) {
    IOStatus listed = host_->GetChildren(dir, options, result, dbg);
    if (!listed.ok() || !device_->Covers(directory)) return listed;
    std::erase_if(*result, BoundDirectories::IsOwnName);
    const auto add = [&]() -> Status {
      ZENFS_ASSIGN_OR_RETURN(const std::optional<Bound> bound, BoundAt(directory));
      if (!bound) return {};
      // RocksDB deletes files that it lists and does not know.
      std::erase_if(*result,
                    [&](const std::string& name) { return !IsHostDirectory(directory + "/" + name); });
      ZENFS_ASSIGN_OR_RETURN(std::vector<DirectoryEntry> entries,
                             bound->files->volume()->List(bound->directory));
      for (DirectoryEntry& entry : entries) {
        if (!entry.stat.is_directory) result->push_back(std::move(entry.name));
      }
      return {};
    };
    return ToIOStatus(add(), "listing", dir);
  });
}

IOStatus DefaultFileSystem::CreateDir(const std::string& dirname, const IOOptions& options,
                                      IODebugContext* dbg) {
  return At(dirname, "creating directory", [&](const Place& place) {
    return place.in_volume
               ? IOStatus::IOError(WhileDoing("creating directory", dirname), std::strerror(EEXIST))
               : host_->CreateDir(dirname, options, dbg);
  });
}

IOStatus DefaultFileSystem::CreateDirIfMissing(const std::string& dirname, const IOOptions& options,
                                               IODebugContext* dbg) {
  return At(dirname, "creating directory", [&](const Place& place) {
    return place.in_volume
               ? IOStatus::IOError(WhileDoing("creating directory", dirname), std::strerror(ENOTDIR))
               : host_->CreateDirIfMissing(dirname, options, dbg);
  });
}

IOStatus DefaultFileSystem::DeleteDir(const std::string& dirname, const IOOptions& options,
                                      IODebugContext* dbg) {
  return AtDirectory(dirname, "deleting directory", [&](const std::string& directory) {
    if (!device_->Covers(directory) || !BoundDirectories::HasMarker(directory))
      return host_->DeleteDir(dirname, options, dbg);
    const auto remove = [&]() -> Status {
      ZENFS_ASSIGN_OR_RETURN(Mounted* const mounted, Mount());
      return mounted->directories.Remove(directory);
    };
    return ToWriteStatus(remove(), "deleting directory", dirname);
  });
}

// --- names and attributes ---

IOStatus DefaultFileSystem::FileExists(const std::string& fname, const IOOptions& options,
                                       IODebugContext* dbg) {
  return At(fname, "looking for",
            [&](const Place& place) { return place.files->FileExists(place.path, options, dbg); });
}

IOStatus DefaultFileSystem::DeleteFile(const std::string& fname, const IOOptions& options,
                                       IODebugContext* dbg) {
  return At(fname, "deleting",
            [&](const Place& place) { return place.files->DeleteFile(place.path, options, dbg); });
}

IOStatus DefaultFileSystem::Truncate(const std::string& fname, size_t size, const IOOptions& options,
                                     IODebugContext* dbg) {
  return At(fname, "truncating",
            [&](const Place& place) { return place.files->Truncate(place.path, size, options, dbg); });
}

IOStatus DefaultFileSystem::GetFileSize(const std::string& fname, const IOOptions& options,
                                        uint64_t* file_size, IODebugContext* dbg) {
  return At(fname, "asking for the size of", [&](const Place& place) {
    return place.files->GetFileSize(place.path, options, file_size, dbg);
  });
}

IOStatus DefaultFileSystem::GetFileModificationTime(const std::string& fname, const IOOptions& options,
                                                    uint64_t* file_mtime, IODebugContext* dbg) {
  return At(fname, "asking for the modification time of", [&](const Place& place) {
    return place.files->GetFileModificationTime(place.path, options, file_mtime, dbg);
  });
}

IOStatus DefaultFileSystem::RenameFile(const std::string& src, const std::string& target,
                                       const IOOptions& options, IODebugContext* dbg) {
  return At(src, "renaming", [&](const Place& from) {
    if (!from.in_volume && IsHostDirectory(src)) return RenameDirectory(src, target, options, dbg);
    const Result<std::string> to = PathOnHost(target);
    if (!to) return ToIOStatus(to.error(), "renaming to", target);
    const bool covered = device_->Covers(DirectoryOf(*to));
    if (!from.in_volume && !IsOnHost(src))
      return host_->RenameFile(src, target, options, dbg);  // says that it is missing
    if (from.in_volume) {
      if (!covered) return AcrossFileSystems(src, target);
      const Result<Place> place = PlaceForNew(target);
      return place ? from.files->RenameFile(from.path, place->path, options, dbg)
                   : ToWriteStatus(place.error(), "renaming to", target);
    }
    if (covered) {
      const Result<std::string> origin = PathOnHost(src);
      if (!origin) return ToIOStatus(origin.error(), "renaming", src);
      if (!device_->Covers(DirectoryOf(*origin))) return AcrossFileSystems(src, target);
      const Result<Place> place = PlaceOf(target);
      if (!place) return ToIOStatus(place.error(), "renaming to", target);
      if (place->in_volume)
        return AcrossFileSystems(src, target);  // it would have to be replaced on the other side
    }
    return host_->RenameFile(src, target, options, dbg);
  });
}

// The marker moves with the directory.
IOStatus DefaultFileSystem::RenameDirectory(const std::string& from, const std::string& to,
                                            const IOOptions& options, IODebugContext* dbg) {
  const Result<std::string> origin = PathOnHost(from);
  if (!origin) return ToIOStatus(origin.error(), "renaming", from);
  const Result<std::string> target = PathOnHost(to);
  if (!target) return ToIOStatus(target.error(), "renaming to", to);
  if (device_->Covers(*origin) != device_->Covers(*target)) return AcrossFileSystems(from, to);
  if (device_->Covers(*origin) && from.ends_with(".tmp") &&
      IsRocksDbOfFlink())  // a finished checkpoint gets its name
    return IOStatus::NotSupported(
        "ZenFS: Flink would copy the files of checkpoint " + to +
        " from the host, where they are not; use the state backend of ZenFS's examples/flink");
  return host_->RenameFile(from, to, options, dbg);
}

IOStatus DefaultFileSystem::LinkFile(const std::string& src, const std::string& target,
                                     const IOOptions& options, IODebugContext* dbg) {
  return At(src, "linking", [&](const Place& from) {
    const Result<std::string> to = PathOnHost(target);
    if (!to) return ToIOStatus(to.error(), "linking as", target);
    const bool covered = device_->Covers(DirectoryOf(*to));
    if (!from.in_volume && !IsOnHost(src))
      return host_->LinkFile(src, target, options, dbg);  // says that it is missing
    if (covered != from.in_volume) return IOStatus::NotSupported("No cross FS links allowed");
    if (!covered) return host_->LinkFile(src, target, options, dbg);
    const Result<Place> place = PlaceForNew(target);
    return place ? from.files->LinkFile(from.path, place->path, options, dbg)
                 : ToWriteStatus(place.error(), "linking as", target);
  });
}

#if ZENFS_ROCKSDB_HAS_SYNC_FILE
IOStatus DefaultFileSystem::SyncFile(const std::string& fname, const FileOptions& file_opts,
                                     const IOOptions& io_opts, bool use_fsync, IODebugContext* dbg) {
  return At(fname, "syncing", [&](const Place& place) {
    return place.files->SyncFile(place.path, file_opts, io_opts, use_fsync, dbg);
  });
}
#endif

IOStatus DefaultFileSystem::NumFileLinks(const std::string& fname, const IOOptions& options, uint64_t* count,
                                         IODebugContext* dbg) {
  return At(fname, "counting links of",
            [&](const Place& place) { return place.files->NumFileLinks(place.path, options, count, dbg); });
}

IOStatus DefaultFileSystem::AreFilesSame(const std::string& first, const std::string& second,
                                         const IOOptions& options, bool* res, IODebugContext* dbg) {
  *res = false;
  return At(first, "comparing", [&](const Place& one) {
    return At(second, "comparing", [&](const Place& other) {
      if (one.files != other.files) return IOStatus::OK();
      return one.files->AreFilesSame(one.path, other.path, options, res, dbg);
    });
  });
}

IOStatus DefaultFileSystem::IsDirectory(const std::string& path, const IOOptions& options, bool* is_dir,
                                        IODebugContext* dbg) {
  return At(path, "looking at",
            [&](const Place& place) { return place.files->IsDirectory(place.path, options, is_dir, dbg); });
}

// --- the file system as a whole ---

// The lock is the host's, so that a RocksDB without this library keeps away from the directory as well.
IOStatus DefaultFileSystem::LockFile(const std::string& fname, const IOOptions& options,
                                     rocksdb::FileLock** lock, IODebugContext* dbg) {
  *lock = nullptr;
  return Guarded([&] {
    const Result<Place> place = PlaceForNew(fname, /*also_on_host=*/true);  // binds the directory
    if (!place) return ToWriteStatus(place.error(), "locking", fname);
    IOStatus locked = host_->LockFile(fname, options, lock, dbg);
    if (!locked.ok() || !place->in_volume) return locked;
    if (const Result<std::string> path = PathOnHost(fname))
      AlreadyMounted()->directories.NoteLock(*lock, DirectoryOf(*path));
    return locked;
  });
}

IOStatus DefaultFileSystem::UnlockFile(rocksdb::FileLock* lock, const IOOptions& options,
                                       IODebugContext* dbg) {
  return Guarded([&] {
    if (Mounted* const mounted = AlreadyMounted()) mounted->directories.NoteUnlock(lock);
    return host_->UnlockFile(lock, options, dbg);
  });
}

IOStatus DefaultFileSystem::GetTestDirectory(const IOOptions& options, std::string* path,
                                             IODebugContext* dbg) {
  return host_->GetTestDirectory(options, path, dbg);
}

IOStatus DefaultFileSystem::GetAbsolutePath(const std::string& db_path, const IOOptions& options,
                                            std::string* output_path, IODebugContext* dbg) {
  return host_->GetAbsolutePath(db_path, options, output_path, dbg);
}

IOStatus DefaultFileSystem::GetFreeSpace(const std::string& path, const IOOptions& options,
                                         uint64_t* diskfree, IODebugContext* dbg) {
  return AtDirectory(path, "asking for the free space of", [&](const std::string& absolute) {
    if (!device_->Covers(absolute)) return host_->GetFreeSpace(path, options, diskfree, dbg);
    const Result<Mounted*> mounted = Mount();
    if (!mounted) return ToIOStatus(mounted.error(), "asking for the free space of", path);
    return (*mounted)->files->GetFreeSpace(path, options, diskfree, dbg);
  });
}

// Files of the host could be mapped, those of the volume can't.
void DefaultFileSystem::SanitizeFileOptions(FileOptions* opts) const {
  opts->use_mmap_reads = false;
  opts->use_mmap_writes = false;
}

#if ZENFS_ROCKSDB_HAS_READ_ASYNC
IOStatus DefaultFileSystem::Poll(std::vector<void*>& io_handles, size_t) {
  return PollAsyncReads(io_handles);
}

IOStatus DefaultFileSystem::AbortIO(std::vector<void*>& io_handles) { return AbortAsyncReads(io_handles); }
#endif

#if ZENFS_ROCKSDB_HAS_SUPPORTED_OPS
void DefaultFileSystem::SupportedOps(int64_t& supported_ops) {
  supported_ops = StartsReads() ? 1 << rocksdb::FSSupportedOps::kAsyncIO : 0;
}
#endif

}  // namespace zenfs
