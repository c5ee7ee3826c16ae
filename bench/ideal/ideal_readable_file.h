// Readable files of the ideal file system: a read is a copy, and a direct one takes the time of one read command.
//
// Asynchronous reads: ReadAsync copies and returns; Poll waits until the drive has completed them.
//
// Threads: IdealRandomAccessFile any, IdealSequentialFile one at a time.
#pragma once

#include <memory>
#include <string>

#include "drive.h"
#include "memory_file.h"
#include "rocksdb_plugin/rocksdb_version.h"

namespace zenfs {

// The common source of both kinds of files.
struct IdealSource {
  std::shared_ptr<IdealDrive> drive;
  std::unique_ptr<MemoryFile> file;
  std::string path;
  bool direct = false;

  // Copies the bytes. Returns when the drive would complete the read; does not wait.
  SteadyTime Start(uint64_t offset, size_t n, Slice* result, char* scratch) const;
};

class IdealRandomAccessFile final : public rocksdb::FSRandomAccessFile {
 public:
  explicit IdealRandomAccessFile(IdealSource source) : source_(std::move(source)) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* dbg) const override;
  IOStatus MultiRead(FSReadRequest* reqs, size_t num_reqs, const IOOptions& options,
                     IODebugContext* dbg) override;
#if ZENFS_ROCKSDB_HAS_READ_ASYNC
  IOStatus ReadAsync(FSReadRequest& req, const IOOptions& opts, ReadAsyncCallback cb, void* cb_arg,
                     void** io_handle, rocksdb::IOHandleDeleter* del_fn, IODebugContext* dbg) override;
#endif
  IOStatus Prefetch(uint64_t, size_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::NotSupported("ideal: there is no page cache");
  }
  bool use_direct_io() const override { return source_.direct; }
  size_t GetRequiredBufferAlignment() const override { return kIdealBlock; }
  size_t GetUniqueId(char*, size_t) const override { return 0; }
  IOStatus InvalidateCache(size_t, size_t) override { return IOStatus::OK(); }
#if ZENFS_ROCKSDB_AT_LEAST(10, 5)
  IOStatus GetFileSize(uint64_t* size) override {
    *size = source_.file->size();
    return IOStatus::OK();
  }
#endif

 private:
  const IdealSource source_;
};

class IdealSequentialFile final : public rocksdb::FSSequentialFile {
 public:
  explicit IdealSequentialFile(IdealSource source) : source_(std::move(source)) {}

  IOStatus Read(size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* dbg) override;
  IOStatus PositionedRead(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                          IODebugContext* dbg) override;
  // At most to the end of the file.
  IOStatus Skip(uint64_t n) override;
  bool use_direct_io() const override { return source_.direct; }
  size_t GetRequiredBufferAlignment() const override { return kIdealBlock; }
  IOStatus InvalidateCache(size_t, size_t) override { return IOStatus::OK(); }

 private:
  const IdealSource source_;
  uint64_t position_ = 0;
};

#if ZENFS_ROCKSDB_HAS_READ_ASYNC
// Implements FileSystem::Poll and AbortIO for handles of ReadAsync.
[[nodiscard]] IOStatus PollIdealReads(std::vector<void*>& io_handles);
[[nodiscard]] IOStatus AbortIdealReads(std::vector<void*>& io_handles);
#endif

}  // namespace zenfs
