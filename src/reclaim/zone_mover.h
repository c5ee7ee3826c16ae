// Moves the live data of a volume out of zones, so that the zones can be reset, while the files are in use. It moves ranges
// of a file's bytes, each with a place and a proof of its bytes:
//   extents in a zone of data           their committed checksums
//   frames in a group of log zones      their own checksums, for example of a MANIFEST beside dead frames of deleted logs
// Frames become extents. The frames of a file are moved from the first one on, so the remaining ones are always its tail.
//
// Invariants
//   a file points to a copy only after the copy was written, read back, compared, flushed and, unless the file is deleted,
//   committed (design rule 5); after any error the file keeps what it has
//   bytes that do not fit their proof are not moved: the right ones may still be recovered from the device, and a copy with
//   a new checksum would hide the damage; all copies have checksums
//   the mover never waits for a thread that may wait for space: neither for a lock on a name nor for a file's buffer
//
// Copies are committed in pieces of at most 1 MiB, or one frame. If an attempt ends early, at most one piece is wasted and the
// committed pieces stay moved. An extent that is longer than a piece is first read whole, to verify its checksum.
//
// Extents are copied without a lock: if a file changes meanwhile, it keeps its old extents and the copy becomes garbage.
//
//   lock{ is it free? } --> copy, compare --> lock{ same extents as copied? --> commit --> notify the open file }
//        ^------------------------------------ next piece -----------------------------------------------+
//
// A file that is being written can't be notified at once: its relocation is pending, and it reads its old extents, which it
// pins. Frames are copied with the lock held: nothing in a file shows that it was truncated and appended to meanwhile. A
// deleted log that is still open, such as one that a slow replica reads, keeps log zones too. No mount finds it again, so
// copies of its frames need no commit.
//
// If the device copies by itself (ZonedDevice::Copy) and the checksum of an extent is known, the device does the writing, and
// the checksum of the bytes that are read back replaces the comparison. After the first copy that the device refuses or does
// wrong, the mover does not ask it again.
//
// Threads: any; one zone at a time. mover_mutex_ is held while a zone is emptied, and is taken before all locks of a commit;
// mutex_ is a leaf lock.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/mutex.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "device/flush_mark.h"
#include "device/zoned_device.h"
#include "file/extent_checksum.h"
#include "model/edit.h"
#include "model/file_record.h"
#include "open/commit_path.h"
#include "open/open_file_table.h"
#include "open/write_accounting.h"
#include "reclaim/victim.h"
#include "wal/framed_file.h"
#include "wal/log_space.h"
#include "zone/extent_sink.h"

namespace zenfs {

class ZoneMover {
 public:
  // Called after each piece with the time that it took, so that the caller can slow the mover down. May be empty.
  using Pause = std::function<void(std::chrono::nanoseconds)>;

  struct Deps {
    ZonedDevice& device;
    ZoneManager& zones;
    Catalog& catalog;
    CommitPath& commits;
    OpenFileTable& files;
    LogStore& logs;
    LogSpace& log;
    ExtentSink& sink;      // for copies of extents
    ExtentSink& log_sink;  // for copies of frames
    WrittenBytes& written;
    const WriteAccounting& accounting;
    bool device_copy = true;  // false: the host copies (MountOptions::device_copy)
  };
  // The parts in `deps` outlive it.
  explicit ZoneMover(const Deps& deps);

  // Before the first move: keeps `files` where they are until LogsAreRecovered. A mount recovers them from frames and buffers,
  // plain ones among them: it has read where their extents are, and will seal them.
  void KeepUntilRecovered(std::set<FileId> files) { recovering_ = std::move(files); }
  // Call this once the mount has put all framed files into the store. From now on they may be moved.
  void LogsAreRecovered() { logs_recovered_ = true; }
  // Ends a move in progress soon, with kShutdown, and all later ones.
  void Stop() { stopped_.store(true, std::memory_order_relaxed); }

  // Releases dead log zones, then returns the present state of the log. Costs O(log zones + framed files and the zones of
  // their frames), independent of the number of plain files.
  LogView LookAtLog();
  // True if the zone would stay in use after a move: a file in it is open for writing, or deleted and still being read.
  bool IsHeld(ZoneId zone) const { return deps_.files.HoldsZone(zone); }
  // Bytes of metadata that the commits of the copies would write if the victim, which is not active, were emptied now.
  std::uint64_t RestatedBytes(const Victim& victim) const;

  // Moves all live data out of the victim; an active zone is only finished. After kCorruption and kBusy all other files were
  // moved. Errors and what the collector does:
  //   kBusy, kTimedOut     a file could not be moved now: try again soon
  //   kNoSpace, kReadOnly  no room for copies or their commit: skip the zone until room or live bytes change
  //   kCorruption          a checksum was wrong, or a copy read back differently: skip the zone until it was reset
  //   all others           those of reads, writes and commits; kShutdown after Stop: skip the zone after a few attempts
  [[nodiscard]] Status Empty(const Victim& victim, const Pause& pause = {}) EXCLUDES(mover_mutex_, mutex_);
  // Moves all live data out of a full zone of file data, whether or not space is short: for tests. Errors:
  // kInvalidArgument if the zone is not full or holds no file data; those of Empty.
  [[nodiscard]] Status EmptyZone(ZoneId zone) EXCLUDES(mover_mutex_, mutex_);
  // Notifies the open files of pending relocations again; true while there are any.
  bool RetryPending() EXCLUDES(mutex_);

  // One sentence for each extent or frame that was not copied because it is damaged.
  std::vector<std::string> damage() const EXCLUDES(mutex_);

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
  struct Destination {
    ExtentSink& sink;
    SinkCursor& cursor;
    Lifetime lifetime = Lifetime::kNotSet;
    std::chrono::seconds wait;  // for a zone
  };
  // A file that no other action changes, and its committed record: null if it has none.
  struct Locked {
    Catalog::Action action;
    std::shared_ptr<const FileRecord> record;
  };

  [[nodiscard]] Status EmptyVictim(const Victim& victim, const Pause& pause) REQUIRES(mover_mutex_);
  // The closed zones of a victim of the log, ascending.
  std::vector<ZoneId> GroupOf(const Victim& victim) const;
  // The committed files with extents in the zone.
  std::vector<std::shared_ptr<const FileRecord>> FilesIn(ZoneId zone) const;
  // kShutdown once Stop was called. For each piece, because the unmount waits.
  [[nodiscard]] Status CheckNotStopped() const;
  void NoteDamage(const Status& status) EXCLUDES(mutex_);

  // Both never wait. Errors: kBusy if the file is in use; LockToMove also if it is not committed or can't be moved now.
  [[nodiscard]] Result<Locked> TryLock(FileId id) const;
  [[nodiscard]] Result<Locked> LockToMove(FileId id) const;
  // Flushes the device's cache, then commits.
  [[nodiscard]] Status Commit(std::vector<Edit> edits) REQUIRES(mover_mutex_);
  // Notifies the file, which is locked, of its committed extents if it is open. False if it is being written.
  [[nodiscard]] bool Notify(FileId id, const std::vector<Extent>& extents);
  void AddPending(FileId id) EXCLUDES(mutex_);

  // --- extents ---
  // OK if no file has an extent in the zone any more.
  [[nodiscard]] Status MoveExtents(ZoneId zone, const Pause& pause) REQUIRES(mover_mutex_);
  [[nodiscard]] Status MoveFile(FileRecord file, ZoneId zone, const Pause& pause) REQUIRES(mover_mutex_);
  Piece NextPiece(const FileRecord& file, ZoneId zone) const;
  // Returns the extents of the file after the commit.
  [[nodiscard]] Result<std::vector<Extent>> MovePiece(const FileRecord& file, Piece& piece,
                                                      const Pause& pause) REQUIRES(mover_mutex_);
  [[nodiscard]] Status CopyPiece(const FileRecord& file, Piece& piece) REQUIRES(mover_mutex_);
  [[nodiscard]] Status SumPieces(const Extent& extent, const Pause& pause) REQUIRES(mover_mutex_);
  [[nodiscard]] Result<ByteView> ReadFront(const FileRecord& file, Extent& front) REQUIRES(mover_mutex_);
  // Null if it is not known.
  const Sum* FindSum(const Extent& front) const REQUIRES(mover_mutex_);
  KnownCrc SumOf(const Extent& front) const REQUIRES(mover_mutex_);
  [[nodiscard]] Result<bool> CopyInside(Extent& front, Lifetime lifetime, Copies& copies)
      REQUIRES(mover_mutex_);
  bool LeaveToHost(std::size_t first, Copies& copies) REQUIRES(mover_mutex_);
  [[nodiscard]] Status NotMoved(const Extent& extent) const {
    return Fail(ExtentDamage(deps_.device, extent).With("not moved"));
  }

  // --- frames ---
  // OK if no file has a frame in the group any more, which is ascending.
  [[nodiscard]] Status MoveFrames(std::span<const ZoneId> group, const Pause& pause) REQUIRES(mover_mutex_);
  // `deleted`: the file is in no commit.
  [[nodiscard]] Status MoveFramesOf(FramedFile& file, bool deleted, std::span<const ZoneId> group,
                                    const Pause& pause) REQUIRES(mover_mutex_);
  // `record`: null if the file is deleted.
  [[nodiscard]] Status MoveRange(FramedFile& file, const FileRecord* record, CleaningRange range)
      REQUIRES(mover_mutex_);
  // Copies a range. `last`: the last extent of the file, with its checksum; null if nobody knows it any more. Sets `*again`
  // to the checksum of the bytes of the copy that were in extents before.
  [[nodiscard]] Result<Copies> CopyFrames(const FramedFile& file, const CleaningRange& range,
                                          const Extent* last, std::uint32_t* again) REQUIRES(mover_mutex_);
  [[nodiscard]] Result<std::uint64_t> ReadFrames(const FramedFile& file, const CleaningRange& range,
                                                 const Extent* last, ByteSpan into);
  // Flushes the device's cache, because a later flush that fails could lose the copies under their readers. Then the copies
  // count as dead, and only pins keep them.
  [[nodiscard]] Status SettleDeleted(const std::vector<Extent>& copies) REQUIRES(mover_mutex_);

  // --- both ---
  using Send = std::function<Result<ExtentSink::Placed>(std::uint64_t done)>;
  // Adds to `copies` what `send` writes of the file bytes from a byte on, until all is written.
  [[nodiscard]] Status Place(std::uint64_t file_offset, std::uint64_t length, Copies& copies,
                             const Send& send);
  // Writes the whole blocks `bytes`, of which `length` are the file's, and reads them back.
  [[nodiscard]] Status Write(const Destination& destination, std::uint64_t file_offset, std::uint64_t length,
                             ByteView bytes, Copies& copies) REQUIRES(mover_mutex_);
  [[nodiscard]] Status Verify(DeviceOffset place, ByteView written) REQUIRES(mover_mutex_);
  [[nodiscard]] Result<ByteView> Read(Buffer& buffer, std::uint64_t at, DeviceOffset place,
                                      std::uint64_t length);

  const Deps deps_;
  std::set<FileId> recovering_;  // constant from the start of the collector on
  std::atomic<bool> logs_recovered_{false};
  std::atomic<bool> stopped_{false};

  Mutex mover_mutex_;  // without a rank, because tests use files on the mover's thread, at its sync points
  FlushMark copying_since_ GUARDED_BY(mover_mutex_) =
      FlushMark::AtOpen();  // before the first copy from the present zone
  // A claim for each lifetime, so that copies of extents have zones of their own while enough zones are left.
  std::array<SinkCursor, kLifetimeCount> cursors_ GUARDED_BY(mover_mutex_);
  std::uint64_t longest_copy_ GUARDED_BY(mover_mutex_);  // inside the device, in bytes; 0: the host copies
  Buffer piece_ GUARDED_BY(mover_mutex_);
  Buffer check_ GUARDED_BY(mover_mutex_);
  Buffer window_ GUARDED_BY(mover_mutex_);
  // State of the extents of the present file that are longer than a piece.
  std::map<std::uint64_t, Sum> sums_ GUARDED_BY(mover_mutex_);  // of their pieces, by file offset
  std::optional<DeviceOffset> window_begin_
      GUARDED_BY(mover_mutex_);  // place of the extent in window_; empty if it does not fit
  std::uint64_t window_bytes_ GUARDED_BY(mover_mutex_) = 0;

  mutable Mutex mutex_{LockRank::kVolumeLeaf};
  std::set<FileId> pending_ GUARDED_BY(mutex_);
  std::vector<std::string> damage_ GUARDED_BY(mutex_);
};

// About how many bytes of metadata the moves write for this file: each piece is a commit, which restates the extents of the
// file from the first moved one on.
[[nodiscard]] std::uint64_t RestatedBytes(const FileRecord& file, ZoneId zone, const Geometry& geometry);

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
