// Files of the ideal file system that are read: a read is a copy, and the time of one read command.
//
// Asynchronous reads are that: ReadAsync copies and returns, Poll waits until the drive is done with them.
//
// Threads: IdealRandomAccessFile any, IdealSequentialFile one at a time.
#pragma once

#include <memory>
#include <string>

#include "drive.h"
#include "memory_file.h"
#include "rocksdb_plugin/rocksdb_version.h"

namespace zenfs {

// What both read from.
struct IdealSource {
  std::shared_ptr<IdealDrive> drive;
  std::unique_ptr<MemoryFile> file;
  std::string path;
  bool direct = false;

  // Copies; returns when the drive would have done so. Nothing is waited for.
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
  // To the end of the file at most.
  IOStatus Skip(uint64_t n) override;
  bool use_direct_io() const override { return source_.direct; }
  size_t GetRequiredBufferAlignment() const override { return kIdealBlock; }
  IOStatus InvalidateCache(size_t, size_t) override { return IOStatus::OK(); }

 private:
  const IdealSource source_;
  uint64_t position_ = 0;
};

#if ZENFS_ROCKSDB_HAS_READ_ASYNC
// As FileSystem::Poll and AbortIO want it of handles that ReadAsync has made.
[[nodiscard]] IOStatus PollIdealReads(std::vector<void*>& io_handles);
[[nodiscard]] IOStatus AbortIdealReads(std::vector<void*>& io_handles);
#endif

}  // namespace zenfs
