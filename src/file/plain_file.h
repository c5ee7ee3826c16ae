// The content of one open plain file: its extents on the device and the bytes in its buffer. All handles of an open
// file share one object. It knows no names and commits nothing.
//
//   0 ........ committed ........ written, not committed ........ buffered ........ size()
//
// The volume's Sync does this, under the catalog's lock on the file, so one Sync at a time:
//   auto p = file.Drain();          // pads and writes the tail; p describes the change
//   log.Commit(SetExtents{p...}, {.data_since = p.data_since});
//   file.MarkCommitted(p);          // only after success; after a failure the next Drain repeats the change
//
// If the file grew after a Drain, the next one writes the padded last block again, at the same file offset. Zones
// cannot be overwritten, so the block gets a new place. The next SetExtents replaces the old extent from the
// block's offset on.
//
// Checksums: each byte is summed once, before it is copied into the buffer. Each extent is committed with the CRC of
// its file bytes. An extent that is cut also has a checksum, unless that needs long reads (extent_checksum.h).
//
// Errors are sticky: after a device write, or a flush that covers it, failed finally, all later Append, Drain and
// other writing calls return that error (design rule 10). kNoSpace and kTimedOut are not sticky: the failed call
// changed nothing and can be repeated once there is room.
//
// Invariants
//   the extents cover [0, E); the tail buffer, if not empty, covers [T, size()); T is a multiple of the block size
//   T <= E <= size(); bytes in both are equal; E < size() exactly if there are bytes to write
//
// Threads: all calls are thread-safe. A mutex serialises writers and is held during device writes. Reads of bytes on
// the device need only a shared pointer to an immutable view.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "device/flush_mark.h"
#include "file/extent_reader.h"
#include "file/extent_splice.h"
#include "file/file_view.h"
#include "file/flushed_tail.h"
#include "file/tail_buffer.h"
#include "model/edit.h"
#include "model/file_record.h"
#include "zone/extent_sink.h"

namespace zenfs {

class PlainFile {
 public:
  struct Deps {
    ZonedDevice* device = nullptr;
    ZoneManager* zones = nullptr;
    ExtentSink* sink = nullptr;
    std::uint64_t buffer_bytes = 1 << 20;  // a multiple of the block size
    std::chrono::seconds space_wait{30};   // a write waits this long for a zone, then kNoSpace or kTimedOut
    std::atomic<std::uint64_t>* padding = nullptr;  // if not null: counts the bytes of padding written
    std::shared_ptr<BufferArea> buffers;            // null: TryFlush cannot use append buffers
    FileId id;                                      // names the file in `buffers`
  };

  // The result of Drain: the content of a SetExtents edit.
  struct Drained {
    bool changed = false;                 // false: nothing to commit
    std::optional<FlushMark> data_since;  // taken before the first write since MarkCommitted; empty: no write
    std::uint64_t from_offset = 0;
    std::vector<Extent> extents;
    std::uint64_t size = 0;
    std::uint64_t mtime_seconds = 0;  // PlainFile::changed_seconds(), or now

    SetExtents ToEdit(FileId id) const { return {id, from_offset, extents, size, mtime_seconds}; }
  };

  // `extents` and `size` are the committed ones; empty and 0 for a new file. Pins the zones of the extents. The
  // objects in `deps` outlive the file.
  PlainFile(const Deps& deps, std::vector<Extent> extents, std::uint64_t size, Lifetime lifetime);
  ~PlainFile();

  // Sets the lifetime for later device writes.
  void SetLifetime(Lifetime lifetime) EXCLUDES(mutex_);
  Lifetime lifetime() const { return lifetime_.load(std::memory_order_relaxed); }

  // Copies the bytes into the buffer and writes full buffers to the device. Large aligned appends are written without a
  // copy, except their last block, because direct writers write it again. If `crc` is given and is not the checksum of
  // the bytes, returns kCorruption and appends nothing.
  [[nodiscard]] Status Append(ByteView bytes, KnownCrc crc = std::nullopt) EXCLUDES(mutex_);
  // Like Append, if `offset` == size(). If `offset` is in the buffered tail, which contains at least the last block
  // of the file, overwrites the tail from there on, as RocksDB's direct writer does with its last page. Otherwise
  // returns kInvalidArgument.
  [[nodiscard]] Status PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc = std::nullopt)
      EXCLUDES(mutex_);
  // Truncates to `size` <= size(). Errors: kNotSupported for a larger size. The next commit makes it durable.
  [[nodiscard]] Status Truncate(std::uint64_t size) EXCLUDES(mutex_);
  // Writes whole blocks of the buffer to the device and keeps the last block, full or not, in the buffer.
  [[nodiscard]] Status WriteBack() EXCLUDES(mutex_);
  // Call this when the last handle for writing is closed. Releases unneeded memory of the buffer and the claim on a
  // zone. Bytes that are not drained stay in the buffer.
  void EndWriting() EXCLUDES(mutex_);

  // Returns true if the whole file now survives the death of the process: its uncommitted part is on the device or in
  // an append buffer, which records the extents. Returns false if this needs a sync. May write whole blocks of the
  // buffer to the device. Precondition: the creation of the file is committed.
  [[nodiscard]] Result<bool> TryFlush() EXCLUDES(mutex_);
  // True while an append buffer keeps an uncommitted part of the file.
  bool HasFlushedBytes() const EXCLUDES(mutex_);
  // Releases the append buffer. Call this once the file has no name.
  void ForgetFlushedBytes() EXCLUDES(mutex_);

  // Makes the device writes of a Drain, so that a later Drain only writes bytes that were appended in between.
  [[nodiscard]] Status WriteAll() EXCLUDES(mutex_);
  [[nodiscard]] Result<Drained> Drain() EXCLUDES(mutex_);
  void MarkCommitted(const Drained& drained) EXCLUDES(mutex_);
  // True if the file has extents.
  bool on_device() const { return view_.Get()->end() != 0; }
  // True if Drain would return changed == true.
  bool dirty() const EXCLUDES(mutex_);

  // True if the published view has an extent in `zone`.
  bool LiesIn(ZoneId zone) const;
  std::uint64_t size() const EXCLUDES(mutex_);
  // Time of the last change of the bytes through this object, in seconds since 1970; 0 if there was none.
  std::uint64_t changed_seconds() const { return changed_seconds_.load(std::memory_order_relaxed); }
  // Reads into.size() bytes, fewer only at the end of the file. Returns the number of bytes read.
  [[nodiscard]] Result<std::size_t> Read(std::uint64_t offset, ByteSpan into) const EXCLUDES(mutex_);
  // Shortens request.into to the bytes read.
  void ReadMany(std::span<ReadRequest> requests) const EXCLUDES(mutex_);

  // Call this after reclaim moved the file. `extents` are the committed extents; later reads use them. The caller
  // excludes syncs, so no Drain waits for its MarkCommitted. Returns false if a writer holds the lock, for example
  // while it waits for space that only reclaim can make. Then the file keeps its old extents and pins, and the next
  // commit restates all extents, unless a repeated call succeeds before.
  [[nodiscard]] bool TryReplaceCommitted(const std::vector<Extent>& extents) EXCLUDES(mutex_);

 private:
  // plain_file_write.cc
  Status Healthy() const REQUIRES(mutex_);
  Status CheckFlushes() REQUIRES(mutex_);
  // Returns the edit that commits the present extents.
  SetExtents Uncommitted() const REQUIRES(mutex_);
  FlushedTail::Content ToFlush() const REQUIRES(mutex_);
  void CutFlushed() REQUIRES(mutex_);
  void NoteWrite(FlushMark mark) REQUIRES(mutex_);
  bool Clean() const REQUIRES(mutex_) { return map_.end() == size_; }
  // For assertions: true if the invariants hold.
  bool Sound() const REQUIRES(mutex_);
  std::uint64_t TailOffset() const REQUIRES(mutex_) { return size_ - tail_.size(); }
  // Returns the length of the last block of `size` bytes, full or not. It stays in the buffer, because a direct writer
  // writes it again.
  std::size_t HeldBack(std::size_t size) const {
    return size == 0 ? 0 : size - RoundDown(size - 1, geometry_.block_size);
  }
  Status LoadTail() REQUIRES(mutex_);
  // Bytes to append, after Inspect.
  struct Incoming {
    ByteView bytes;
    bool gather = false;        // write without a copy
    std::size_t held_back = 0;  // length of the last block, which goes to the buffer if `gather`
    KnownCrc crc;  // of `bytes` without the last `held_back`; unknown if the buffer calculates it
    std::uint32_t held_back_crc = 0;
  };
  Result<Incoming> Inspect(ByteView bytes, KnownCrc crc) const REQUIRES(mutex_);
  Status Changed(Status status, std::uint64_t bytes) REQUIRES(mutex_);
  Status AppendLocked(ByteView bytes, KnownCrc crc) REQUIRES(mutex_);
  Status AppendInspected(const Incoming& incoming) REQUIRES(mutex_);
  Status AppendBuffered(ByteView bytes, KnownCrc crc) REQUIRES(mutex_);
  Status AppendGathered(const Incoming& incoming) REQUIRES(mutex_);
  Status WriteFront(std::size_t bytes, std::size_t kept) REQUIRES(mutex_);
  Status Place(std::uint64_t offset, std::span<const ByteView> pieces, std::uint64_t content,
               std::uint32_t crc) REQUIRES(mutex_);
  // The state to restore, with checksums, if an append fails when it is partly written.
  struct Rollback {
    std::uint64_t size = 0;
    std::uint64_t tail_offset = 0;
    std::uint32_t tail_crc = 0;
    std::uint64_t before_offset =
        0;  // file offset of the extent in front of the tail, if tail_offset is not 0
    KnownCrc before = std::nullopt;  // checksum of that extent up to the tail
  };
  Rollback RollbackToHere() const REQUIRES(mutex_);
  KnownCrc CrcAfter(const Rollback& rollback) const REQUIRES(mutex_);
  Status CheckTruncate(std::uint64_t size) const REQUIRES(mutex_);
  Result<std::optional<Extent>> FrontOfCut(std::uint64_t size) EXCLUDES(mutex_);
  void TruncateLocked(std::uint64_t size, KnownCrc front) REQUIRES(mutex_);
  void SetSize(std::uint64_t size) REQUIRES(mutex_);
  void CutDevice(std::uint64_t end, KnownCrc front = std::nullopt) REQUIRES(mutex_);
  KnownCrc CrcWhenCut(std::uint64_t end, KnownCrc front) const REQUIRES(mutex_);
  void ReplaceCommitted(const std::vector<Extent>& extents) REQUIRES(mutex_);
  void NoteChange() REQUIRES(mutex_);

  // plain_file_read.cc
  struct DeviceRead {
    std::shared_ptr<const FileView> view;
    std::size_t total = 0;        // bytes of the request before the end of the file
    std::size_t from_device = 0;  // length of their front that must be read through the view
  };
  DeviceRead PrepareRead(std::uint64_t offset, ByteSpan into) const EXCLUDES(mutex_);

  const Deps deps_;
  const Geometry& geometry_;
  std::atomic<Lifetime> lifetime_;
  mutable Mutex mutex_{LockRank::kPlainFile};
  ExtentMap map_ GUARDED_BY(mutex_);
  TailBuffer tail_ GUARDED_BY(mutex_);
  FlushedTail flushed_ GUARDED_BY(mutex_);
  bool flushed_since_drain_ GUARDED_BY(mutex_) = false;
  std::uint64_t committed_size_ GUARDED_BY(mutex_);
  SinkCursor cursor_ GUARDED_BY(mutex_);
  std::optional<Error> failed_ GUARDED_BY(mutex_);
  std::uint64_t size_ GUARDED_BY(mutex_);
  // The differences between the map and the committed extents, and the extents of the last Drain.
  ExtentChange changed_ GUARDED_BY(mutex_);
  ExtentChange changed_since_drain_ GUARDED_BY(mutex_);
  // The committed extents have other places than those in the map. Used by one commit at a time.
  std::atomic<bool> moved_away_ = false;
  // Taken before the first device write since the last MarkCommitted, and Drain; empty: nothing was written.
  std::optional<FlushMark> written_since_commit_ GUARDED_BY(mutex_);
  std::optional<FlushMark> written_since_drain_ GUARDED_BY(mutex_);
  // Pins the zones that a commit in flight may name, until MarkCommitted or the next Drain.
  std::shared_ptr<const FileView> drained_ GUARDED_BY(mutex_);

  std::atomic<std::uint64_t> published_size_;  // == size_
  std::atomic<std::uint64_t> changed_seconds_ = 0;
  ViewSlots view_;  // of map_
};

}  // namespace zenfs
