// The upper limit for a file system on a drive. RocksDB's own file system stores names, locks and
// logs, which cost no device time; file contents are in memory, with the times of a drive. It uses
// no layer of ZenFS except the clock of the timing profile (docs/use/bench.md).
//
// Paths are on the host and should be on a tmpfs. URI: ideal://PROFILE[?FILE], where FILE gets the
// counters.
//
// Threads: any.
#pragma once

#include <memory>
#include <string>

#include "drive.h"
#include "rocksdb_plugin/rocksdb_version.h"

namespace zenfs {

// kInvalidArgument for an unknown profile.
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
  // Renames the file, then replaces its content from the beginning.
  IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* dbg) override;
  // Files that are being written can be longer on the host than their true size.
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
