// Moves the live data of files out of zones, so that the zones can be reset. It moves ranges of a file's bytes, each with a place and a proof
// of its bytes:
//   extents in a zone of data           their committed checksums
//   frames in a group of log zones      their own checksums, for example of a MANIFEST beside dead frames of deleted logs
// Frames become extents. Those of a file are moved from the first one on, so the remaining frames are always its tail.
//
// Design rule 5: a file points to a copy only after the copy was written, read back, compared, flushed and committed.
// After any error the file keeps what it has. Bytes that do not fit their proof are not moved: the right ones may still be
// recovered from the device, and a copy with a new checksum would hide the damage. Copies have checksums.
//
// Copies are committed in pieces of at most 1 MiB, or one frame. If an attempt ends early, at most one piece is wasted and the
// committed pieces stay moved. An extent that is longer than a piece is first read whole, to verify its checksum.
//
// Extents are copied without a lock: if a file changes meanwhile, it keeps its old extents and the copy becomes garbage.
//
//   WithFile{ is it free? } --> copy, compare --> WithFile{ same extents as copied? --> commit --> NoteMoved }
//        ^------------------------------------ next piece -----------------------------------------------+
//
// Frames are copied within WithFile: nothing in a file tells that it was truncated and appended to meanwhile. Of a deleted file that is still
// open nothing is committed (MovableFiles::DeletedLogs).
//
// If the device copies by itself (ZonedDevice::Copy) and the checksum of an extent is known, it does the writing, and the
// checksum of what is read back replaces the comparison. After the first copy that it refuses or does wrong, it is not asked
// again.
//
// Threads: one at a time; Stop from any.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "file/extent_checksum.h"
#include "model/edit.h"
#include "model/file_record.h"
#include "reclaim/movable_files.h"
#include "wal/framed_file.h"
#include "wal/log_store.h"
#include "zone/extent_sink.h"

namespace zenfs {

class ZoneMover {
 public:
  // Called after each piece with the time that it took, so that the caller can slow the mover down. May be empty.
  using Pause = std::function<void(std::chrono::nanoseconds)>;

  struct Deps {
    ZonedDevice& device;
    ZoneManager& zones;
    MovableFiles& files;
    LogStore& logs;
    ExtentSink& sink;                     // for copies of extents
    ExtentSink& log_sink;                 // for copies of frames
    std::atomic<std::uint64_t>& cleaned;  // counts the bytes of files that were moved out of frames
    bool device_copy = true;              // false: the host copies
  };
  // All in `deps` outlives the mover.
  explicit ZoneMover(const Deps& deps);

  // Both return OK if no file has an extent in `zone`, or a frame in `group`, any more; `group` is ascending. Errors: those of
  // reads, writes and commits; kCorruption if a checksum was wrong or a copy read back differently; kBusy if a file could not be moved
  // now; kShutdown after Stop. After kCorruption and kBusy all other files were moved.
  [[nodiscard]] Status MoveExtents(ZoneId zone, const Pause& pause = {});
  [[nodiscard]] Status MoveFrames(std::span<const ZoneId> group, const Pause& pause = {});
  void Stop() { stopped_.store(true, std::memory_order_relaxed); }

 private:
  struct Buffer {  // allocated at its first use
    std::uint64_t capacity = 0;
    AlignedBuffer memory{};
  };
  struct Sum {
    std::uint64_t length = 0;  // of the piece; an append to the file may have cut what is left of it since
    std::uint32_t crc = 0;
  };
  // Copies of file bytes, and the pins of their zones until the commit.
  struct Copies {
    std::vector<Extent> to;
    std::vector<ZonePin> pins;
  };
  // One piece of extents: extents or fronts of extents, and their copies. Copying sets the checksums of `from`.
  struct Piece : Copies {
    std::vector<Extent> from;
  };

  // kShutdown once Stop was called. For each piece, because the unmount waits.
  [[nodiscard]] Status CheckNotStopped() const;

  // --- extents ---
  [[nodiscard]] Status MoveFile(FileRecord file, ZoneId zone, const Pause& pause);
  Piece NextPiece(const FileRecord& file, ZoneId zone) const;
  // Returns the extents of the file after the commit.
  [[nodiscard]] Result<std::vector<Extent>> MovePiece(const FileRecord& file, Piece& piece,
                                                      const Pause& pause);
  [[nodiscard]] Status SumPieces(const Extent& extent, const Pause& pause);
  [[nodiscard]] Result<ByteView> ReadFront(const FileRecord& file, Extent& front);
  // Null if it is not known.
  const Sum* FindSum(const Extent& front) const;
  KnownCrc SumOf(const Extent& front) const;
  [[nodiscard]] Result<bool> CopyInside(Extent& front, Lifetime lifetime, Copies& copies);
  bool LeaveToHost(std::size_t first, Copies& copies);
  [[nodiscard]] Status NotMoved(const Extent& extent) const {
    return Fail(ExtentDamage(deps_.device, extent).With("not moved"));
  }

  // --- frames ---
  // `record`: null if the file is deleted.
  [[nodiscard]] Status MoveFramesOf(FramedFile& file, const FileRecord* record,
                                    std::span<const ZoneId> group);
  // Copies a range. `last`: the last extent of the file, with its checksum; null if nobody knows it any more. Sets `*again` to the checksum
  // of the bytes of the copy that were in extents before.
  [[nodiscard]] Result<Copies> CopyFrames(const FramedFile& file, const CleaningRange& range,
                                          const Extent* last, std::uint32_t* again);
  [[nodiscard]] Result<std::uint64_t> ReadFrames(const FramedFile& file, const CleaningRange& range,
                                                 const Extent* last, ByteSpan into);

  // --- both ---
  using Send = std::function<Result<ExtentSink::Placed>(std::uint64_t done)>;
  // Adds to `copies` what `send` writes of the file bytes from a byte on, until all is written.
  [[nodiscard]] Status Place(std::uint64_t file_offset, std::uint64_t length, Copies& copies,
                             const Send& send);
  // Writes the whole blocks `bytes`, of which `length` are the file's, and reads them back.
  [[nodiscard]] Status Write(ExtentSink& sink, SinkCursor& cursor, Lifetime lifetime,
                             std::chrono::seconds wait, std::uint64_t file_offset, std::uint64_t length,
                             ByteView bytes, Copies& copies);
  [[nodiscard]] Status Verify(DeviceOffset place, ByteView written);
  [[nodiscard]] Result<ByteView> Read(Buffer& buffer, std::uint64_t at, DeviceOffset place,
                                      std::uint64_t length);

  const Deps deps_;
  std::atomic<bool> stopped_{false};
  // A claim for each lifetime, so that copies of extents have zones of their own while enough zones are left.
  std::array<SinkCursor, kLifetimeCount> cursors_;
  std::uint64_t longest_copy_;  // inside the device, in bytes; 0: the host copies
  Buffer piece_;
  Buffer check_;
  Buffer window_;
  // State of the extents of the present file that are longer than a piece.
  std::map<std::uint64_t, Sum> sums_;         // of their pieces, by file offset
  std::optional<DeviceOffset> window_begin_;  // place of the extent in window_; empty if it does not fit
  std::uint64_t window_bytes_ = 0;
};

// Bytes of metadata, about, that the moves write for this file: each piece is a commit, which restates the extents or windows of the file from
// the first moved one on.
[[nodiscard]] std::uint64_t RestatedBytes(const FileRecord& file, ZoneId zone, const Geometry& geometry);
[[nodiscard]] std::uint64_t RestatedBytes(const FramedFile& file, std::span<const ZoneId> group);

// The extents of a file after a move, and the edit that sets them.
struct MovedExtents {
  std::vector<Extent> all;
  SetExtents edit;
};
// Replaces `from` by `to` in the extents of `file`. `from` are extents of the file or fronts of extents, with
// checksums; `to` covers the same file bytes. Both are in file order.
[[nodiscard]] MovedExtents ReplaceExtents(const FileRecord& file, const std::vector<Extent>& from,
                                          const std::vector<Extent>& to, const Geometry& geometry);

}  // namespace zenfs
