#include "rocksdb_plugin/zenfs_file_system.h"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "base/printable.h"
#include "rocksdb_plugin/logger.h"
#include "rocksdb_plugin/random_access_file.h"
#include "rocksdb_plugin/sequential_file.h"
#include "rocksdb_plugin/status_conversion.h"
#include "rocksdb_plugin/writable_file.h"

namespace zenfs {

namespace {

// A directory that RocksDB holds open to sync it. Threads: any.
class DirectoryHandle final : public rocksdb::FSDirectory {
 public:
  DirectoryHandle(std::shared_ptr<Volume> volume, std::string path)
      : volume_(std::move(volume)), path_(std::move(path)) {}

  // One commit of the metadata log; none if all changes in the directory are durable already.
  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    return Guarded([&] { return ToWriteStatus(volume_->SyncDirectory(path_), "syncing directory", path_); });
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* dbg,
                               const rocksdb::DirFsyncOptions& dir_fsync_options) override {
    // Renames and deletions are durable on return (volume/volume.h), and a renamed directory may no
    // longer exist under the name it was opened by.
    if (dir_fsync_options.reason == rocksdb::DirFsyncOptions::kDirRenamed) return IOStatus::OK();
    return Fsync(options, dbg);
  }
#if ZENFS_ROCKSDB_HAS_DIRECTORY_CLOSE
  IOStatus Close(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
#endif

 private:
  const std::shared_ptr<Volume> volume_;
  const std::string path_;
};

class VolumeFileLock final : public rocksdb::FileLock {
 public:
  VolumeFileLock(std::shared_ptr<Volume> volume, std::unique_ptr<PathLock> lock)
      : volume_(std::move(volume)), lock_(std::move(lock)) {}

 private:
  const std::shared_ptr<Volume> volume_;  // outlives the lock
  const std::unique_ptr<PathLock> lock_;
};

}  // namespace

ZenFileSystem::ZenFileSystem(std::string uri, std::shared_ptr<Volume> volume)
    : uri_(std::move(uri)), volume_(std::move(volume)) {}

// --- opening files ---

template <typename File, typename Base>
IOStatus ZenFileSystem::Wrap(Result<std::unique_ptr<FileHandle>> handle, const std::string& path,
                             std::string_view doing, const FileOptions& options,
                             std::unique_ptr<Base>* result) {
  if (!handle && std::is_same_v<File, WritableFile>) return ToWriteStatus(handle.error(), doing, path);
  if (!handle) return ToIOStatus(handle.error(), doing, path);
  *result = std::make_unique<File>(MountedFile{volume_, std::move(*handle), path}, options);
  return IOStatus::OK();
}

IOStatus ZenFileSystem::NewSequentialFile(const std::string& fname, const FileOptions& file_opts,
                                          std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                          IODebugContext*) {
  result->reset();
  return Guarded([&] {
    return Wrap<SequentialFile>(volume_->OpenForRead(fname), fname, "opening for sequential reads", file_opts,
                                result);
  });
}

IOStatus ZenFileSystem::NewRandomAccessFile(const std::string& fname, const FileOptions& file_opts,
                                            std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                            IODebugContext*) {
  result->reset();
  return Guarded([&] {
    const FileId known = FileOfOpenMetadata(*volume_, MetadataAtOpen(file_opts));
    return Wrap<RandomAccessFile>(volume_->OpenForRead(fname, known), fname, "opening for random reads",
                                  file_opts, result);
  });
}

IOStatus ZenFileSystem::NewWritableFile(const std::string& fname, const FileOptions& file_opts,
                                        std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext*) {
  result->reset();
  return Guarded([&] {
    return Wrap<WritableFile>(volume_->Create(fname, LifetimeAtOpen(file_opts)), fname, "creating", file_opts,
                              result);
  });
}

IOStatus ZenFileSystem::ReopenWritableFile(const std::string& fname, const FileOptions& file_opts,
                                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                                           IODebugContext*) {
  result->reset();
  return Guarded([&] {
    return Wrap<WritableFile>(volume_->OpenForAppend(fname, /*create=*/true), fname, "opening for appending",
                              file_opts, result);
  });
}

IOStatus ZenFileSystem::ReuseWritableFile(const std::string& fname, const std::string& old_fname,
                                          const FileOptions& file_opts,
                                          std::unique_ptr<rocksdb::FSWritableFile>* result,
                                          IODebugContext* dbg) {
  result->reset();
  IOStatus deleted = DeleteFile(old_fname, file_opts.io_options, dbg);
  return deleted.ok() ? NewWritableFile(fname, file_opts, result, dbg) : deleted;
}

IOStatus ZenFileSystem::NewRandomRWFile(const std::string& fname, const FileOptions&,
                                        std::unique_ptr<rocksdb::FSRandomRWFile>* result, IODebugContext*) {
  result->reset();
  return Guarded([&] {
    return IOStatus::NotSupported(WhileDoing("opening for random writes", fname),
                                  "zones can only be written sequentially");
  });
}

IOStatus ZenFileSystem::NewMemoryMappedFileBuffer(const std::string& fname,
                                                  std::unique_ptr<rocksdb::MemoryMappedFileBuffer>* result) {
  result->reset();
  return Guarded([&] {
    return IOStatus::NotSupported(WhileDoing("mapping", fname), "files in zones can't be mapped into memory");
  });
}

IOStatus ZenFileSystem::NewDirectory(const std::string& name, const IOOptions&,
                                     std::unique_ptr<rocksdb::FSDirectory>* result, IODebugContext*) {
  result->reset();
  return Guarded([&] {
    const Result<FileStat> stat = volume_->Stat(name);
    if (!stat) return ToIOStatus(stat.error(), "opening directory", name);
    if (!stat->is_directory) {
      return IOStatus::IOError(WhileDoing("opening directory", name), "it is a file");
    }
    *result = std::make_unique<DirectoryHandle>(volume_, name);
    return IOStatus::OK();
  });
}

IOStatus ZenFileSystem::NewLogger(const std::string& fname, const IOOptions&,
                                  std::shared_ptr<rocksdb::Logger>* result, IODebugContext*) {
  result->reset();
  return Guarded([&] {
    auto handle = volume_->Create(fname, Lifetime::kNotSet);
    if (!handle) return ToIOStatus(handle.error(), "creating", fname);
    *result = std::make_shared<VolumeLogger>(MountedFile{volume_, std::move(*handle), fname});
    LogMount(*volume_, **result);
    LogNotices(volume_->notices(), **result);
    return IOStatus::OK();
  });
}

// --- names and attributes ---

IOStatus ZenFileSystem::FileExists(const std::string& fname, const IOOptions&, IODebugContext*) {
  return Guarded([&] {
    const Result<FileStat> stat = volume_->Stat(fname);
    return stat ? IOStatus::OK() : ToIOStatusOrNotFound(stat.error(), "looking for", fname);
  });
}

IOStatus ZenFileSystem::GetChildren(const std::string& dir, const IOOptions&,
                                    std::vector<std::string>* result, IODebugContext*) {
  return Guarded([&] {
    result->clear();
    auto entries = volume_->List(dir);
    if (!entries) return ToIOStatusOrNotFound(entries.error(), "listing", dir);
    for (DirectoryEntry& entry : *entries) result->push_back(std::move(entry.name));
    return IOStatus::OK();
  });
}

IOStatus ZenFileSystem::GetChildrenFileAttributes(const std::string& dir, const IOOptions&,
                                                  std::vector<rocksdb::FileAttributes>* result,
                                                  IODebugContext*) {
  return Guarded([&] {
    result->clear();
    auto entries = volume_->List(dir);
    if (!entries) return ToIOStatusOrNotFound(entries.error(), "listing", dir);
    for (DirectoryEntry& entry : *entries) {
      rocksdb::FileAttributes attributes;
      attributes.name = std::move(entry.name);
      attributes.size_bytes = entry.stat.size;
      result->push_back(std::move(attributes));
    }
    return IOStatus::OK();
  });
}

IOStatus ZenFileSystem::DeleteFile(const std::string& fname, const IOOptions&, IODebugContext*) {
  return Guarded([&] { return ToWriteStatus(volume_->Unlink(fname), "deleting", fname); });
}

IOStatus ZenFileSystem::Truncate(const std::string& fname, size_t size, const IOOptions&, IODebugContext*) {
  return Guarded([&] { return ToWriteStatus(TruncateFile(*volume_, fname, size), "truncating", fname); });
}

IOStatus ZenFileSystem::CreateDir(const std::string& dirname, const IOOptions&, IODebugContext*) {
  return Guarded([&] {
    return ToWriteStatus(volume_->MakeDirectory(dirname, /*parents=*/false), "creating directory", dirname);
  });
}

IOStatus ZenFileSystem::CreateDirIfMissing(const std::string& dirname, const IOOptions&, IODebugContext*) {
  return Guarded([&] {
    return ToWriteStatus(volume_->MakeDirectory(dirname, /*parents=*/true), "creating directory", dirname);
  });
}

IOStatus ZenFileSystem::DeleteDir(const std::string& dirname, const IOOptions&, IODebugContext*) {
  return Guarded(
      [&] { return ToWriteStatus(volume_->RemoveDirectory(dirname), "deleting directory", dirname); });
}

IOStatus ZenFileSystem::GetFileSize(const std::string& fname, const IOOptions&, uint64_t* file_size,
                                    IODebugContext*) {
  return Guarded([&] {
    *file_size = 0;
    const Result<FileStat> stat = volume_->Stat(fname);
    if (!stat) return ToIOStatus(stat.error(), "asking for the size of", fname);
    *file_size = stat->size;
    return IOStatus::OK();
  });
}

IOStatus ZenFileSystem::GetFileModificationTime(const std::string& fname, const IOOptions&,
                                                uint64_t* file_mtime, IODebugContext*) {
  return Guarded([&] {
    *file_mtime = 0;
    const Result<FileStat> stat = volume_->Stat(fname);
    if (!stat) return ToIOStatus(stat.error(), "asking for the modification time of", fname);
    *file_mtime = stat->mtime_seconds;
    return IOStatus::OK();
  });
}

IOStatus ZenFileSystem::RenameFile(const std::string& src, const std::string& target, const IOOptions&,
                                   IODebugContext*) {
  return Guarded([&] {
    const Status renamed = volume_->Rename(src, target);
    return renamed.ok() ? IOStatus::OK()
                        : ToWriteStatus(renamed.error(), fmt::format("renaming {} to", src), target);
  });
}

IOStatus ZenFileSystem::LinkFile(const std::string& src, const std::string& target, const IOOptions&,
                                 IODebugContext*) {
  return Guarded([&] {
    const Status linked = volume_->Link(src, target);
    return linked.ok() ? IOStatus::OK()
                       : ToWriteStatus(linked.error(), fmt::format("linking {} as", src), target);
  });
}

#if ZENFS_ROCKSDB_HAS_SYNC_FILE
IOStatus ZenFileSystem::SyncFile(const std::string& fname, const FileOptions&, const IOOptions&, bool,
                                 IODebugContext*) {
  return Guarded([&] {
    const auto handle = volume_->OpenForAppend(fname, /*create=*/false);
    if (!handle) return ToIOStatus(handle.error(), "syncing", fname);
    IOStatus synced = ToWriteStatus((*handle)->Sync(), "syncing", fname);
    return synced.ok() ? ToWriteStatus((*handle)->Close(), "syncing", fname) : synced;
  });
}
#endif

IOStatus ZenFileSystem::NumFileLinks(const std::string& fname, const IOOptions&, uint64_t* count,
                                     IODebugContext*) {
  return Guarded([&] {
    *count = 0;
    const Result<FileStat> stat = volume_->Stat(fname);
    if (!stat) return ToIOStatus(stat.error(), "counting links of", fname);
    *count = stat->links;
    return IOStatus::OK();
  });
}

IOStatus ZenFileSystem::AreFilesSame(const std::string& first, const std::string& second, const IOOptions&,
                                     bool* res, IODebugContext*) {
  return Guarded([&] {
    *res = false;
    const Result<FileStat> one = volume_->Stat(first);
    if (!one) return ToIOStatus(one.error(), "comparing", first);
    const Result<FileStat> other = volume_->Stat(second);
    if (!other) return ToIOStatus(other.error(), "comparing", second);
    *res = one->id == other->id;
    return IOStatus::OK();
  });
}

IOStatus ZenFileSystem::IsDirectory(const std::string& path, const IOOptions&, bool* is_dir,
                                    IODebugContext*) {
  return Guarded([&] {
    if (is_dir != nullptr) *is_dir = false;
    const Result<FileStat> stat = volume_->Stat(path);
    if (!stat) return ToIOStatus(stat.error(), "looking at", path);
    if (is_dir != nullptr) *is_dir = stat->is_directory;
    return IOStatus::OK();
  });
}

// --- the file system as a whole ---

IOStatus ZenFileSystem::LockFile(const std::string& fname, const IOOptions&, rocksdb::FileLock** lock,
                                 IODebugContext*) {
  *lock = nullptr;
  return Guarded([&] {
    auto held = volume_->Lock(fname);
    if (held) {
      *lock = new VolumeFileLock(volume_, std::move(*held));
      return IOStatus::OK();
    }
    if (held.error().code() != Code::kBusy) return ToIOStatus(held.error(), "locking", fname);
    return IOStatus::IOError(WhileDoing("locking", fname) + ": lock is held by this process",
                             Printable(held.error().ToString()));
  });
}

IOStatus ZenFileSystem::UnlockFile(rocksdb::FileLock* lock, const IOOptions&, IODebugContext*) {
  return Guarded([&] {
    delete lock;
    return IOStatus::OK();
  });
}

IOStatus ZenFileSystem::GetTestDirectory(const IOOptions&, std::string* path, IODebugContext*) {
  return Guarded([&] {
    // Where users of the older ZenFS look for the files of db_bench. Absolute: RocksDB's
    // MockFileSystem and ChrootFileSystem refuse relative paths.
    *path = "/rocksdbtest";
    return ToIOStatus(volume_->MakeDirectory(*path, /*parents=*/true), "creating", *path);
  });
}

IOStatus ZenFileSystem::GetAbsolutePath(const std::string& db_path, const IOOptions&,
                                        std::string* output_path, IODebugContext*) {
  return Guarded([&] {
    *output_path = "/" + NormalizePath(db_path);
    return IOStatus::OK();
  });
}

IOStatus ZenFileSystem::GetFreeSpace(const std::string&, const IOOptions&, uint64_t* diskfree,
                                     IODebugContext*) {
  return Guarded([&] {
    *diskfree = volume_->Space().free;
    return IOStatus::OK();
  });
}

FileOptions ZenFileSystem::OptimizeForLogWrite(const FileOptions& file_options,
                                               const rocksdb::DBOptions& db_options) const {
  FileOptions optimized = rocksdb::FileSystem::OptimizeForLogWrite(file_options, db_options);
  optimized.use_direct_writes = false;
  optimized.use_mmap_writes = false;
  return optimized;
}

FileOptions ZenFileSystem::OptimizeForManifestWrite(const FileOptions& file_options) const {
  FileOptions optimized = rocksdb::FileSystem::OptimizeForManifestWrite(file_options);
  optimized.use_direct_writes = false;
  optimized.use_mmap_writes = false;
  return optimized;
}

void ZenFileSystem::SanitizeFileOptions(FileOptions* opts) const {
  opts->use_mmap_reads = false;
  opts->use_mmap_writes = false;
}

#if ZENFS_ROCKSDB_HAS_READ_ASYNC
IOStatus ZenFileSystem::Poll(std::vector<void*>& io_handles, size_t) { return PollAsyncReads(io_handles); }

IOStatus ZenFileSystem::AbortIO(std::vector<void*>& io_handles) { return AbortAsyncReads(io_handles); }
#endif

#if ZENFS_ROCKSDB_HAS_SUPPORTED_OPS
void ZenFileSystem::SupportedOps(int64_t& supported_ops) {
  supported_ops = volume_->StartsReads() ? 1 << rocksdb::FSSupportedOps::kAsyncIO : 0;
}
#endif

}  // namespace zenfs
