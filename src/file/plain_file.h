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
// Errors are sticky, except kNoSpace and kTimedOut (plain_file_parts.h, design rule 10).
//
// Parts
//   PlainContent      the extents and the tail buffer; FileExtents is the part that is on the device
//   FlushedTail       the flushed, uncommitted part in an append buffer
//   PlainFileParts    both, with the lock
//   plain_file_append.h, plain_file_write.h, plain_file_flush.h: appends, device writes and flushes of these parts
//
// Threads: all calls are thread-safe. A mutex serialises writers and is held during device writes. Reads of bytes on
// the device need only a shared pointer to an immutable view.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "device/flush_mark.h"
#include "file/extent_reader.h"
#include "file/pending_read.h"
#include "file/plain_file_parts.h"
#include "model/edit.h"
#include "model/file_record.h"

namespace zenfs {

class PlainFile {
 public:
  using Deps = PlainFileDeps;

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
  void SetLifetime(Lifetime lifetime) EXCLUDES(file_.mutex);
  Lifetime lifetime() const { return file_.lifetime.load(std::memory_order_relaxed); }

  // Copies the bytes into the buffer and writes full buffers to the device. Large aligned appends are written without a
  // copy, except their last block, because direct writers write it again. If `crc` is given and is not the checksum of
  // the bytes, returns kCorruption and appends nothing.
  [[nodiscard]] Status Append(ByteView bytes, KnownCrc crc = std::nullopt) EXCLUDES(file_.mutex);
  // Like Append, if `offset` == size(). If `offset` is in the buffered tail, which contains at least the last block
  // of the file, overwrites the tail from there on, as RocksDB's direct writer does with its last page. Otherwise
  // returns kInvalidArgument.
  [[nodiscard]] Status PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc = std::nullopt)
      EXCLUDES(file_.mutex);
  // Truncates to `size` <= size(). Returns true if the shorter file survives the death of the process as well as the longer
  // one did; false if this needs a sync. The next commit makes it durable.
  // Errors, which leave the file as it is: kNotSupported for a larger size; those of FrontOfDivided.
  [[nodiscard]] Result<bool> Truncate(std::uint64_t size) EXCLUDES(file_.mutex);
  // Writes whole blocks of the buffer to the device and keeps the last block, full or not, in the buffer.
  [[nodiscard]] Status WriteBack() EXCLUDES(file_.mutex);
  // Call this when the last handle for writing is closed. Releases unneeded memory of the buffer and the claim on a
  // zone. Bytes that are not drained stay in the buffer.
  void EndWriting() EXCLUDES(file_.mutex);

  // Returns true if the whole file now survives the death of the process: its uncommitted part is on the device or in
  // an append buffer, which records the extents. Returns false if this needs a sync. May write whole blocks of the
  // buffer to the device. Precondition: the creation of the file is committed.
  [[nodiscard]] Result<bool> TryFlush() EXCLUDES(file_.mutex);
  // True while an append buffer keeps an uncommitted part of the file.
  bool HasFlushedBytes() const EXCLUDES(file_.mutex);
  // True if the next mount finds all bytes that are not committed, in shared memory.
  bool KeptForNextMount() const EXCLUDES(file_.mutex);
  // Releases the append buffer. Call this once the file has no name.
  void ForgetFlushedBytes() EXCLUDES(file_.mutex);

  // Makes the device writes of a Drain, so that a later Drain only writes bytes that were appended in between.
  [[nodiscard]] Status WriteAll() EXCLUDES(file_.mutex);
  [[nodiscard]] Result<Drained> Drain() EXCLUDES(file_.mutex);
  void MarkCommitted(const Drained& drained) EXCLUDES(file_.mutex);
  // True if the file has extents.
  bool on_device() const { return file_.published.view.Get()->end() != 0; }
  // True if Drain would return changed == true.
  bool dirty() const EXCLUDES(file_.mutex);

  // True if the published view has an extent in `zone`.
  bool LiesIn(ZoneId zone) const;
  std::uint64_t size() const { return file_.published.size.load(std::memory_order_acquire); }
  // Time of the last change of the bytes through this object, in seconds since 1970; 0 if there was none.
  std::uint64_t changed_seconds() const { return file_.changed_seconds.load(std::memory_order_relaxed); }
  // Reads into.size() bytes, fewer only at the end of the file. Returns the number of bytes read.
  [[nodiscard]] Result<std::size_t> Read(std::uint64_t offset, ByteSpan into,
                                         ReadSource source = ReadSource::kDevice) const EXCLUDES(file_.mutex);
  // Shortens request.into to the bytes read.
  void ReadMany(std::span<ReadRequest> requests, ReadSource source = ReadSource::kDevice) const
      EXCLUDES(file_.mutex);
  // Starts a Read. The result may outlive the file, not `deps`.
  [[nodiscard]] std::unique_ptr<PendingRead> StartRead(std::uint64_t offset, ByteSpan into,
                                                       ReadSource source) const EXCLUDES(file_.mutex);
  // About the bytes on the device.
  void Advise(std::uint64_t offset, std::uint64_t length, CacheAdvice advice) const;

  // Call this after reclaim moved the file. `extents` are the committed extents; later reads use them. The caller
  // excludes syncs, so no Drain waits for its MarkCommitted. Returns false if a writer holds the lock, for example
  // while it waits for space that only reclaim can make. Then the file keeps its old extents and pins, and the next
  // commit restates all extents, unless a repeated call succeeds before.
  [[nodiscard]] bool TryReplaceCommitted(const std::vector<Extent>& extents) EXCLUDES(file_.mutex);

 private:
  // Sets the time of the last change if the call succeeded and changed `bytes` > 0 bytes. Returns `status`.
  Status Changed(Status status, std::uint64_t bytes);

  PlainFileParts file_;
};

}  // namespace zenfs
