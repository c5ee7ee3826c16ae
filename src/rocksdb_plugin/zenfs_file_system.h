// RocksDB's FileSystem on a mounted volume. A thin adapter: it translates names, options and
// errors, and decides nothing. It derives from FileSystem itself, not from FileSystemWrapper, so
// that an unknown call fails instead of reaching the host's files.
//
// Paths are RocksDB's; "/" is the volume's root, and relative paths start there. Every method may
// be called from any thread, lets no exception out, and fails cleanly in a child of fork() (the
// volume checks that).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rocksdb_plugin/mounted_file.h"

namespace zenfs {

class ZenFileSystem final : public rocksdb::FileSystem {
 public:
  // `uri`: the URI of the volume, from which RocksDB can open the same file system again (GetId).
  ZenFileSystem(std::string uri, std::shared_ptr<Volume> volume);

  static const char* kClassName() { return "ZenFS"; }
  const char* Name() const override { return kClassName(); }
  const char* NickName() const override { return "zenfs"; }
  std::string GetId() const override { return uri_; }

  // --- opening files ---
  IOStatus NewSequentialFile(const std::string& fname, const FileOptions& file_opts,
                             std::unique_ptr<rocksdb::FSSequentialFile>* result,
                             IODebugContext* dbg) override;
  IOStatus NewRandomAccessFile(const std::string& fname, const FileOptions& file_opts,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                               IODebugContext* dbg) override;
  IOStatus NewWritableFile(const std::string& fname, const FileOptions& file_opts,
                           std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* dbg) override;
  // Keeps the file's content; creates a missing file.
  IOStatus ReopenWritableFile(const std::string& fname, const FileOptions& file_opts,
                              std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* dbg) override;
  // Deletes the old file and creates a new one: zones can't be overwritten, so reuse has no
  // advantage.
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

  // --- names and attributes ---
  IOStatus FileExists(const std::string& fname, const IOOptions& options, IODebugContext* dbg) override;
  IOStatus GetChildren(const std::string& dir, const IOOptions& options, std::vector<std::string>* result,
                       IODebugContext* dbg) override;
  IOStatus GetChildrenFileAttributes(const std::string& dir, const IOOptions& options,
                                     std::vector<rocksdb::FileAttributes>* result,
                                     IODebugContext* dbg) override;
  IOStatus DeleteFile(const std::string& fname, const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Truncate(const std::string& fname, size_t size, const IOOptions& options,
                    IODebugContext* dbg) override;
  IOStatus CreateDir(const std::string& dirname, const IOOptions& options, IODebugContext* dbg) override;
  // Also creates all missing parents.
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
  // Unlike the default, which reopens the file for writing, this does not create a missing file.
  IOStatus SyncFile(const std::string& fname, const FileOptions& file_opts, const IOOptions& io_opts,
                    bool use_fsync, IODebugContext* dbg) override;
#endif
  IOStatus NumFileLinks(const std::string& fname, const IOOptions& options, uint64_t* count,
                        IODebugContext* dbg) override;
  IOStatus AreFilesSame(const std::string& first, const std::string& second, const IOOptions& options,
                        bool* res, IODebugContext* dbg) override;
  IOStatus IsDirectory(const std::string& path, const IOOptions& options, bool* is_dir,
                       IODebugContext* dbg) override;

  // --- the file system as a whole ---
  // Returns an IOError if this process already holds the lock. Other processes can't have the volume
  // mounted for writing, so they hold none.
  IOStatus LockFile(const std::string& fname, const IOOptions& options, rocksdb::FileLock** lock,
                    IODebugContext* dbg) override;
  IOStatus UnlockFile(rocksdb::FileLock* lock, const IOOptions& options, IODebugContext* dbg) override;
  IOStatus GetTestDirectory(const IOOptions& options, std::string* path, IODebugContext* dbg) override;
  IOStatus GetAbsolutePath(const std::string& db_path, const IOOptions& options, std::string* output_path,
                           IODebugContext* dbg) override;
  IOStatus GetFreeSpace(const std::string& path, const IOOptions& options, uint64_t* diskfree,
                        IODebugContext* dbg) override;
  // Logs and the MANIFEST are buffered by ZenFS, and files are never mapped into memory.
  FileOptions OptimizeForLogWrite(const FileOptions& file_options,
                                  const rocksdb::DBOptions& db_options) const override;
  FileOptions OptimizeForManifestWrite(const FileOptions& file_options) const override;
  void SanitizeFileOptions(FileOptions* opts) const override;
#if ZENFS_ROCKSDB_HAS_READ_ASYNC
  IOStatus Poll(std::vector<void*>& io_handles, size_t min_completions) override;
  IOStatus AbortIO(std::vector<void*>& io_handles) override;
#endif
  // Asynchronous reads, where ReadAsync returns before the read has ended.
#if ZENFS_ROCKSDB_HAS_SUPPORTED_OPS
  void SupportedOps(int64_t& supported_ops) override;
#elif ZENFS_ROCKSDB_HAS_USE_ASYNC_IO
  bool use_async_io() override { return volume_->StartsReads(); }
#endif

  const std::shared_ptr<Volume>& volume() const { return volume_; }

 private:
  // Wraps an opened handle, or turns its error into a status.
  template <typename File, typename Base>
  IOStatus Wrap(Result<std::unique_ptr<FileHandle>> handle, const std::string& path, std::string_view doing,
                const FileOptions& options, std::unique_ptr<Base>* result);

  const std::string uri_;
  const std::shared_ptr<Volume> volume_;
};

}  // namespace zenfs
