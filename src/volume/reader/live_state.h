// The state of a volume for a read-only mount, while another mount may write: the metadata, the tails of framed files, and the
// flushed bytes that the device does not have yet, which are in the writer's shared memory (buffers/live_buffers.h). Each
// access updates it from the device and the memory.
//
// Why reads are correct: the writer commits deletions and releases of zones before it resets the zones. So if the metadata
// log has not moved since the layout was looked up, no zone was reset during the read (Confirm). If it has moved, the new
// commits show whether this file was touched.
//
// Flushed bytes. A look reads the metadata, then the memory, then the log zones.
//   None is missed: bytes leave the memory after they are on the device (frames) or in the metadata (extents of plain
//   files). So what the look at the memory missed is in the log zones, which are read later. If a slot changed since before
//   the metadata was read, the metadata is read again; if the file's record has changed, everything is repeated.
//   None is doubled: each byte has an offset in its file, and the device's bytes come first.
//   None is of another time: a framed file only grows between two commits that touch it. A truncation commits, with empty
//   buffers. So its bytes are right while its record and the epoch are. Of a plain file, the slot is compared again after the
//   read: uncommitted extents are pinned while a slot names them, and its truncation changes the slot.
//
// Threads: any. mutex_ is held while the logs and the memory are read; seen_mutex_ is a leaf lock.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "buffers/live_buffers.h"
#include "catalog/catalog.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "format/superblock.h"
#include "metalog/follower.h"
#include "volume/volume.h"
#include "wal/log_tails.h"
#include "wal/wal_recovery.h"

namespace zenfs {

// Bytes of a file in the memory of its writer, without those that the device has, too.
struct FlushedPart {
  std::uint64_t offset = 0;
  ByteView bytes;
  FlushedBytes source;  // keeps the bytes

  std::uint64_t end() const { return offset + bytes.size(); }
};

// Bytes that had left the writer's memory, and that the device does not have.
struct LostBytes {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t behind = 0;  // flushed bytes from `to` on, which are of no use without the lost ones
  friend bool operator==(const LostBytes&, const LostBytes&) = default;
};

// A file at one moment. Immutable.
struct LiveFile {
  std::shared_ptr<const FileRecord> record;  // as committed
  // With the extents that the writer has flushed and not committed; else the same as `record`.
  std::shared_ptr<const FileRecord> shown;
  std::shared_ptr<const ReplayedLog> log;  // null for a plain file
  std::vector<LogZone> log_zones;          // with the frames of `log`
  std::vector<FlushedPart> flushed;        // behind the bytes on the device, in file order, without a gap
  std::optional<LostBytes> lost;           // then the file ends before them
  std::string flaw;                        // why flushed bytes are not shown; empty if they are
  std::uint64_t epoch = 0;                 // of the volume
  std::uint64_t version = 0;               // of the metadata in which this was looked up or last proven

  std::uint64_t device_end() const { return log != nullptr ? log->index.end() : shown->size; }
  std::uint64_t size() const { return flushed.empty() ? device_end() : flushed.back().end(); }
  std::uint64_t mtime_seconds() const;
  // Bytes of a plain file from here on depend on the writer's memory, not only on the metadata.
  std::uint64_t committed_end() const { return committed_end_; }

 private:
  friend class LiveState;
  std::uint64_t committed_end_ = UINT64_MAX;
};

class LiveState {
 public:
  // Both arguments outlive it.
  LiveState(ZonedDevice& device, const Superblock& superblock);

  // The present state of the volume, for the function that Look calls.
  class View {
   public:
    const State& state() const;
    std::vector<ZoneId> metadata_zones() const;
    // Errors: those of CatalogView::Resolve; kNotFound.
    [[nodiscard]] Result<Entry> Resolve(std::string_view path) const;
    // Bytes of the file, including frames that are not sealed yet and flushed bytes, and the time of its last append in seconds
    // since 1970. Errors: those of a zone report.
    struct SizeAndTime {
      std::uint64_t size = 0;
      std::uint64_t mtime_seconds = 0;
    };
    [[nodiscard]] Result<SizeAndTime> Measure(const std::shared_ptr<const FileRecord>& record);
    // Measures those of `files` that have flushed bytes, with one look for all. Measure then returns what was found.
    [[nodiscard]] Status MeasureTogether(std::span<const FileId> files);
    // Bytes of the file on the device, including frames that are not sealed yet. Errors: those of a zone report.
    [[nodiscard]] Result<std::uint64_t> DeviceSizeOf(const std::shared_ptr<const FileRecord>& record);
    // Device bytes of the live frames of framed files, by zone. Errors: those of a zone report.
    [[nodiscard]] Result<std::map<ZoneId, std::uint64_t>> FrameBytes();
    // Errors: those of a zone report.
    [[nodiscard]] Result<Shortfall> FindShortfall();
    // Of a volume of the older ZenFS; otherwise empty.
    const std::vector<OlderFlaw>& older_flaws() const;
    std::uint64_t generation() const;  // of the metadata log
    std::uint64_t sequence() const;    // of the last commit

   private:
    friend class LiveState;
    explicit View(LiveState& owner) : owner_(owner) {}
    [[nodiscard]] Result<std::shared_ptr<const ReplayedLog>> TailOf(
        const std::shared_ptr<const FileRecord>& record);
    LiveState& owner_;
    std::map<FileId, SizeAndTime> measured_;
  };
  // Updates the metadata and the flushed bytes, and runs `look` with the lock held. Errors: those of LogFollower::Refresh and of
  // `look`; kTimedOut if the writer changes the same files during each try.
  [[nodiscard]] Status Look(const std::function<Status(View&)>& look) EXCLUDES(mutex_);

  // Opens the file as it is now. If the path of a plain file led to `known` at the last update, opens it as it was then,
  // without an update; reads are confirmed anyway. Errors: those of Look and View::Resolve; kIsADirectory.
  [[nodiscard]] Result<std::shared_ptr<const LiveFile>> Open(std::string_view path, FileId known = kNoFile)
      EXCLUDES(mutex_);
  // The file as it is now; null if it is gone.
  [[nodiscard]] Result<std::shared_ptr<const LiveFile>> Find(FileId id) EXCLUDES(mutex_);
  // The files as they are now, in the order of `ids`; null for those that are gone.
  [[nodiscard]] Result<std::vector<std::shared_ptr<const LiveFile>>> FindMany(std::span<const FileId> ids)
      EXCLUDES(mutex_);

  // Seed of the frames in a log zone.
  FrameSeed SeedOf(const LogZone& zone) const {
    return FrameSeed::Of(superblock_.seed, zone.zone, zone.generation, zone.salt);
  }

  struct Confirmed {
    // True if the bytes read through `file` before the call are correct.
    bool proven = false;
    // If proven, the same layout. Otherwise the file as it is now; null if it is gone.
    std::shared_ptr<const LiveFile> file;
  };
  // `from` and `to`: the file offsets that were read.
  [[nodiscard]] Result<Confirmed> Confirm(const std::shared_ptr<const LiveFile>& file, std::uint64_t from,
                                          std::uint64_t to) EXCLUDES(mutex_);

 private:
  // The last seen position of the metadata log, and the number of changes seen so far.
  struct Seen {
    LogFingerprint fingerprint;
    std::uint64_t version = 0;
  };

  // Updates the metadata.
  [[nodiscard]] Status Refresh() REQUIRES(mutex_);
  // Updates the metadata and the flushed bytes, to one moment.
  [[nodiscard]] Status RefreshAll() REQUIRES(mutex_);
  // Updates the buffers that the metadata names.
  void UpdateBuffers(Deadline patience) REQUIRES(mutex_);
  // Updates the logs, once after each Refresh.
  [[nodiscard]] Status UpdateTails() REQUIRES(mutex_);
  [[nodiscard]] Result<std::shared_ptr<const LiveFile>> FindLocked(FileId id) REQUIRES(mutex_);
  [[nodiscard]] Result<std::vector<std::shared_ptr<const LiveFile>>> FindAll(std::span<const FileId> ids)
      REQUIRES(mutex_);
  [[nodiscard]] Result<std::shared_ptr<const LiveFile>> FindOnce(FileId id, LogTails::Evidence evidence)
      REQUIRES(mutex_);
  void AddFlushed(LiveFile& file) REQUIRES(mutex_);
  // Applies the extents that a slot names. Returns false if the device does not have them, or sets file.flaw.
  [[nodiscard]] bool AddExtents(LiveFile& file, const FlushedBytes& flushed) REQUIRES(mutex_);
  bool StillLocked(const LiveFile& file) const REQUIRES(mutex_);
  std::shared_ptr<const Seen> LastSeen() const EXCLUDES(seen_mutex_);
  void Publish(LogFingerprint fingerprint, std::uint64_t version) EXCLUDES(seen_mutex_);

  ZonedDevice& device_;
  const Superblock& superblock_;
  mutable Mutex mutex_{LockRank::kLiveState};  // before the device's locks
  LogFollower follower_ GUARDED_BY(mutex_);
  LogTails tails_ GUARDED_BY(mutex_);
  bool tails_are_new_ GUARDED_BY(mutex_) = false;  // updated since the last Refresh
  LiveBuffers buffers_ GUARDED_BY(mutex_);
  WhoseBuffers whose_ GUARDED_BY(mutex_);
  // The last result of AddExtents, by file.
  struct Extended {
    std::shared_ptr<const FileRecord> record;
    SlotControl control;
    std::shared_ptr<const std::byte[]> source;  // FlushedBytes::memory: another one for each new record
    std::shared_ptr<const FileRecord> shown;    // null: the device does not have the extents, or `flaw`
    std::string flaw;
  };
  std::map<FileId, Extended> extended_ GUARDED_BY(mutex_);
  std::uint64_t version_ GUARDED_BY(mutex_) = 0;
  mutable Mutex seen_mutex_{LockRank::kLeaf};
  std::shared_ptr<const Seen> seen_ GUARDED_BY(seen_mutex_);
};

}  // namespace zenfs
