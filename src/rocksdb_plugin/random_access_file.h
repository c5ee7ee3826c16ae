// A file being read at any place, for RocksDB. Threads: any, at the same time.
//
// A read without memory to read into (no scratch) gives a pointer into a view of the file, valid as long as this
// object: what RocksDB expects of a file with allow_mmap_reads. Of one opened with use_mmap_reads every read does.
#pragma once

#include <memory>

#include "base/mutex.h"
#include "rocksdb_plugin/mapped_file.h"
#include "rocksdb_plugin/mounted_file.h"

namespace zenfs {

class RandomAccessFile final : public rocksdb::FSRandomAccessFile {
 public:
  RandomAccessFile(MountedFile file, const FileOptions& options);

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* dbg) const override;
  // All requests in flight together, but those without scratch.
  IOStatus MultiRead(FSReadRequest* reqs, size_t num_reqs, const IOOptions& options,
                     IODebugContext* dbg) override;
#if ZENFS_ROCKSDB_HAS_READ_ASYNC
  // Reads before it returns; the callback is called before it returns, and there is no handle to poll.
  IOStatus ReadAsync(FSReadRequest& req, const IOOptions& opts, ReadAsyncCallback cb, void* cb_arg,
                     void** io_handle, rocksdb::IOHandleDeleter* del_fn, IODebugContext* dbg) override;
#endif
  // NotSupported: there is no cache to read into, and RocksDB then reads ahead into a buffer of its own.
  IOStatus Prefetch(uint64_t offset, size_t n, const IOOptions& options, IODebugContext* dbg) override;
  size_t GetUniqueId(char* id, size_t max_size) const override;
#if ZENFS_ROCKSDB_HAS_SIZE_OF_READ_FILE
  IOStatus GetFileSize(uint64_t* result) override;
#endif
#if ZENFS_ROCKSDB_HAS_OPEN_METADATA
  IOStatus GetFileOpenMetadata(std::string* metadata) override;
#endif
  bool use_direct_io() const override { return direct_; }
  size_t GetRequiredBufferAlignment() const override { return file_.block_size(); }
  IOStatus InvalidateCache(size_t offset, size_t length) override;

 private:
  IOStatus ReadMapped(uint64_t offset, size_t n, Slice* result) const EXCLUDES(map_mutex_);

  MountedFile file_;
  const bool direct_;
  const bool mapped_;
  mutable Mutex map_mutex_;  // leaf: held while the map is made, not while it is read
  mutable std::unique_ptr<MappedFile> map_ GUARDED_BY(map_mutex_);  // made at the first read that needs it
};

}  // namespace zenfs
