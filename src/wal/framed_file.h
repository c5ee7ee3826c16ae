// A framed file (WAL, MANIFEST, info log) of a mounted volume. All handles of a live framed file share one
// object.
//
//   0 ..... extents ..... frames ..... | in flight | active | size()
//                                      ^ map end
//
// A WriteBack sends the appended bytes as one frame. A Sync is a WriteBack whose frame is on stable media.
// While one frame is in flight, the active buffer takes the next bytes. Bytes leave a buffer only after
// their place is in the map. A Flush does nothing if both buffers survive the process, else it is a
// WriteBack.
//
// After an error of a WriteBack or Sync the bytes are kept. The next Flush, WriteBack, Sync or Append first
// makes the repairs (frame_sender.h), and fails if they fail. If the device was full, the drain also tries again. A failed Append is final: some of its bytes
// may be in the buffer, and RocksDB continues in another file. So every later Append fails too.
//
// Parts: FrameMap (placed bytes), FrameBuffers (bytes that are not placed), FileZones (pins and counts of
// live frames), FramedFileState (the turn, and pending repairs), FrameSender (buffers to frames), BlockSync (small
// syncs in blocks that are rewritten, where the device has them). This class locks them, makes callers wait for the turn, and reads.
//
// Threads: any. No I/O happens while the lock is held (framed_file_parts.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "device/flush_mark.h"
#include "model/edit.h"
#include "wal/block_sync.h"
#include "wal/frame_map.h"
#include "wal/frame_sender.h"
#include "wal/framed_file_parts.h"
#include "wal/log_drain.h"
#include "wal/log_space.h"
#include "wal/wal_recovery.h"

namespace zenfs {

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
  // wait for it (framed_file_state.h), so no append mixes with another.
  [[nodiscard]] Status Append(ByteView bytes, KnownCrc crc = std::nullopt) EXCLUDES(parts_.mutex);
  // On return all bytes appended so far survive the death of this process.
  [[nodiscard]] Status Flush() EXCLUDES(parts_.mutex);
  // On return all bytes appended so far are on the device, maybe in its volatile cache.
  [[nodiscard]] Status WriteBack() EXCLUDES(parts_.mutex);
  // On return all bytes appended so far are on stable media.
  [[nodiscard]] Status Sync() EXCLUDES(parts_.mutex);
  // For the drain. Does a WriteBack if the oldest byte in the active buffer was appended at `before` or earlier. If an
  // earlier send found no room, does it only with `again`. After any other error the next caller makes the repairs.
  enum class Drained {
    kAll,      // nothing more to do here
    kYounger,  // younger bytes stay buffered
    kNoRoom,   // the device has no room for the bytes, or had none before
  };
  Drained WriteBackOlderThan(SteadyTime before, bool again) EXCLUDES(parts_.mutex);
  // The last handle for writing was closed: frees the memory of empty buffers.
  void EndWriting() EXCLUDES(parts_.mutex);
  // The file has lost its last name: no mount needs its buffered bytes any more.
  void NoteDeleted() EXCLUDES(parts_.mutex);
  // True if the next mount finds all bytes that are not on the device, in shared memory.
  bool KeptForNextMount() const EXCLUDES(parts_.mutex);

  std::uint64_t size() const EXCLUDES(parts_.mutex);
  // Time of the last append, truncation or creation; seconds since 1970.
  std::uint64_t mtime_seconds() const EXCLUDES(parts_.mutex);
  // Reads into.size() bytes, or fewer at the end of the file. kVerified: also verifies each frame that it
  // reads, as a whole; not for a file that is only read. Bytes in extents are not verified: only the
  // committed record of the file has their checksums. Errors: kCorruption if some of the bytes are lost;
  // those of ReadFrames.
  enum class Frames { kAsTheyAre, kVerified };
  [[nodiscard]] Result<std::size_t> Read(std::uint64_t offset, ByteSpan into,
                                         Frames frames = Frames::kAsTheyAre) const EXCLUDES(parts_.mutex);
  std::vector<Piece> Pieces() const EXCLUDES(parts_.mutex);
  // For the unmount: the edit that seals the open window, which proves each of its frames. The caller
  // flushes the device before it commits the edit. None if the window is empty, or if bytes of the file are
  // neither on the device nor kept for the next mount.
  std::optional<SealLog> SealOfOpenWindow() const EXCLUDES(parts_.mutex);

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
      EXCLUDES(parts_.mutex);

  // As FrameMap::RangeToClean.
  CleaningRange RangeToClean(std::span<const ZoneId> zones, std::uint64_t bytes = UINT64_MAX) const
      EXCLUDES(parts_.mutex);
  CleaningRange RangeToClean(ZoneId zone) const { return RangeToClean({&zone, 1}); }
  // As FrameMap::RestatedBytes.
  std::uint64_t RestatedBytes(std::span<const ZoneId> zones, std::uint64_t bytes) const
      EXCLUDES(parts_.mutex);
  // The live frames of the file, by log zone.
  std::map<ZoneId, LiveFrames> FrameZones() const EXCLUDES(parts_.mutex);
  bool HasExtentsIn(ZoneId zone) const EXCLUDES(parts_.mutex);
  // `extents` hold the bytes of `range`, read after it was chosen. Errors: kBusy if the file was truncated
  // or cleaned since then, or if a failed flush of the device may have lost some of the bytes before they
  // were read.
  [[nodiscard]] Result<Rewrite> BeginCleaning(const CleaningRange& range, std::vector<Extent> extents)
      EXCLUDES(parts_.mutex);
  // Reclaim has moved the committed extents; `extents` are all of them. Not while a Rewrite exists.
  void TakeMoved(const std::vector<Extent>& extents) EXCLUDES(parts_.mutex);

 private:
  // In framed_file.cc.
  [[nodiscard]] Status WriteBackAll(bool sync) EXCLUDES(parts_.mutex);
  [[nodiscard]] Status AppendAll(ByteView bytes) REQUIRES(parts_.mutex);
  // In framed_file_rewrite.cc.
  void EndRewrite(const RewritePlan& plan, const Status& committed) EXCLUDES(parts_.mutex);

  ZonedDevice& device_;
  LogDrain* const drain_;
  const LogZones* const log_zones_;  // null: the file is only read
  const FileId id_;
  FrameSender sender_;
  BlockSync block_sync_;
  FramedFileParts parts_;
};

}  // namespace zenfs
