// Where the placed bytes of one framed file are: FrameMap has their places, FileZones pins the zones of these places.
//
// Threads: no lock; the lock of FramedFile guards both.
// Units: bytes, file offsets unless a name says otherwise, seconds since 1970.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "device/flush_mark.h"
#include "device/geometry.h"
#include "model/edit.h"
#include "model/file_record.h"
#include "wal/frame_read.h"
#include "wal/log_zones.h"
#include "zone/zone_manager.h"

namespace zenfs {

// Bytes [from, to) of a file, which a cleaning moves into extents. `from` is a multiple of the block size,
// `to` is the end of a frame. Empty if `to` is 0.
struct CleaningRange {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  // FrameMap::UnstableSince when the range was chosen. If a flush failed since then, the bytes read may be
  // lost.
  FlushMark unstable_since = FlushMark::AtOpen();
};

// A change of the committed part of a file, from its plan to its commit: a truncation, or a cleaning, which replaces the
// front of the file by extents.
struct RewritePlan {
  enum class Kind { kTruncation, kCleaning };

  Kind kind = Kind::kTruncation;
  std::vector<Edit> edits;      // for one commit
  std::uint64_t end = 0;        // truncation: the new size; cleaning: the end of the moved bytes
  std::vector<Extent> extents;  // cleaning: where the moved bytes are now
  std::vector<LogWindow> windows;
  std::uint64_t open_first_sequence = 0;
  std::uint64_t mtime_seconds = 0;                 // truncation
  FlushMark unstable_since = FlushMark::AtOpen();  // truncation: FrameMap::UnstableSince when it was planned
};

// In both copies of the metadata log: a window has 4 numbers, most of them of 2 to 5 bytes.
inline constexpr std::uint64_t kRestatedBytesAWindow = 24;

// The places of the bytes of a framed file on the device, and the proof of each of them that a mount
// accepts.
//
//   0 ...... extents ...... | window | window | open window ...... | end()
//                extents_end_                 ^                    ^
//                                open_first_sequence_        next_sequence_
//
// The committed record of the file proves extents and sealed windows. A mount takes the frames of the open
// window up to the first gap. The frames up to stable_end_ are on stable media. A failed flush of the
// device may lose the frames after it.
//
// A rewrite is planned here, committed by the caller, and applied here after the commit. A plan changes nothing. Frames may be
// published between the plan and Apply, but only one rewrite may be pending.
//
// Invariants
//   extents_end_ <= end() and stable_end_ <= end()
//   windows_ are in file order; each ends between extents_end_ and end(); their sequences are below
//   open_first_sequence_
//   stable_sequence_ < next_sequence_ and open_first_sequence_ <= next_sequence_
//   a published frame either continues the file at end() with next_sequence_, or replaces the frame with its
//   sequence
//
// No I/O, no calls of other parts. Errors: only of PlanRead, PlanVerifiedRead and PlanCleaning.
class FrameMap {
 public:
  // `record` as committed. `index` has its extents and all frames that replay found; they are stable.
  // `epoch` is the epoch of this mount. `mtime_seconds` is the time that a mount would find.
  FrameMap(const FileRecord& record, FrameIndex index, std::uint64_t epoch, std::uint64_t mtime_seconds);

  // --- frames ---
  // The end of the last extent or frame.
  std::uint64_t end() const { return index_.end(); }
  const std::vector<Piece>& pieces() const { return index_.pieces(); }
  std::uint64_t next_sequence() const { return next_sequence_; }
  // Adds a frame that is on the device, or replaces the frame that has its sequence. `before`: a mark from
  // before the frame was written.
  void Publish(const Piece& frame, FlushMark before);
  // The time for the header of the next frame, if the file was last appended to at `mtime_seconds`.
  std::uint16_t TimeOfNextFrame(std::uint64_t mtime_seconds) const;
  // A frame with `time` in its header was published. The time of the next frame is encoded as the distance
  // from it.
  void NoteTime(std::uint16_t time);

  // --- stable media ---
  std::uint64_t stable_end() const { return stable_end_; }
  std::uint64_t stable_sequence() const { return stable_sequence_; }
  // Call this after a successful flush of the device, if no flush failed since UnstableSince: all frames
  // are stable.
  void PromiseStable();
  // A mark from before the first unstable frame was written; `now` if there is none.
  FlushMark UnstableSince(FlushMark now) const { return end() == stable_end_ ? now : unstable_since_; }
  // The first unstable frame of the open window that holds `from` or begins after it.
  std::optional<Piece> FindUnstable(std::uint64_t from) const;
  // Call this after all unstable frames were written again. `before`: a mark from before the first of these
  // writes.
  void NoteWrittenAgain(FlushMark before) { unstable_since_ = before; }

  // --- reads ---
  // The device reads that fill `into` with the bytes from `offset` on; none for bytes behind end().
  // Errors: kCorruption if some of the bytes are lost.
  [[nodiscard]] Result<std::vector<PieceRead>> PlanRead(std::uint64_t offset, ByteSpan into) const;

  // The same for a read that verifies the frames. Their `seed` is not set.
  struct VerifiedRead {
    std::vector<PieceRead> unverified;  // of extents
    std::vector<FrameRead> frames;
  };
  [[nodiscard]] Result<VerifiedRead> PlanVerifiedRead(std::uint64_t offset, ByteSpan into) const;

  // --- changes of the committed part ---
  // The edit that seals the open window; none if the window is empty.
  std::optional<SealLog> SealOfOpenWindow(std::uint64_t mtime_seconds) const;
  // Cuts the file to `size` bytes, at most end(). `front`: the part before `size` of the extent that `size`
  // divides. Without it that extent loses its checksum.
  RewritePlan PlanTruncation(std::uint64_t size, const std::optional<Extent>& front,
                             std::uint64_t mtime_seconds, FlushMark now) const;
  // The bytes to move so that no frame of the file remains in `zones`, which are ascending: at most `bytes`, up to the end of a
  // frame, but at least one frame. Empty if the file has no frame there, or has lost bytes.
  CleaningRange RangeToClean(const Geometry& geometry, std::span<const ZoneId> zones, std::uint64_t bytes,
                             FlushMark now) const;
  // Bytes of metadata, about, that the commits write until no frame of the file remains in `zones`: each restates the windows behind
  // its range. `bytes` as for RangeToClean.
  std::uint64_t RestatedBytes(const Geometry& geometry, std::span<const ZoneId> zones,
                              std::uint64_t bytes) const;
  // `extents` hold the bytes of `range`. Errors: kBusy if the file was truncated or cleaned after the range
  // was chosen.
  [[nodiscard]] Result<RewritePlan> PlanCleaning(const CleaningRange& range,
                                                 std::vector<Extent> extents) const;
  // The edits of `plan` are committed.
  void Apply(const RewritePlan& plan);
  // Reclaim has moved the committed extents. `extents` are all of them.
  void TakeMoved(const std::vector<Extent>& extents);

 private:
  // Calls use(piece, file offset, part of `into`) for each piece that has bytes from `offset` on. Errors: as PlanRead.
  [[nodiscard]] Status ForEachPart(
      std::uint64_t offset, ByteSpan into,
      const std::function<void(const Piece&, std::uint64_t, ByteSpan)>& use) const;
  // The windows, including the open one, cut at `end`.
  std::vector<LogWindow> WindowsUpTo(std::uint64_t end) const;
  bool IsConsistent() const;

  const FileId id_;
  const std::uint64_t epoch_;
  FrameIndex index_;
  std::vector<LogWindow> windows_;     // committed
  std::uint64_t extents_end_;          // committed
  std::uint64_t open_first_sequence_;  // committed as next_sequence
  std::uint64_t next_sequence_;        // of the next frame
  std::uint64_t stable_sequence_;
  std::uint64_t stable_end_;
  FlushMark unstable_since_ = FlushMark::AtOpen();  // valid if end() != stable_end_
  std::uint64_t sent_seconds_;  // mtime that a mount would find: from the last frame or the last commit
};

// The zones that a framed file points to: a pin on each, and the count of its live frames there, which
// LogZones adds up. A pin and a count end when the file no longer points to the zone, or with this object.
//
// Calls LogZones and ZoneManager, whose locks come after that of the file.
class FileZones {
 public:
  // `log` null: nothing is counted, because the file is only read. All three outlive this object.
  FileZones(const Geometry& geometry, ZoneManager& manager, LogZones* log)
      : geometry_(geometry), manager_(manager), log_(log) {}
  FileZones(const FileZones&) = delete;
  FileZones& operator=(const FileZones&) = delete;
  ~FileZones();

  // Counts the frames of a file from recovery. `device_bytes`: of all its frames, by zone. `pieces`: the
  // parts of them that the file reads.
  void Adopt(const std::map<ZoneId, std::uint64_t>& device_bytes, std::span<const Piece> pieces);
  void Pin(DeviceOffset place);
  // Adds a frame in the zone of `pin`. FrameWriter has added it to LogZones already.
  void Add(const ZonePin& pin, LiveFrames frame);
  // Replaces all pins and counts by those of `pieces`. A piece counts its whole frame, with header and
  // padding, as Add did.
  void Recount(std::span<const Piece> pieces);

  // Call this only for a zone that the file points to.
  const ZonePin& PinOf(ZoneId zone) const { return zones_.at(zone).pin; }
  // True if the file points to the zone, and to no frame in it.
  bool HasExtentsIn(ZoneId zone) const {
    const auto it = zones_.find(zone);
    return it != zones_.end() && it->second.frames.device_bytes == 0;
  }
  // Live frames by log zone.
  std::map<ZoneId, LiveFrames> Frames() const;

 private:
  struct Entry {
    ZonePin pin;
    LiveFrames frames;
  };

  const Geometry& geometry_;
  ZoneManager& manager_;
  LogZones* const log_;
  std::map<ZoneId, Entry> zones_;
};

}  // namespace zenfs
