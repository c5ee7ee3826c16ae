// The content of one open plain file: what is on the device and what waits in its buffer. One object per open
// file, shared by all its handles; it knows no names and commits nothing.
//
//   0 ........ committed ........ written, not committed ........ buffered ........ size()
//
// Sync, as the volume does it (one at a time for each file: the catalog's lock on it sees to that):
//   auto p = file.Drain();          // pads and writes the tail; p describes what changed
//   log.Commit(SetExtents{p...}, {.data_since = p.data_since});
//   file.MarkCommitted(p);          // or nothing: a failed commit leaves it to the next Drain
//
// The padded tail block is written again at the same file offset by the next Drain if the file grew; since a
// zone can't overwrite, that puts the block in a new place and the next SetExtents replaces the old extent
// from its block-aligned offset on.
//
// Checksums: the bytes are summed once, as they come and before they are copied; each extent is committed with the CRC
// of its file bytes. An extent that is cut keeps one, too, unless that would take long reads (extent_checksum.h).
//
// Errors are sticky: once a device write has failed for good, or a flush behind it, every later Append, Drain and Close of this
// file returns that error (rule 10). For want of a zone (kNoSpace, kTimedOut) nothing sticks: the call that
// failed changed nothing, and it may be tried again once there is room.
//
// Invariants
//   extents cover [0, E); the tail buffer, if it holds anything, [T, size()), T a multiple of the block size
//   T <= E <= size(): what both hold is the same; E < size() exactly if there is something to write
//
// Threads: any. Writers are serialised by an internal mutex that is held during device writes; readers of
// bytes that are on the device take only a shared pointer to an immutable view.
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
    std::chrono::seconds space_wait{30};   // how long a write waits for a zone before kNoSpace/kTimedOut
    std::atomic<std::uint64_t>* padding =
        nullptr;                           // bytes written behind a file's end are added here, if given
    std::shared_ptr<StagingArea> staging;  // null: what is flushed has to be committed
    FileId id;                             // names the file in `staging`
  };

  // What a Drain made durable-to-be: the argument of a SetExtents edit.
  struct Drained {
    bool changed = false;                 // false: nothing to commit
    std::optional<FlushMark> data_since;  // before the first write since MarkCommitted; none: no write
    std::uint64_t from_offset = 0;
    std::vector<Extent> extents;
    std::uint64_t size = 0;
    std::uint64_t mtime_seconds = 0;  // PlainFile::changed_seconds(), or now

    SetExtents ToEdit(FileId id) const { return {id, from_offset, extents, size, mtime_seconds}; }
  };

  // `extents`, `size` as committed (empty for a new file). Pins their zones. `deps` parts outlive the file.
  PlainFile(const Deps& deps, std::vector<Extent> extents, std::uint64_t size, Lifetime lifetime);
  ~PlainFile();

  // For what is written from now on.
  void SetLifetime(Lifetime lifetime) EXCLUDES(mutex_);
  Lifetime lifetime() const { return lifetime_.load(std::memory_order_relaxed); }

  // Copies into the buffer; writes full buffers to the device. Large aligned appends go there uncopied, but
  // for the last block, which is held back because direct writers write it again. `crc`, if given, is what the
  // bytes are meant to have: kCorruption if they don't, and none of them is taken.
  [[nodiscard]] Status Append(ByteView bytes, KnownCrc crc = std::nullopt) EXCLUDES(mutex_);
  // `offset` == size(), or lies in the held-back tail, which is at least the last block of the file (then the
  // tail is overwritten from there, as RocksDB's direct writer does with its last page). Anything else:
  // kInvalidArgument with both numbers.
  [[nodiscard]] Status PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc = std::nullopt)
      EXCLUDES(mutex_);
  // To equal or shorter. Longer: kNotSupported. The cut takes effect on the device with the next Drain +
  // commit.
  [[nodiscard]] Status Truncate(std::uint64_t size) EXCLUDES(mutex_);
  // Writes whole blocks of the buffer to the device, keeps the tail (at most one block).
  [[nodiscard]] Status WriteBack() EXCLUDES(mutex_);
  // The last handle for writing is gone: gives back the buffer and the claim on a zone. What is not drained
  // stays buffered.
  void EndWriting() EXCLUDES(mutex_);

  // True if all of the file survives the death of the process now: what the metadata log does not have yet is on the
  // device or in a shared buffer, which says where. The file's creation is committed. False: a sync has to do it. At most
  // writes whole blocks of the buffer to the device.
  [[nodiscard]] Result<bool> TryFlush() EXCLUDES(mutex_);
  // True while something is in a shared buffer only.
  bool HasFlushedBytes() const EXCLUDES(mutex_);
  // The file has no name any more: its flushed bytes are nobody's.
  void ForgetFlushedBytes() EXCLUDES(mutex_);

  // What Drain writes, without collecting it: a Drain that follows finds nothing to write, unless there was an append.
  [[nodiscard]] Status WriteAll() EXCLUDES(mutex_);
  [[nodiscard]] Result<Drained> Drain() EXCLUDES(mutex_);
  void MarkCommitted(const Drained& drained) EXCLUDES(mutex_);
  // True if bytes of the file have gone to zones.
  bool on_device() const { return view_.Get()->end() != 0; }
  // True when Drain would return changed == true.
  bool dirty() const EXCLUDES(mutex_);

  // Whether some of what readers see of it stands in `zone`.
  bool LiesIn(ZoneId zone) const;
  std::uint64_t size() const EXCLUDES(mutex_);
  // When its bytes were last changed through this object, seconds since 1970; 0 if they were not.
  std::uint64_t changed_seconds() const { return changed_seconds_.load(std::memory_order_relaxed); }
  // Reads at most into.size() bytes, fewer only at the end of the file; returns how many.
  [[nodiscard]] Result<std::size_t> Read(std::uint64_t offset, ByteSpan into) const EXCLUDES(mutex_);
  // request.into is shortened to what was read.
  void ReadMany(std::span<ReadRequest> requests) const EXCLUDES(mutex_);

  // After reclaim put extents elsewhere: readers move to the new places with their next read. `extents` is the
  // committed list. Called like a sync, one at a time, with no Drain waiting for its MarkCommitted. False if a writer is
  // at work, perhaps waiting for space that only reclaim can make: the file stays where it is, in zones that it pins, and
  // what it commits next says so of all of it. To be tried again.
  [[nodiscard]] bool TryReplaceCommitted(const std::vector<Extent>& extents) EXCLUDES(mutex_);

 private:
  // plain_file_write.cc
  Status Healthy() const REQUIRES(mutex_);
  Status CheckFlushes() REQUIRES(mutex_);
  // The edit that commits the extents as they are.
  SetExtents Uncommitted() const REQUIRES(mutex_);
  FlushedTail::Content ToFlush() const REQUIRES(mutex_);
  void CutFlushed() REQUIRES(mutex_);
  void NoteWrite(FlushMark mark) REQUIRES(mutex_);
  bool Clean() const REQUIRES(mutex_) { return map_.end() == size_; }
  // For assertions: whether the invariants hold.
  bool Sound() const REQUIRES(mutex_);
  std::uint64_t TailOffset() const REQUIRES(mutex_) { return size_ - tail_.size(); }
  // What stays in the buffer when so much is written: the last block, full or not, because a direct writer
  // writes it again.
  std::size_t HeldBack(std::size_t size) const {
    return size == 0 ? 0 : size - RoundDown(size - 1, geometry_.block_size);
  }
  Status LoadTail() REQUIRES(mutex_);
  // Bytes about to be appended. `crc` is that of what is written or buffered at once: all, or all but the last
  // `held_back`; it may be unknown of what is buffered, which is summed there.
  struct Incoming {
    ByteView bytes;
    bool gather = false;
    std::size_t held_back = 0;
    KnownCrc crc;
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
  // What an append that fails half way leaves: the file as it was, with its checksums.
  struct Rollback {
    std::uint64_t size = 0;
    std::uint64_t tail_offset = 0;
    std::uint32_t tail_crc = 0;
    std::uint64_t before_offset = 0;  // of the extent in front of the tail, if tail_offset is not 0
    KnownCrc before = std::nullopt;   // its checksum, up to the tail
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
    std::size_t total = 0;        // bytes of the request that exist
    std::size_t from_device = 0;  // of these, at the front, to be read through the view
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
  // Where the map begins to differ from the committed extents, and from those of the last Drain.
  ExtentChange changed_ GUARDED_BY(mutex_);
  ExtentChange changed_since_drain_ GUARDED_BY(mutex_);
  // The committed extents lie elsewhere than the map says.
  std::atomic<bool> moved_away_ = false;  // set and read by who may commit, one at a time
  // When the first device write since the last MarkCommitted, or Drain, began; none: nothing was written.
  std::optional<FlushMark> written_since_commit_ GUARDED_BY(mutex_);
  std::optional<FlushMark> written_since_drain_ GUARDED_BY(mutex_);
  // Pins what a commit in flight may name, until MarkCommitted or the next Drain.
  std::shared_ptr<const FileView> drained_ GUARDED_BY(mutex_);

  std::atomic<std::uint64_t> published_size_;  // == size_
  std::atomic<std::uint64_t> changed_seconds_ = 0;
  ViewSlots view_;  // of map_
};

}  // namespace zenfs
