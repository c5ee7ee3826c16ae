// The state of a volume for a read-only mount, while another mount may write: the metadata, and the tails of framed files.
// Each access updates it from the device.
//
// Why reads are correct: the writer commits deletions and releases of zones before it resets the zones. So if the metadata
// log has not moved since the layout was looked up, no zone was reset during the read (Confirm). If it has moved, the new
// commits show whether this file was touched.
//
// Threads: any. mutex_ is held while the logs are read; seen_mutex_ is a leaf lock.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "format/superblock.h"
#include "metalog/follower.h"
#include "wal/log_replay.h"
#include "wal/log_tails.h"

namespace zenfs {

// A file at one moment. Immutable.
struct LiveFile {
  std::shared_ptr<const FileRecord> record;
  std::shared_ptr<const ReplayedLog> log;  // null for a plain file
  std::vector<LogZone> log_zones;          // with the frames of `log`
  std::uint64_t version = 0;               // of the metadata in which this was looked up or last proven

  std::uint64_t size() const { return log != nullptr ? log->index.end() : record->size; }
};

class LiveState {
 public:
  // Both arguments outlive it.
  LiveState(ZonedDevice& device, const Superblock& superblock);

  // The present state of the volume, for the function that Look calls.
  class View {
   public:
    const State& state() const;
    // Errors: those of CatalogView::Resolve; kNotFound.
    [[nodiscard]] Result<Entry> Resolve(std::string_view path) const;
    // Bytes of the file, including frames that are not sealed yet. Errors: those of a zone report.
    [[nodiscard]] Result<std::uint64_t> SizeOf(const std::shared_ptr<const FileRecord>& record);
    // The time of the last append that is on the device, in seconds since 1970. Errors: those of a zone report.
    [[nodiscard]] Result<std::uint64_t> MtimeOf(const std::shared_ptr<const FileRecord>& record);
    // Device bytes of the live frames of framed files, by zone. Errors: those of a zone report.
    [[nodiscard]] Result<std::map<ZoneId, std::uint64_t>> FrameBytes();
    // One sentence for each offline log zone, and for each lost part of a framed file.
    [[nodiscard]] Result<std::vector<std::string>> Damage();
    std::uint64_t generation() const;  // of the metadata log
    std::uint64_t sequence() const;    // of the last commit

   private:
    friend class LiveState;
    explicit View(LiveState& owner) : owner_(owner) {}
    [[nodiscard]] Result<std::shared_ptr<const ReplayedLog>> TailOf(
        const std::shared_ptr<const FileRecord>& record);
    LiveState& owner_;
    bool tails_are_new_ = false;
  };
  // Updates the metadata and runs `look` with the lock held. Errors: those of LogFollower::Refresh and of `look`.
  [[nodiscard]] Status Look(const std::function<Status(View&)>& look) EXCLUDES(mutex_);

  // Opens the file as it is now. If the path of a plain file led to `known` at the last update, opens it as it was then,
  // without an update; reads are confirmed anyway. Errors: those of Look and View::Resolve; kIsADirectory.
  [[nodiscard]] Result<std::shared_ptr<const LiveFile>> Open(std::string_view path, FileId known = kNoFile)
      EXCLUDES(mutex_);
  // The file as it is now; null if it is gone.
  [[nodiscard]] Result<std::shared_ptr<const LiveFile>> Find(FileId id) EXCLUDES(mutex_);

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
  [[nodiscard]] Result<Confirmed> Confirm(const std::shared_ptr<const LiveFile>& file) EXCLUDES(mutex_);

 private:
  // The last seen position of the metadata log, and the number of changes seen so far.
  struct Seen {
    LogFingerprint fingerprint;
    std::uint64_t version = 0;
  };

  [[nodiscard]] Status Refresh() REQUIRES(mutex_);
  [[nodiscard]] Result<std::shared_ptr<const LiveFile>> FindLocked(FileId id) REQUIRES(mutex_);
  [[nodiscard]] Result<std::shared_ptr<const ReplayedLog>> LogOf(std::shared_ptr<const FileRecord>& record)
      REQUIRES(mutex_);
  bool StillLocked(const LiveFile& file) const REQUIRES(mutex_);
  std::shared_ptr<const Seen> LastSeen() const EXCLUDES(seen_mutex_);
  void Publish(LogFingerprint fingerprint, std::uint64_t version) EXCLUDES(seen_mutex_);

  ZonedDevice& device_;
  const Superblock& superblock_;
  mutable Mutex mutex_{LockRank::kLiveState};  // before the device's locks
  LogFollower follower_ GUARDED_BY(mutex_);
  LogTails tails_ GUARDED_BY(mutex_);
  std::uint64_t version_ GUARDED_BY(mutex_) = 0;
  mutable Mutex seen_mutex_{LockRank::kLeaf};
  std::shared_ptr<const Seen> seen_ GUARDED_BY(seen_mutex_);
};

}  // namespace zenfs
