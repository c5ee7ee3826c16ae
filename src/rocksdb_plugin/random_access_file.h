// A file for reads at any offset, for RocksDB. Threads: any, concurrently.
//
// A file that is not opened for direct reads is read through the host's page cache, as RocksDB's users expect it, and read ahead
// when it is read in order, unless RocksDB has hinted at random reads (advise_random_on_open) and the read is not for a compaction.
// With use_direct_reads each read is one of the device.
//
// A read without memory to read into (no scratch) returns a pointer into a map of the file, valid
// as long as this object, as RocksDB expects it with allow_mmap_reads. With use_mmap_reads every
// read does so.
#pragma once

#include <atomic>
#include <memory>

#include "base/mutex.h"
#include "rocksdb_plugin/file_readahead.h"
#include "rocksdb_plugin/mapped_file.h"
#include "rocksdb_plugin/mounted_file.h"

namespace zenfs {

class RandomAccessFile final : public rocksdb::FSRandomAccessFile {
 public:
  RandomAccessFile(MountedFile file, const FileOptions& options);

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* dbg) const override;
  // Sends all requests at once, except those without scratch.
  IOStatus MultiRead(FSReadRequest* reqs, size_t num_reqs, const IOOptions& options,
                     IODebugContext* dbg) override;
#if ZENFS_ROCKSDB_HAS_READ_ASYNC
  // Where the volume can't start reads (Volume::StartsReads), and for a mapped file, it reads before it returns: the callback has
  // been called then, and there is no handle to poll.
  IOStatus ReadAsync(FSReadRequest& req, const IOOptions& opts, ReadAsyncCallback cb, void* cb_arg,
                     void** io_handle, rocksdb::IOHandleDeleter* del_fn, IODebugContext* dbg) override;
#endif
  // Begins to fill the page cache. NotSupported for a direct file: RocksDB then reads ahead into its own buffer.
  IOStatus Prefetch(uint64_t offset, size_t n, const IOOptions& options, IODebugContext* dbg) override;
  size_t GetUniqueId(char* id, size_t max_size) const override;
#if ZENFS_ROCKSDB_HAS_SIZE_OF_READ_FILE
  IOStatus GetFileSize(uint64_t* result) override;
#endif
#if ZENFS_ROCKSDB_HAS_OPEN_METADATA
  IOStatus GetFileOpenMetadata(std::string* metadata) override;
#endif
  void Hint(AccessPattern pattern) override;
  bool use_direct_io() const override { return direct_; }
  size_t GetRequiredBufferAlignment() const override { return file_.block_size(); }
  IOStatus InvalidateCache(size_t offset, size_t length) override;

 private:
  void ReadAhead(std::uint64_t offset, std::size_t n, const IOOptions& options) const;
  IOStatus ReadMapped(uint64_t offset, size_t n, Slice* result) const EXCLUDES(map_mutex_);

  MountedFile file_;
  const bool direct_;
  const bool mapped_;
  const ReadSource source_;
  std::atomic<bool> random_{false};  // the last hint
  mutable FileReadahead readahead_;
  mutable Mutex map_mutex_;  // leaf: held while the map is made, not during reads
  mutable std::unique_ptr<MappedFile> map_ GUARDED_BY(map_mutex_);  // made by the first read that needs it
};

}  // namespace zenfs
