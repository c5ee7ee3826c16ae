// RocksDB's default FileSystem in a process with a default device (default_device.h). It sends each call to the volume or to the
// host's file system.
//
// Directories are the host's. The files in them are the volume's if RocksDB made them below a prefix; bound_directories.h says
// where the volume has them. A file that the host has stays there: it can be read, renamed and deleted, and RocksDB makes no new file
// of its name. So a name is either the host's or the volume's. A listing of a bound directory shows the volume's files and the host's
// directories, because RocksDB deletes files that it finds there and does not know. The lock of a database is the host's.
//
// Between the host and the volume files are neither linked (NotSupported, so RocksDB copies) nor renamed (EXDEV), as between two
// file systems. A directory is renamed on the host, which is one step. Checkpoints of Flink's RocksDB are refused.
//
// The volume is mounted by the first call that needs it, in each process by itself. If that fails, the call fails with the reason, which is
// also printed once; nothing is written to the host instead.
//
// Threads: any.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "rocksdb_plugin/bound_directories.h"
#include "rocksdb_plugin/default_device.h"
#include "rocksdb_plugin/rocksdb_version.h"
#include "rocksdb_plugin/zenfs_file_system.h"

namespace zenfs {

class DefaultFileSystem final : public rocksdb::FileSystem {
 public:
  // `device`: or why it can't be used; then each call fails. `host`: RocksDB's own.
  DefaultFileSystem(Result<DefaultDevice> device, std::shared_ptr<rocksdb::FileSystem> host)
      : device_(std::move(device)), host_(std::move(host)) {}
  // Unmounts. Open files may outlive it.
  ~DefaultFileSystem() override;

  // Whether this process has used one for a file or directory.
  static bool WasUsed();

  static const char* kClassName() { return "ZenFS-default"; }
  const char* Name() const override { return kClassName(); }

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
  IOStatus NewRandomRWFile(const std::string& fname, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSRandomRWFile>* result, IODebugContext* dbg) override;
  IOStatus NewMemoryMappedFileBuffer(const std::string& fname,
                                     std::unique_ptr<rocksdb::MemoryMappedFileBuffer>* result) override;
  IOStatus NewDirectory(const std::string& name, const IOOptions& io_opts,
                        std::unique_ptr<rocksdb::FSDirectory>* result, IODebugContext* dbg) override;
  IOStatus NewLogger(const std::string& fname, const IOOptions& io_opts,
                     std::shared_ptr<rocksdb::Logger>* result, IODebugContext* dbg) override;

  IOStatus FileExists(const std::string& fname, const IOOptions& options, IODebugContext* dbg) override;
  IOStatus GetChildren(const std::string& dir, const IOOptions& options, std::vector<std::string>* result,
                       IODebugContext* dbg) override;
  IOStatus DeleteFile(const std::string& fname, const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Truncate(const std::string& fname, size_t size, const IOOptions& options,
                    IODebugContext* dbg) override;
  IOStatus CreateDir(const std::string& dirname, const IOOptions& options, IODebugContext* dbg) override;
  IOStatus CreateDirIfMissing(const std::string& dirname, const IOOptions& options,
                              IODebugContext* dbg) override;
  IOStatus DeleteDir(const std::string& dirname, const IOOptions& options, IODebugContext* dbg) override;
  IOStatus GetFileSize(const std::string& fname, const IOOptions& options, uint64_t* file_size,
                       IODebugContext* dbg) override;
  IOStatus GetFileModificationTime(const std::string& fname, const IOOptions& options, uint64_t* file_mtime,
                                   IODebugContext* dbg) override;
  IOStatus RenameFile(const std::string& src, const std::string& target, const IOOptions& options,
                      IODebugContext* dbg) override;
  IOStatus LinkFile(const std::string& src, const std::string& target, const IOOptions& options,
                    IODebugContext* dbg) override;
#if ZENFS_ROCKSDB_HAS_SYNC_FILE
  IOStatus SyncFile(const std::string& fname, const FileOptions& file_opts, const IOOptions& io_opts,
                    bool use_fsync, IODebugContext* dbg) override;
#endif
  IOStatus NumFileLinks(const std::string& fname, const IOOptions& options, uint64_t* count,
                        IODebugContext* dbg) override;
  IOStatus AreFilesSame(const std::string& first, const std::string& second, const IOOptions& options,
                        bool* res, IODebugContext* dbg) override;
  IOStatus IsDirectory(const std::string& path, const IOOptions& options, bool* is_dir,
                       IODebugContext* dbg) override;

  IOStatus LockFile(const std::string& fname, const IOOptions& options, rocksdb::FileLock** lock,
                    IODebugContext* dbg) override;
  IOStatus UnlockFile(rocksdb::FileLock* lock, const IOOptions& options, IODebugContext* dbg) override;
  IOStatus GetTestDirectory(const IOOptions& options, std::string* path, IODebugContext* dbg) override;
  IOStatus GetAbsolutePath(const std::string& db_path, const IOOptions& options, std::string* output_path,
                           IODebugContext* dbg) override;
  IOStatus GetFreeSpace(const std::string& path, const IOOptions& options, uint64_t* diskfree,
                        IODebugContext* dbg) override;
  FileOptions OptimizeForLogWrite(const FileOptions& file_options,
                                  const rocksdb::DBOptions& db_options) const override {
    return host_->OptimizeForLogWrite(file_options, db_options);
  }
  FileOptions OptimizeForManifestWrite(const FileOptions& file_options) const override {
    return host_->OptimizeForManifestWrite(file_options);
  }
  void SanitizeFileOptions(FileOptions* opts) const override;
#if ZENFS_ROCKSDB_HAS_READ_ASYNC
  // Only reads of the volume are asynchronous.
  IOStatus Poll(std::vector<void*>& io_handles, size_t min_completions) override;
  IOStatus AbortIO(std::vector<void*>& io_handles) override;
#endif
#if ZENFS_ROCKSDB_HAS_SUPPORTED_OPS
  void SupportedOps(int64_t& supported_ops) override;
#elif ZENFS_ROCKSDB_HAS_USE_ASYNC_IO
  bool use_async_io() override { return StartsReads(); }
#endif

 private:
  // The volume as a process has mounted it.
  struct Mounted {
    Mounted(std::shared_ptr<ZenFileSystem> mounted, std::vector<std::string> prefixes)
        : files(std::move(mounted)), directories(files->volume(), std::move(prefixes)) {}

    const std::shared_ptr<ZenFileSystem> files;
    BoundDirectories directories;
  };
  // What belongs to one process. A child of fork() gets its own: a thread that does not exist in the child may hold the inherited
  // mutexes.
  struct Process {
    const pid_t id = ::getpid();
    // Held during a mount. Taken before every lock of the volume.
    Mutex mutex;
    std::unique_ptr<Mounted> owned GUARDED_BY(mutex);
    std::atomic<Mounted*> mounted{nullptr};  // `owned`
  };
  // Where the volume has the files of a directory.
  struct Bound {
    ZenFileSystem* files;
    std::string directory;
  };
  // Who has a file, and under which path.
  struct Place {
    rocksdb::FileSystem* files;
    std::string path;
    bool in_volume = false;
  };

  [[nodiscard]] Result<Mounted*> Mount();
  // Why there is no device. Printed by the first call, so that programs that inherit a wrong setting and have no use for it say nothing.
  const Error& NoDevice();
  Process& ThisProcess();
  // The mounted volume, or null.
  Mounted* AlreadyMounted() const;
  bool StartsReads() const;

  // An existing file or directory; the host's if nobody has it.
  [[nodiscard]] Result<Place> PlaceOf(const std::string& path);
  // A file that is to be made, or that is to get this name. Errors: kExists if the host has it.
  [[nodiscard]] Result<Place> PlaceForNew(const std::string& path, bool also_on_host = false);
  // None if the volume has no files of the directory: then it is not mounted for it.
  [[nodiscard]] Result<std::optional<Bound>> BoundAt(const std::string& directory);
  static Place PlaceIn(const Bound& bound, const std::string& absolute);
  // Calls `body` with the place of the file.
  template <typename Body>
  IOStatus At(const std::string& path, std::string_view doing, Body&& body);
  template <typename Body>
  IOStatus AtNew(const std::string& path, std::string_view doing, Body&& body);
  // Calls `body` with the path of a directory on the host.
  template <typename Body>
  IOStatus AtDirectory(const std::string& path, std::string_view doing, Body&& body);
  IOStatus RenameDirectory(const std::string& from, const std::string& to, const IOOptions& options,
                           IODebugContext* dbg);
  IOStatus SyncDirectory(const std::string& directory);

  friend class DefaultDirectory;

  const Result<DefaultDevice> device_;
  const std::shared_ptr<rocksdb::FileSystem> host_;
  std::atomic<Process*> process_{
      nullptr};  // owned, but for that of the process that this one was forked from
  std::atomic<bool> told_{false};
};

}  // namespace zenfs
