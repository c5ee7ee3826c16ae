#include "rocksdb_plugin/zenfs_file_system.h"

#include <unistd.h>

#include "base/printable.h"
#include "rocksdb_plugin/async_read.h"
#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {

namespace {

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
