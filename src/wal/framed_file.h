// A framed file (WAL, MANIFEST, info log) while the volume is mounted: where its bytes are, and a buffer of
// those that are not on the device yet. One object per live framed file, shared by all handles.
//
//   0 ..... extents ..... frames ..... | in flight | being appended | size()
//                                      ^ index end
//
// A WriteBack takes what has been appended as one frame; a Sync is a WriteBack whose frame is on stable media.
// While one frame is in flight the next gathers; bytes leave the buffer only after their place is in the
// index. A Flush does nothing where both buffers outlive the process (staging/), else it is a WriteBack. A buffer
// outlives the process only if what stands before it in the file does.
//
// After an error of a WriteBack or Sync the bytes are kept, and the next Flush, WriteBack, Sync or Append brings them to the
// device before anything else (framed_file_send.cc): what could not be placed, and what a failed flush of the device may
// have lost. It succeeds only if all is where it promises. An Append that failed is final: some of its bytes may have
// been taken and its caller goes on elsewhere, so every later one fails too.
//
// What the file is doing, and what an error has left to be done, is in framed_file_state.h.
//
// Threads: any. No I/O happens while mutex_ is held; only the locks of LogZones and ZoneManager come after it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "device/flush_mark.h"
#include "model/edit.h"
#include "staging/staged_buffer.h"
#include "wal/file_zones.h"
#include "wal/frame_index.h"
#include "wal/framed_file_state.h"
#include "wal/log_drain.h"
#include "wal/log_replay.h"
#include "wal/log_space.h"
#include "wal/piece_reader.h"

namespace zenfs {

class FramedFile {
 public:
  struct Deps {
    ZonedDevice* device = nullptr;
    ZoneManager* zones = nullptr;
    LogSpace* log = nullptr;               // null: the file is only read
    LogDrain* drain = nullptr;             // null: nothing is written in the background
    std::shared_ptr<StagingArea> staging;  // null: buffers do not outlive the process
    std::uint64_t epoch = 0;               // of this mount
    std::uint64_t buffer_bytes = 256 << 10;
  };

  // A new, empty file.
  FramedFile(const Deps& deps, FileId id);
  // One from recovery; `record` as committed, after the mount has sealed it (or as it is, for one that is only
  // read).
  FramedFile(const Deps& deps, const FileRecord& record, ReplayedLog replayed);
  ~FramedFile();

  FileId id() const { return id_; }
  // `crc`, if given, is what the bytes are meant to have: kCorruption if they don't, and none of them is taken.
  [[nodiscard]] Status Append(ByteView bytes, KnownCrc crc = std::nullopt) EXCLUDES(mutex_);
  // All bytes appended so far survive the death of this process when this returns.
  [[nodiscard]] Status Flush() EXCLUDES(mutex_);
  // All bytes appended so far are with the device when this returns.
  [[nodiscard]] Status WriteBack() EXCLUDES(mutex_);
  // ... and on stable media.
  [[nodiscard]] Status Sync() EXCLUDES(mutex_);
  // Writes out if the oldest byte in the buffer was appended at `before` or earlier. True if bytes are still buffered.
  bool WriteBackOlderThan(SteadyTime before) EXCLUDES(mutex_);
  // Nobody has it open for writing any more: gives the memory of empty buffers back.
  void EndWriting() EXCLUDES(mutex_);

  std::uint64_t size() const EXCLUDES(mutex_);
  // When it was last appended to, truncated or made; seconds since 1970.
  std::uint64_t mtime_seconds() const EXCLUDES(mutex_);
  // Reads at most into.size() bytes, fewer only at the end of the file. Errors: kCorruption for lost bytes.
  [[nodiscard]] Result<std::size_t> Read(std::uint64_t offset, ByteSpan into) const EXCLUDES(mutex_);
  std::vector<Piece> Pieces() const EXCLUDES(mutex_);
  // The edit that seals the open window, so that each of its frames is vouched for; for the end of a mount. The caller
  // flushes the device before it commits. None if the window is empty, or if bytes of the file are not on the device.
  std::optional<SealLog> SealOfOpenWindow() const EXCLUDES(mutex_);

  // A change of the committed part that is under way. The caller commits its edits and says with End how that ended. A
  // truncation holds writers off as long as it lives; cleaning does not. The file must outlive it.
  class Rewrite {
   public:
    Rewrite(Rewrite&& other) noexcept;
    Rewrite& operator=(Rewrite&&) = delete;
    // Without End: nothing was committed, and the file is as before.
    ~Rewrite();

    // To be committed together.
    const std::vector<Edit>& edits() const { return edits_; }
    // Of a truncation: the mark for that commit, which vouches for the frames that stay.
    FlushMark unstable_since() const { return unstable_since_; }
    // Once. After a truncation of unknown outcome every append fails: a mount that finds the truncation would look for
    // the bytes at its end.
    void End(const Status& committed);

   private:
    friend class FramedFile;
    enum class Kind { kTruncation, kClean };
    Rewrite(FramedFile& file, Kind kind) : file_(&file), kind_(kind) {}

    FramedFile* file_;  // null: ended, or moved from
    Kind kind_;
    std::vector<Edit> edits_;
    std::uint64_t end_ = 0;        // truncation: new size; clean: end of the cleaned part
    std::vector<Extent> extents_;  // clean: what holds the bytes now
    std::vector<LogWindow> windows_;
    std::uint64_t open_first_sequence_ = 0;
    std::uint64_t mtime_seconds_ = 0;
    FlushMark unstable_since_ = FlushMark::AtOpen();  // truncation: as UnstableSince()
  };
  // `front`: what stays of the committed extent that `size` divides; without it that extent loses its checksum.
  [[nodiscard]] Result<Rewrite> BeginTruncate(std::uint64_t size, const std::optional<Extent>& front = {})
      EXCLUDES(mutex_);

  // The part of the file that has to move so that no frame of it is left in `zone`: bytes [from, to), from
  // block-aligned. Empty (to == 0) when there is none.
  struct CleanRange {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    // As UnstableSince() when it was chosen. If a flush fails after it, what was read may be lost.
    FlushMark unstable_since = FlushMark::AtOpen();
  };
  // No more than the first `bytes` of it, up to the end of a frame, but at least one frame.
  CleanRange RangeToClean(ZoneId zone, std::uint64_t bytes = UINT64_MAX) const EXCLUDES(mutex_);
  // Its frames that are live, by log zone.
  std::map<ZoneId, LiveFrames> FrameZones() const EXCLUDES(mutex_);
  // `extents` hold the bytes of `range`, read since it was chosen. Fails with kBusy if the range is no longer there
  // (truncated meanwhile), or if a failed flush of the device may have lost some of it before it was read.
  [[nodiscard]] Result<Rewrite> BeginClean(const CleanRange& range, std::vector<Extent> extents)
      EXCLUDES(mutex_);
  // Reclaim has put the committed extents elsewhere; `extents` are all of them. Not while a Rewrite lives.
  void TakeMoved(const std::vector<Extent>& extents) EXCLUDES(mutex_);

 private:
  // Device reads that a Read comes down to, collected under the lock and done without it.
  struct ReadPlan {
    std::vector<PieceRead> parts;
    std::vector<ZonePin> pins;
    std::size_t total = 0;
  };

  [[nodiscard]] Status WriteBackTo(std::uint64_t target, bool sync) EXCLUDES(mutex_);
  [[nodiscard]] Status AppendAll(ByteView bytes) REQUIRES(mutex_);
  // In framed_file_send.cc.
  [[nodiscard]] Status SendBuffer(bool sync) noexcept REQUIRES(mutex_);  // others wait for the turn
  [[nodiscard]] Status SendFlight(bool sync) REQUIRES(mutex_);
  [[nodiscard]] Status PlaceAnew() REQUIRES(mutex_);
  [[nodiscard]] Status PlaceAnew(const Piece& piece) REQUIRES(mutex_);
  [[nodiscard]] Status PromiseStable() REQUIRES(mutex_);
  // When the first frame behind stable_end_ was written; now if there is none.
  FlushMark UnstableSince() const REQUIRES(mutex_);
  // A flush has failed since the first frame behind stable_end_ was written.
  bool MayHaveLost() const REQUIRES(mutex_) { return UnstableSince().FlushFailedSince(*deps_.device); }
  void Publish(const PlacedFrame& frame) REQUIRES(mutex_);
  std::uint16_t TimeToSend() const REQUIRES(mutex_);
  void NoteSent(std::uint16_t time) REQUIRES(mutex_);
  void BeginBuffer() REQUIRES(mutex_);
  std::uint64_t SizeLocked() const REQUIRES(mutex_);
  [[nodiscard]] Status PlanRead(std::uint64_t offset, ByteSpan into, ReadPlan& plan) const REQUIRES(mutex_);
  static void CopyBuffered(const StagedBuffer& buffer, std::uint64_t offset, ByteSpan into);
  void RecountZones() REQUIRES(mutex_) { zones_.Recount(index_.pieces()); }
  std::vector<LogWindow> WindowsUpTo(std::uint64_t end) const REQUIRES(mutex_);
  void EndTruncation(const Rewrite& rewrite, const Status& committed) EXCLUDES(mutex_);
  void EndClean(const Rewrite& rewrite, const Status& committed) EXCLUDES(mutex_);
  void TakeOver(const Rewrite& rewrite) REQUIRES(mutex_);

  const Deps deps_;
  const FileId id_;

  mutable Mutex mutex_{LockRank::kFramedFiles};
  CondVar turn_;
  FrameIndex index_ GUARDED_BY(mutex_);
  FileZones zones_ GUARDED_BY(mutex_);
  std::vector<LogWindow> windows_ GUARDED_BY(mutex_);         // committed
  std::uint64_t extents_end_ GUARDED_BY(mutex_) = 0;          // committed
  std::uint64_t open_first_sequence_ GUARDED_BY(mutex_) = 1;  // committed as next_sequence
  std::uint64_t next_sequence_ GUARDED_BY(mutex_) = 1;        // of the next frame
  std::uint64_t stable_sequence_ GUARDED_BY(mutex_) = 0;
  std::uint64_t stable_end_ GUARDED_BY(mutex_) = 0;  // file offset
  // When the first frame behind stable_end_ was written, if there is one.
  FlushMark unstable_since_ GUARDED_BY(mutex_) = FlushMark::AtOpen();
  std::uint64_t mtime_seconds_ GUARDED_BY(mutex_);
  // What a mount after a crash would find: the time of the last frame, or of the last commit.
  std::uint64_t sent_seconds_ GUARDED_BY(mutex_);
  StagedBuffer active_ GUARDED_BY(mutex_);
  SteadyTime active_since_ GUARDED_BY(mutex_);   // when its first byte came
  bool drain_asked_ GUARDED_BY(mutex_) = false;  // to take the active buffer
  // Its content is not changed during a send. After an error it is kept; its front may be in the index already.
  StagedBuffer flight_ GUARDED_BY(mutex_);
  FramedFileState state_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
