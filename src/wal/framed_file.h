// A framed file (WAL, MANIFEST, info log) of a mounted volume, and the list of all of them.
//
// All handles of a live framed file share one FramedFile:
//
//   0 ..... extents ..... frames ..... | in flight | active | size()
//                                      ^ map end
//
// A WriteBack sends the appended bytes as one frame. A Sync is a WriteBack whose frame is on stable media; a small one may
// rewrite a sync block instead (wal/zrwa_sync_blocks.h). While one frame is in flight, the active buffer takes the next bytes.
// Bytes leave a buffer only after their place is in the map. A Flush does nothing if both buffers survive the process, else it
// is a WriteBack.
//
// After an error of a WriteBack or Sync the bytes are kept. The next Flush, WriteBack, Sync or Append first
// makes the repairs (FramedFileState), and fails if they fail. If the device was full, the drain also tries again. A failed
// Append is final: some of its bytes may be in the buffer, and RocksDB continues in another file. So every later Append fails
// too.
//
// Invariants, while mutex_ is free
//   zones_ has a pin on each zone that map_ points to
//   each byte below size() is in map_ or in buffers_
//   the bytes below sync_end_ are on stable media: in the log, or in the version of a sync block that was confirmed last
//
// Threads: any. No I/O happens while mutex_ is held. The locks of LogZones, LogDrain, SyncArea, BufferArea and the zone
// manager may come after it. The thread that has the turn (FramedFileState) releases it during I/O.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "device/flush_mark.h"
#include "device/zoned_device.h"
#include "model/edit.h"
#include "wal/frame_buffers.h"
#include "wal/frame_map.h"
#include "wal/frame_writer.h"
#include "wal/log_space.h"
#include "wal/wal_recovery.h"
#include "wal/zrwa_sync_blocks.h"
#include "zone/zone_manager.h"

namespace zenfs {

class LogDrain;

// The state machine of a framed file: its turn, and the repairs that an error left for the next send.
//
// Turn: the right to change the end of the file in its map. Other threads wait until it is kFree.
//
//     kFree --BeginSend--> kSending --EndSend--> kFree
//     kFree --BeginTruncation--> kTruncating --EndTruncation--> kFree
//
//   A cleaning changes only the front of the file. It runs beside kFree and kSending, and excludes truncations
//   (BeginCleaning, EndCleaning).
//
// Bytes: the repairs that the next send has to make. The error of the last send is kept for the threads
// that waited for it.
//
//     kSound, kUnsent --FrameFailed--> kUnsent --EndSend(ok)--> kSound
//     kSound, kUnsent --FlushFailed--> kDoubtful --PlacedAnew--> kUnsent
//
//   kSound      nothing to repair
//   kUnsent     send the buffer in flight, or the rest of it, again
//   kDoubtful   a failed flush may have lost the frames behind the stable end: first write them again
//
// Appends: open until CloseAppends with an error, then closed for the rest of the mount. An append that waits although it is
// not complete is a long append. Until its end no other append begins, so that none gets between its bytes, and no truncation.
// The thread of a long append waits only for the turn, and for what a send waits for. No thread waits for a long append while
// it has the turn, and a send ends with an error if the device is full or fails (see FramedFile). So every long append ends.
//
// Threads: no lock; the lock of the file guards it.
class FramedFileState {
 public:
  bool free() const { return turn_ == Turn::kFree; }
  bool truncating() const { return turn_ == Turn::kTruncating; }
  bool cleaning() const { return cleaning_; }

  void BeginSend() {
    ZENFS_ASSERT(free());
    turn_ = Turn::kSending;
  }
  // `sent`: how the send ended.
  void EndSend(const Status& sent) {
    ZENFS_ASSERT(turn_ == Turn::kSending);
    turn_ = Turn::kFree;
    sent_ = sent;
    if (sent.ok()) {
      bytes_ = Bytes::kSound;
    } else {
      ++failed_sends_;
      if (bytes_ == Bytes::kSound) bytes_ = Bytes::kUnsent;
    }
  }
  void BeginTruncation() {
    ZENFS_ASSERT(free() && !cleaning_ && sound() && !appending_);
    turn_ = Turn::kTruncating;
  }
  void EndTruncation() {
    ZENFS_ASSERT(truncating());
    turn_ = Turn::kFree;
  }
  void BeginCleaning() {
    ZENFS_ASSERT(!cleaning_ && !truncating());
    cleaning_ = true;
  }
  void EndCleaning() {
    ZENFS_ASSERT(cleaning_);
    cleaning_ = false;
  }

  // True if no error left anything to repair.
  bool sound() const { return bytes_ == Bytes::kSound; }
  bool doubtful() const { return bytes_ == Bytes::kDoubtful; }
  // During a send.
  void FrameFailed() { bytes_ = Bytes::kUnsent; }
  void FlushFailed() { bytes_ = Bytes::kDoubtful; }
  void PlacedAnew() { bytes_ = Bytes::kUnsent; }

  // How the last send ended; not ok until sound().
  const Status& sent() const { return sent_; }
  // A call does not return an error that is older than the call; it sends again. It returns the error of a
  // send that it waited for. So it reads failed_sends first, and later asks SendFailedSince.
  std::uint64_t failed_sends() const { return failed_sends_; }
  bool SendFailedSince(std::uint64_t failed_sends) const { return !sound() && failed_sends_ != failed_sends; }

  // True during a long append.
  bool appending() const { return appending_; }
  void BeginLongAppend() {
    ZENFS_ASSERT(!appending_ && !truncating());
    appending_ = true;
  }
  void EndLongAppend() {
    ZENFS_ASSERT(appending_);
    appending_ = false;
  }
  // Once appends are closed: the reason.
  const Status& appends() const { return appends_; }
  // Only the first error counts; an ok status changes nothing.
  void CloseAppends(Status why) { appends_.Update(std::move(why)); }

 private:
  enum class Turn { kFree, kSending, kTruncating };
  enum class Bytes { kSound, kUnsent, kDoubtful };

  Turn turn_ = Turn::kFree;
  bool cleaning_ = false;
  Bytes bytes_ = Bytes::kSound;
  Status sent_;
  std::uint64_t failed_sends_ = 0;
  bool appending_ = false;
  Status appends_;
};

class FramedFile {
 public:
  // All objects outlive the file.
  struct Deps {
    ZonedDevice* device = nullptr;
    ZoneManager* zones = nullptr;
    LogSpace* log = nullptr;              // null: the file is only read
    LogDrain* drain = nullptr;            // null: nothing is written in the background
    std::shared_ptr<BufferArea> buffers;  // null: buffers do not survive the process
    std::uint64_t epoch = 0;              // of this mount
    std::uint64_t buffer_bytes = 256 << 10;
  };

  // A new, empty file.
  FramedFile(const Deps& deps, FileId id);
  // A file from recovery. `record` as committed: after the mount has sealed the open window, or unsealed if
  // the file is only read. `taken_over`: the bytes behind the frames that a dead process flushed.
  FramedFile(const Deps& deps, const FileRecord& record, ReplayedLog replayed,
             FrameBuffers::TakenOver taken_over = {});
  ~FramedFile();

  FileId id() const { return id_; }
  // `crc`, if given, is the expected CRC of the bytes. Errors: kCorruption if they differ; then none of the
  // bytes is appended. If `bytes` do not fit the buffer, this waits until the front of them is on the device; other appends
  // wait for it (FramedFileState), so no append mixes with another.
  [[nodiscard]] Status Append(ByteView bytes, KnownCrc crc = std::nullopt) EXCLUDES(mutex_);
  // On return all bytes appended so far survive the death of this process.
  [[nodiscard]] Status Flush() EXCLUDES(mutex_);
  // On return all bytes appended so far are on the device, maybe in its volatile cache.
  [[nodiscard]] Status WriteBack() EXCLUDES(mutex_);
  // On return all bytes appended so far are on stable media.
  [[nodiscard]] Status Sync() EXCLUDES(mutex_);
  // For the drain. Does a WriteBack if the oldest byte in the active buffer was appended at `before` or earlier. If an
  // earlier send found no room, does it only with `again`. After any other error the next caller makes the repairs.
  enum class Drained {
    kAll,      // nothing more to do here
    kYounger,  // younger bytes stay buffered
    kNoRoom,   // the device has no room for the bytes, or had none before
  };
  Drained WriteBackOlderThan(SteadyTime before, bool again) EXCLUDES(mutex_);
  // The last handle for writing was closed: frees the memory of empty buffers.
  void EndWriting() EXCLUDES(mutex_);
  // The file has lost its last name: no mount needs its buffered bytes any more.
  void NoteDeleted() EXCLUDES(mutex_);
  // True if the next mount finds all bytes that are not on the device, in shared memory.
  bool KeptForNextMount() const EXCLUDES(mutex_);

  std::uint64_t size() const EXCLUDES(mutex_);
  // Time of the last append, truncation or creation; seconds since 1970.
  std::uint64_t mtime_seconds() const EXCLUDES(mutex_);
  // Reads into.size() bytes, or fewer at the end of the file. kVerified: also verifies each frame that it
  // reads, as a whole; not for a file that is only read. Bytes in extents are not verified: only the
  // committed record of the file has their checksums. Errors: kCorruption if some of the bytes are lost;
  // those of ReadFrames.
  enum class Frames { kAsTheyAre, kVerified };
  [[nodiscard]] Result<std::size_t> Read(std::uint64_t offset, ByteSpan into,
                                         Frames frames = Frames::kAsTheyAre) const EXCLUDES(mutex_);
  std::vector<Piece> Pieces() const EXCLUDES(mutex_);
  // For the unmount: the edit that seals the open window, which proves each of its frames. The caller
  // flushes the device before it commits the edit. None if the window is empty, or if bytes of the file are
  // neither on the device nor kept for the next mount.
  std::optional<SealLog> SealOfOpenWindow() const EXCLUDES(mutex_);

  // A truncation or a cleaning that is not finished. The caller commits its edits and passes the result to
  // End. A truncation blocks writers until its End, a cleaning does not. The file must outlive it.
  class Rewrite {
   public:
    Rewrite(Rewrite&& other) noexcept;
    Rewrite& operator=(Rewrite&&) = delete;
    // Without End: nothing was committed, and the file is unchanged.
    ~Rewrite();

    // For one commit.
    const std::vector<Edit>& edits() const { return plan_.edits; }
    // Truncation: the mark to pass to the commit, which proves the remaining frames.
    FlushMark unstable_since() const { return plan_.unstable_since; }
    // Call this once. After a truncation of unknown outcome every append fails: if the next mount finds the
    // truncation, it expects new bytes at the new end.
    void End(const Status& committed);

   private:
    friend class FramedFile;
    Rewrite(FramedFile& file, RewritePlan plan) : file_(&file), plan_(std::move(plan)) {}

    FramedFile* file_;  // null: ended, or moved from
    RewritePlan plan_;
  };
  // Writes back, then blocks writers and plans a truncation. `front` as for FrameMap::PlanTruncation.
  // Errors: those of WriteBack; kNotSupported if `size` is behind the end; kBusy if another thread appends
  // meanwhile.
  [[nodiscard]] Result<Rewrite> BeginTruncate(std::uint64_t size, const std::optional<Extent>& front = {})
      EXCLUDES(mutex_);

  // As FrameMap::RangeToClean.
  CleaningRange RangeToClean(std::span<const ZoneId> zones, std::uint64_t bytes = UINT64_MAX) const
      EXCLUDES(mutex_);
  CleaningRange RangeToClean(ZoneId zone) const { return RangeToClean({&zone, 1}); }
  // As FrameMap::RestatedBytes.
  std::uint64_t RestatedBytes(std::span<const ZoneId> zones, std::uint64_t bytes) const EXCLUDES(mutex_);
  // The live frames of the file, by log zone.
  std::map<ZoneId, LiveFrames> FrameZones() const EXCLUDES(mutex_);
  bool HasExtentsIn(ZoneId zone) const EXCLUDES(mutex_);
  // `extents` hold the bytes of `range`, read after it was chosen. Errors: kBusy if the file was truncated
  // or cleaned since then, or if a failed flush of the device may have lost some of the bytes before they
  // were read.
  [[nodiscard]] Result<Rewrite> BeginCleaning(const CleaningRange& range, std::vector<Extent> extents)
      EXCLUDES(mutex_);
  // Reclaim has moved the committed extents; `extents` are all of them. Not while a Rewrite exists.
  void TakeMoved(const std::vector<Extent>& extents) EXCLUDES(mutex_);

 private:
  // The bytes up to the result are in the file, or on stable media.
  std::uint64_t Size() const REQUIRES(mutex_) { return buffers_.End(map_.end()); }
  std::uint64_t StableEnd() const REQUIRES(mutex_) { return std::max(map_.stable_end(), sync_end_); }

  [[nodiscard]] Status AppendAll(ByteView bytes) REQUIRES(mutex_);
  [[nodiscard]] Status WriteBackAll(bool sync) EXCLUDES(mutex_);

  // --- a send: the thread has the turn, and releases mutex_ during I/O ---
  // Takes the turn, which must be free; makes the repairs of an earlier error, sends the buffered bytes (if any) as one frame,
  // publishes it and releases the turn. `sync`: the frame and all before it are on stable media afterwards. After an error the
  // bytes stay buffered, and the state records the repairs for the next send.
  // Errors: those of FrameWriter::Place and of a flush; kIo if a failed flush may have lost a frame; those
  // of reading such a frame. If memory runs out the process ends, because other threads wait for the turn.
  [[nodiscard]] Status Send(bool sync) noexcept REQUIRES(mutex_);
  [[nodiscard]] Status SendFlight(bool sync) REQUIRES(mutex_);
  [[nodiscard]] Status PlaceAnew() REQUIRES(mutex_);
  [[nodiscard]] Status PlaceAnew(const Piece& piece) REQUIRES(mutex_);
  // The next frame behind the map, with the bytes in `buffer`.
  FrameJob NextFrame(AlignedBuffer& buffer) const REQUIRES(mutex_);
  // Adds a frame that is on the device. `before`: a mark from before it was written.
  void Publish(const PlacedFrame& frame, FlushMark before) REQUIRES(mutex_);
  // The same for the parts of the next frame, and leaves `parts` empty.
  void PublishNext(std::vector<PlacedFrame>& parts, const FrameJob& job, FlushMark before) REQUIRES(mutex_);

  // --- a sync in a sync block, instead of a send ---
  bool SuitsSyncBlock() const REQUIRES(mutex_);
  // As Send. If it cannot be done in a sync block, it changes nothing and returns OK, and SuitsSyncBlock is false from then on.
  [[nodiscard]] Status SyncInBlock() noexcept REQUIRES(mutex_);
  [[nodiscard]] Status PlaceFullBlock() REQUIRES(mutex_);
  [[nodiscard]] Status WriteSyncBlock() REQUIRES(mutex_);
  // The frame of the first `length` bytes behind the map, in the image of the next version.
  FrameJob NextVersion(std::uint64_t length) REQUIRES(mutex_);

  ZonedDevice& device_;
  LogDrain* const drain_;
  LogSpace* const log_;  // null: the file is only read
  const FileId id_;
  // For the thread that has the turn.
  std::vector<PlacedFrame> placed_;  // empty between two sends, but keeps its memory
  SyncBlocks sync_blocks_;

  mutable Mutex mutex_{LockRank::kFramedFiles};
  CondVar turn_;  // notified when a send, a truncation, a cleaning or a long append ends
  FrameMap map_ GUARDED_BY(mutex_);
  FileZones zones_ GUARDED_BY(mutex_);
  FrameBuffers buffers_ GUARDED_BY(mutex_);
  FramedFileState state_ GUARDED_BY(mutex_);
  std::uint64_t sync_end_ GUARDED_BY(mutex_) = 0;
  bool deleted_ GUARDED_BY(mutex_) = false;         // the file has lost its last name
  std::uint64_t mtime_seconds_ GUARDED_BY(mutex_);  // of the last append, truncation or creation; since 1970
};

// The framed files of a mounted volume, by id. A file is here from its creation (or the mount) until its
// last name is removed. Open handles keep the file itself after that.
//
// Threads: any. No other lock is taken while mutex_ is held; the destructor of a removed file runs without it.
class LogStore {
 public:
  void Add(std::shared_ptr<FramedFile> file) EXCLUDES(mutex_);
  // Returns null if there is no such file.
  std::shared_ptr<FramedFile> Find(FileId id) const EXCLUDES(mutex_);
  // The file has lost its last name.
  void Remove(FileId id) EXCLUDES(mutex_);
  std::vector<std::shared_ptr<FramedFile>> All() const EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_{LockRank::kFramedFiles};
  std::unordered_map<FileId, std::shared_ptr<FramedFile>> files_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
