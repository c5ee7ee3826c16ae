// A file for reads at any offset, for RocksDB, and the three ways of such a read that are not plain: read ahead, from a map, and
// asynchronously.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/mutex.h"
#include "base/status.h"
#include "rocksdb_plugin/mounted_file.h"
#include "volume/file_handle.h"

namespace zenfs {

// Readahead of a file that is read in order through the host's cache, as a kernel's file system does it for each open file.
//
// The kernel's own readahead is off (backends/host/kernel_cache.h): it would read beyond the file into what is not written yet.
//
// A few streams are followed at once, because RocksDB reads a file for a compaction through the same object as for its users.
// A stream begins with two reads, the second at the end of the first. It then has a window ahead of it, which doubles.
//
// Threads: any.
class FileReadahead {
 public:
  static constexpr std::uint64_t kFirstWindow = 64 << 10;
  static constexpr std::uint64_t kLargestWindow = 1 << 20;

  struct Range {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;  // 0: nothing
  };
  // Notes a read of [offset, offset + length), which comes next. Returns what should be read ahead.
  [[nodiscard]] Range Next(std::uint64_t offset, std::uint64_t length) EXCLUDES(mutex_);

 private:
  struct Stream {
    std::uint64_t end = UINT64_MAX;  // of its last read
    std::uint64_t ahead = 0;         // end of what was read ahead
    std::uint64_t window = 0;
    std::uint64_t used = 0;  // when, in reads of the file
  };

  Mutex mutex_{LockRank::kLeaf};
  std::array<Stream, 4> streams_ GUARDED_BY(mutex_);
  std::uint64_t reads_ GUARDED_BY(mutex_) = 0;
};

// The bytes of a file at fixed addresses, for readers that provide no memory: RocksDB with
// allow_mmap_reads, its PlainTable and cuckoo tables, which keep pointers while the file is open.
//
// Zones can't be mapped into memory. A MappedFile reserves addresses for the whole file and reads
// pieces of 256 KiB when they are needed. They stay until it is destroyed, so at worst the file is
// in memory once.
//
// Its size is the size of the file when it was made: RocksDB opens a table after it is complete.
// Threads: any. Pointers are valid as long as the MappedFile.
class MappedFile {
 public:
  // `file` must outlive the map. Errors: kNoSpace if the process has no addresses left.
  [[nodiscard]] static Result<std::unique_ptr<MappedFile>> Of(const FileHandle& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Returns [offset, offset + n), fewer bytes only at the end of the map. Errors: those of
  // FileHandle::Read; the next call then reads the pieces again.
  [[nodiscard]] Result<ByteView> Read(std::uint64_t offset, std::size_t n);

 private:
  MappedFile(const FileHandle& file, ByteSpan memory);
  Status Load(std::size_t piece) EXCLUDES(mutex_);
  // Whether the piece has been read. Set after the last of its bytes was written.
  std::atomic_ref<std::byte> Loaded(std::size_t piece) const { return std::atomic_ref(loaded_[piece]); }

  const FileHandle& file_;
  const ByteSpan memory_;  // mapped; as long as the file
  const std::shared_ptr<std::byte[]>
      loaded_;  // by piece. Takes memory where it is set: the file may claim any size
  Mutex mutex_{
      LockRank::kMappedFile};  // held during the read of a piece; taken before the locks of an open file
};

// A file for reads at any offset, for RocksDB. Threads: any, concurrently.
//
// A file that is not opened for direct reads is read through the host's page cache, as RocksDB's users expect it, and read ahead
// when it is read in order, unless RocksDB has hinted at random reads (advise_random_on_open) and the read is not for a compaction.
// With use_direct_reads each read is one of the device.
//
// A read without memory to read into (no scratch) returns a pointer into a map of the file, valid
// as long as this object, as RocksDB expects it with allow_mmap_reads. With use_mmap_reads every
// read does so.
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

#if ZENFS_ROCKSDB_HAS_READ_ASYNC
// FileSystem::Poll and AbortIO, for the handles of RandomAccessFile::ReadAsync.
//
// Poll waits for each of its handles and calls their callbacks, whatever number it is asked
// for, as PosixFileSystem does. AbortIO does the same with the status Aborted: without the callback, RocksDB would leak what
// belongs to the read. It waits for nothing: the device reads into memory of ours, and Poll copies. A scan gives up a read or two
// with each seek, and would wait for the device each time.
//
// Threads: any thread may poll or abort a handle, one at a time. A file may be closed before its handles are deleted.
[[nodiscard]] IOStatus PollAsyncReads(const std::vector<void*>& handles);
[[nodiscard]] IOStatus AbortAsyncReads(const std::vector<void*>& handles);
#endif

}  // namespace zenfs
