// RocksDB's FileSystem on a volume with an aux directory (mkfs --aux_path). Files that belong there
// by their name are on the host, all others in the volume. The directories of the volume decide:
// those on the host are created when a file needs them, and follow when the volume's are renamed or
// removed. A listing shows both.
//
// A file can't be renamed or linked from one side to the other: NotSupported. On a read-only mount
// the aux directory is not written. Threads: any.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "rocksdb_plugin/aux_directory.h"
#include "rocksdb_plugin/zenfs_file_system.h"

namespace zenfs {

class AuxFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  // `aux_path` must be absolute.
  AuxFileSystem(std::unique_ptr<ZenFileSystem> volume, std::string aux_path);

  const AuxDirectory& aux() const { return aux_; }

  // RocksDB sees the volume's file system, opened by the same URI.
  const char* Name() const override { return ZenFileSystem::kClassName(); }
  const char* NickName() const override { return "zenfs"; }
  std::string GetId() const override { return target()->GetId(); }
  std::string SerializeOptions(const rocksdb::ConfigOptions& config_options,
                               const std::string& header) const override {
    // The wrapper's would add its target; GetId says it all. NOLINTNEXTLINE(bugprone-parent-virtual-call)
    return rocksdb::FileSystem::SerializeOptions(config_options, header);
  }

  // --- opening files: aux_file_system_open.cc ---
  IOStatus NewSequentialFile(const std::string& fname, const FileOptions& file_opts,
                             std::unique_ptr<rocksdb::FSSequentialFile>* result,
                             IODebugContext* dbg) override;
  IOStatus NewRandomAccessFile(const std::string& fname, const FileOptions& file_opts,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                               IODebugContext* dbg) override;
  IOStatus NewWritableFile(const std::string& fname, const FileOptions& file_opts,
                           std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* dbg) override;
  IOStatus ReopenWritableFile(const std::string& fname, const FileOptions& file_opts,
                              std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* dbg) override;
  IOStatus ReuseWritableFile(const std::string& fname, const std::string& old_fname,
                             const FileOptions& file_opts, std::unique_ptr<rocksdb::FSWritableFile>* result,
                             IODebugContext* dbg) override;
  IOStatus NewLogger(const std::string& fname, const IOOptions& io_opts,
                     std::shared_ptr<rocksdb::Logger>* result, IODebugContext* dbg) override;
  IOStatus LockFile(const std::string& fname, const IOOptions& options, rocksdb::FileLock** lock,
                    IODebugContext* dbg) override;
  IOStatus UnlockFile(rocksdb::FileLock* lock, const IOOptions& options, IODebugContext* dbg) override;

  // --- names and attributes: aux_file_system.cc ---
  IOStatus FileExists(const std::string& fname, const IOOptions& options, IODebugContext* dbg) override;
  IOStatus GetChildren(const std::string& dir, const IOOptions& options, std::vector<std::string>* result,
                       IODebugContext* dbg) override;
  IOStatus GetChildrenFileAttributes(const std::string& dir, const IOOptions& options,
                                     std::vector<rocksdb::FileAttributes>* result,
                                     IODebugContext* dbg) override;
  IOStatus DeleteFile(const std::string& fname, const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Truncate(const std::string& fname, size_t size, const IOOptions& options,
                    IODebugContext* dbg) override;
  IOStatus DeleteDir(const std::string& dirname, const IOOptions& options, IODebugContext* dbg) override;
  IOStatus GetFileSize(const std::string& fname, const IOOptions& options, uint64_t* file_size,
                       IODebugContext* dbg) override;
  IOStatus GetFileModificationTime(const std::string& fname, const IOOptions& options, uint64_t* file_mtime,
                                   IODebugContext* dbg) override;
  IOStatus RenameFile(const std::string& src, const std::string& target_name, const IOOptions& options,
                      IODebugContext* dbg) override;
  IOStatus LinkFile(const std::string& src, const std::string& target_name, const IOOptions& options,
                    IODebugContext* dbg) override;
  IOStatus NumFileLinks(const std::string& fname, const IOOptions& options, uint64_t* count,
                        IODebugContext* dbg) override;
  IOStatus AreFilesSame(const std::string& first, const std::string& second, const IOOptions& options,
                        bool* res, IODebugContext* dbg) override;
  IOStatus IsDirectory(const std::string& path, const IOOptions& options, bool* is_dir,
                       IODebugContext* dbg) override;
#if ZENFS_ROCKSDB_HAS_SYNC_FILE
  IOStatus SyncFile(const std::string& fname, const FileOptions& file_opts, const IOOptions& io_opts,
                    bool use_fsync, IODebugContext* dbg) override;
#endif
#if ZENFS_ROCKSDB_HAS_SUPPORTED_OPS
  void SupportedOps(int64_t& supported_ops) override { target()->SupportedOps(supported_ops); }
#endif

 private:
  // The host path of the file, if it is kept there: by its name, if its directory exists in the
  // volume. Otherwise nothing, and the volume answers, also that the directory does not exist.
  std::optional<std::string> OnHost(const std::string& fname) const;
  bool VolumeHasDirectory(const std::string& path) const;
  IOStatus CheckMayWrite(const std::string& fname) const;
  // For a new file: checks that the volume may be written, and creates the directory on the host.
  IOStatus PrepareNew(const std::string& fname) const;
  IOStatus CheckSameSide(const std::string& src, const std::string& target_name,
                         std::string_view doing) const;
  IOStatus RenameDirectory(const std::string& src, const std::string& target_name, const IOOptions& options,
                           IODebugContext* dbg);

  const std::shared_ptr<Volume> volume_;
  const AuxDirectory aux_;
  const bool read_only_;
  Mutex mutex_;  // leaf
  std::unordered_set<rocksdb::FileLock*> host_locks_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
