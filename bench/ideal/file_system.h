// The limit for a file system on a drive: RocksDB's own one for names, locks and logs, which cost no device time, and
// for the content of files memory that takes the times of a drive. No layer of ZenFS is in it but the clock of the
// timing profile (docs/use/bench.md).
//
// Paths are those of the host, and should lie on a tmpfs. URI: ideal://PROFILE[?FILE], where FILE gets the counters.
//
// Threads: any.
#pragma once

#include <memory>
#include <string>

#include "drive.h"
#include "rocksdb_plugin/rocksdb_version.h"

namespace zenfs {

// kInvalidArgument for a profile that there is not.
[[nodiscard]] Result<std::unique_ptr<rocksdb::FileSystem>> IdealFileSystemOfUri(const std::string& uri);

class IdealFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit IdealFileSystem(std::shared_ptr<IdealDrive> drive);

  static const char* kClassName() { return "IdealFileSystem"; }
  const char* Name() const override { return kClassName(); }

  IOStatus NewSequentialFile(const std::string& path, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* result,
                             IODebugContext* dbg) override;
  IOStatus NewRandomAccessFile(const std::string& path, const FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                               IODebugContext* dbg) override;
  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* dbg) override;
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* dbg) override;
  // A name and then a file that is replaced from its beginning.
  IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* dbg) override;
  // Files that are being written may be longer on the host than they are.
  IOStatus GetFileSize(const std::string& path, const IOOptions& options, uint64_t* size,
                       IODebugContext* dbg) override;
  IOStatus GetChildrenFileAttributes(const std::string& dir, const IOOptions& options,
                                     std::vector<rocksdb::FileAttributes>* result,
                                     IODebugContext* dbg) override {
    return rocksdb::FileSystem::GetChildrenFileAttributes(dir, options, result, dbg);
  }
#if ZENFS_ROCKSDB_HAS_READ_ASYNC
  IOStatus Poll(std::vector<void*>& io_handles, size_t min_completions) override;
  IOStatus AbortIO(std::vector<void*>& io_handles) override;
#endif
#if ZENFS_ROCKSDB_HAS_SUPPORTED_OPS
  void SupportedOps(int64_t& supported_ops) override;
#endif

 private:
  const std::shared_ptr<IdealDrive> drive_;
};

}  // namespace zenfs
