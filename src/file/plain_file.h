// The content of one open plain file: its extents on the device and the bytes in its buffer. All handles of an open
// file share one object. It knows no names and commits nothing.
//
//   0 ........ committed ........ written, not committed ........ buffered ........ size()
//
// A sync (OpenPlainFile::WriteBack) does this, under the catalog's lock on the file, so one Sync at a time:
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
// Errors are sticky: after a device write, or a flush that covers it, failed finally, all later calls that write return
// that error (design rule 10). kNoSpace and kTimedOut are not sticky: the failed call changed nothing and can be
// repeated once there is room.
//
// Parts
//   PlainContent      the extents and the tail buffer; FileExtents is the part that is on the device
//   FlushedTail       the flushed, uncommitted part in an append buffer
//
// Threads: all calls are thread-safe. A mutex serialises writers and is held during device writes. Reads of bytes on
// the device need only a shared pointer to an immutable view.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "device/flush_mark.h"
#include "file/extent_reader.h"
#include "file/flushed_tail.h"
#include "file/plain_content.h"
#include "model/edit.h"
#include "model/file_record.h"
#include "zone/extent_sink.h"

namespace zenfs {

class PlainFile {
 public:
  struct Deps {
    ZonedDevice* device = nullptr;
    ReadPool* reads = nullptr;  // of the device
    ZoneManager* zones = nullptr;
    ExtentSink* sink = nullptr;
    std::uint64_t buffer_bytes = 1 << 20;  // at least the block size
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

  // Sets the lifetime for later device writes.
  void SetLifetime(Lifetime lifetime) EXCLUDES(mutex_);

  // Copies the bytes into the buffer and writes full buffers to the device. Large aligned appends are written without a
  // copy, except their last block, because direct writers write it again. If `crc` is given and is not the checksum of
  // the bytes, returns kCorruption and appends nothing.
  [[nodiscard]] Status Append(ByteView bytes, KnownCrc crc = std::nullopt) EXCLUDES(mutex_);
  // Like Append, if `offset` == size(). If `offset` is in the buffered tail, which contains at least the last block
  // of the file, overwrites the tail from there on, as RocksDB's direct writer does with its last page. Otherwise
  // returns kInvalidArgument.
  [[nodiscard]] Status PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc = std::nullopt)
      EXCLUDES(mutex_);
  // Truncates to `size` <= size(). Returns true if the shorter file survives the death of the process as well as the longer
  // one did; false if this needs a sync. The next commit makes it durable.
  // Errors, which leave the file as it is: kNotSupported for a larger size; those of FrontOfDivided.
  [[nodiscard]] Result<bool> Truncate(std::uint64_t size) EXCLUDES(mutex_);
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
  // True if the next mount finds all bytes that are not committed, in shared memory.
  bool KeptForNextMount() const EXCLUDES(mutex_);
  // Releases the append buffer. Call this once the file has no name.
  void ForgetFlushedBytes() EXCLUDES(mutex_);

  // Makes the device writes of a Drain, so that a later Drain only writes bytes that were appended in between.
  [[nodiscard]] Status WriteAll() EXCLUDES(mutex_);
  [[nodiscard]] Result<Drained> Drain() EXCLUDES(mutex_);
  void MarkCommitted(const Drained& drained) EXCLUDES(mutex_);
  // True if the file has extents.
  bool on_device() const { return published_.view.Get()->end() != 0; }
  // True if Drain would return changed == true.
  bool dirty() const EXCLUDES(mutex_);

  // True if the published view has an extent in `zone`.
  bool LiesIn(ZoneId zone) const;
  std::uint64_t size() const { return published_.size.load(std::memory_order_acquire); }
  // Time of the last change of the bytes through this object, in seconds since 1970; 0 if there was none.
  std::uint64_t changed_seconds() const { return changed_seconds_.load(std::memory_order_relaxed); }
  // Reads into.size() bytes, fewer only at the end of the file. Returns the number of bytes read.
  [[nodiscard]] Result<std::size_t> Read(std::uint64_t offset, ByteSpan into,
                                         ReadSource source = ReadSource::kDevice) const EXCLUDES(mutex_);
  // Shortens request.into to the bytes read.
  void ReadMany(std::span<ReadRequest> requests, ReadSource source = ReadSource::kDevice) const
      EXCLUDES(mutex_);
  // Starts a Read. The result must not outlive the file.
  [[nodiscard]] std::unique_ptr<PendingRead> StartRead(std::uint64_t offset, ByteSpan into,
                                                       ReadSource source) const EXCLUDES(mutex_);
  // About the bytes on the device.
  void Advise(std::uint64_t offset, std::uint64_t length, CacheAdvice advice) const;

  // Call this after reclaim moved the file. `extents` are the committed extents; later reads use them. The caller
  // excludes syncs, so no Drain waits for its MarkCommitted. Returns false if a writer holds the lock, for example
  // while it waits for space that only reclaim can make. Then the file keeps its old extents and pins, and the next
  // commit restates all extents, unless a repeated call succeeds before.
  [[nodiscard]] bool TryReplaceCommitted(const std::vector<Extent>& extents) EXCLUDES(mutex_);

 private:
  // Bytes to append, after Inspect.
  struct Incoming {
    ByteView bytes;
    bool gather = false;        // write without a copy
    std::size_t held_back = 0;  // length of the last block, which goes to the buffer if `gather`
    KnownCrc crc;  // of `bytes` without the last `held_back`; unknown if the buffer calculates it
    std::uint32_t held_back_crc = 0;
  };
  // The front of a request, which must be read from the device.
  struct DeviceRead {
    std::shared_ptr<const FileView> view;
    std::size_t total = 0;        // bytes of the request before the end of the file
    std::size_t from_device = 0;  // length of their front that must be read through the view
  };

  // For assertions: true if the invariants hold.
  bool Sound() const REQUIRES(mutex_) { return content_.Sound(); }
  // Sets the time of the last change if the call succeeded and changed `bytes` > 0 bytes. Returns `status`.
  Status Changed(Status status, std::uint64_t bytes);

  // --- appends: each byte is summed once, before it is copied into the tail buffer or written. A failed one changes
  // nothing but the place of the bytes before it ---
  [[nodiscard]] Status AppendLocked(ByteView bytes, KnownCrc crc) REQUIRES(mutex_);
  // Overwrites the tail buffer from `offset` on and appends the rest of `bytes`.
  [[nodiscard]] Status OverwriteTail(std::uint64_t offset, ByteView bytes, KnownCrc crc) REQUIRES(mutex_);
  // Reads the last block of the file into the empty tail buffer. It is written again with the bytes behind it, so the
  // whole extent that it belongs to is verified first.
  [[nodiscard]] Status LoadTail() REQUIRES(mutex_);
  // Decides how the bytes are appended, calculates the checksums for that, and verifies `crc`.
  [[nodiscard]] Result<Incoming> Inspect(ByteView bytes, KnownCrc crc) const REQUIRES(mutex_);
  [[nodiscard]] Status AppendInspected(const Incoming& incoming) REQUIRES(mutex_);
  [[nodiscard]] Status AppendGathered(const Incoming& incoming) REQUIRES(mutex_);
  // `crc` is the CRC of all `bytes`.
  [[nodiscard]] Status AppendBuffered(ByteView bytes, KnownCrc crc) REQUIRES(mutex_);

  // --- device writes: what was written is in an extent afterwards, with the checksum of its bytes. An error leaves the
  // content unchanged; one of the device stays in health_ ---
  // Writes the first `bytes` of the tail buffer: whole blocks, or the whole tail with padding. The last `kept` of them
  // also stay in the buffer.
  [[nodiscard]] Status WriteTail(std::size_t bytes, std::size_t kept) REQUIRES(mutex_);
  // Writes the tail buffer except its last block.
  [[nodiscard]] Status WriteWholeBlocks() REQUIRES(mutex_);
  // Writes the tail buffer, with padding, unless all bytes are written. The last block also stays in the buffer.
  [[nodiscard]] Status WriteWholeTail() REQUIRES(mutex_);
  // Appends `bytes` without a copy: writes them together with the tail buffer, which is empty afterwards. Both are whole
  // blocks. `crc`: that of `bytes`.
  [[nodiscard]] Status WriteGathered(ByteView bytes, std::uint32_t crc) REQUIRES(mutex_);
  // Writes `pieces` and returns their extents, from the offset of the tail buffer on. The first `content` bytes of
  // `pieces` belong to the file and have the CRC `crc`; the rest is padding.
  [[nodiscard]] Result<std::vector<FileExtents::Placed>> Place(std::span<const ByteView> pieces,
                                                               std::uint64_t content, std::uint32_t crc)
      REQUIRES(mutex_);

  // --- truncation ---
  [[nodiscard]] Status CheckTruncate(std::uint64_t size) const REQUIRES(mutex_);
  // True if a cut at `size` divides an extent that the tail buffer does not have. Only the tail buffer gives the
  // checksum of the rest without a read.
  bool DividesAnExtent(std::uint64_t size) const REQUIRES(mutex_);
  // True if `front` is the front of the extent at `size`. That extent may have become longer since.
  bool IsFrontOfDivided(const Extent& front, std::uint64_t size) const REQUIRES(mutex_);
  // Cuts the file at `size` <= its size, and its flushed part. `front`: see PlainContent::CrcWhenCut.
  void Cut(std::uint64_t size, KnownCrc front) REQUIRES(mutex_);

  // --- flushes: a mount uses the flushed part of a file only if it makes the file longer than the committed one. So a
  // change that does not must be committed ---
  // `with_edit`: also the parts that only Keep needs.
  FlushedTail::Content ToFlush(bool with_edit) const REQUIRES(mutex_);
  // Call this after a cut of the content. If a mount then finds the shorter file, cuts the kept part too, or keeps the
  // rest of it. Otherwise leaves it as it is: until the shorter file is committed, a mount finds the one from before.
  void CutFlushed() REQUIRES(mutex_);
  // True if a mount would find bytes behind the end of the file, because they were committed or flushed before a cut.
  // Then the cut must be committed.
  bool MountFindsMore() const REQUIRES(mutex_);

  // --- commit ---
  // Bytes that a failed flush may have lost cannot be written again, because they are in memory no longer.
  [[nodiscard]] Status CheckFlushes() REQUIRES(mutex_);
  // The edit that commits the present extents. Precondition: they changed.
  SetExtents EditToCommit() const REQUIRES(mutex_);

  // Copies the bytes that are only in the buffer, and returns the part that the caller reads from the device without a
  // lock.
  DeviceRead PrepareRead(std::uint64_t offset, ByteSpan into) const EXCLUDES(mutex_);

  const Deps deps_;
  const Geometry& geometry_;
  std::atomic<Lifetime> lifetime_;
  std::atomic<std::uint64_t> changed_seconds_ = 0;  // time of the last change of the bytes; 0: none
  // The committed extents have other places than those in content_. Used by one commit at a time.
  std::atomic<bool> moved_away_ = false;
  PublishedContent published_;

  mutable Mutex mutex_{LockRank::kPlainFile};
  PlainContent content_ GUARDED_BY(mutex_);
  FlushedTail flushed_ GUARDED_BY(mutex_);
  bool flushed_since_drain_ GUARDED_BY(mutex_) = false;
  SinkCursor cursor_ GUARDED_BY(mutex_);
  Status health_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
