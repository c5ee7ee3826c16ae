// What a read-only mount knows of a volume that somebody else may be writing: the metadata, and the tails of
// framed files, brought up to date whenever they are asked for.
//
// Why bytes that were read can be trusted: deletes and releases of zones are committed before the zones are
// reset. So if the metadata log has not moved since the layout was looked up, nothing was reset under the
// read (Confirm). If it moved, the new commits tell whether this file was touched.
//
// Threads: any. mutex_ is held while the logs are read; seen_mutex_ is a leaf.
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
#include "format/superblock.h"
#include "metalog/follower.h"
#include "wal/log_replay.h"
#include "wal/log_tails.h"

namespace zenfs {

// A file at one moment. Immutable.
struct LiveFile {
  std::shared_ptr<const FileRecord> record;
  std::shared_ptr<const ReplayedLog> log;  // of a framed file; null for a plain one
  std::vector<LogZone> log_zones;          // that `log` points into
  std::uint64_t version = 0;               // of the metadata it was looked up in, or proven in since

  std::uint64_t size() const { return log != nullptr ? log->index.end() : record->size; }
};

class LiveState {
 public:
  // Both outlive this.
  LiveState(ZonedDevice& device, const Superblock& superblock);

  // The volume as it is now, as seen by the function that Look calls.
  class View {
   public:
    const State& state() const;
    // Errors: as CatalogView::Resolve; kNotFound for what is not there.
    [[nodiscard]] Result<Entry> Resolve(std::string_view path) const;
    // Bytes that the file has, frames not yet sealed included. Errors: those of a report.
    [[nodiscard]] Result<std::uint64_t> SizeOf(const std::shared_ptr<const FileRecord>& record);
    // When the last of them was appended, as far as the device tells; seconds since 1970. Errors: those of a report.
    [[nodiscard]] Result<std::uint64_t> MtimeOf(const std::shared_ptr<const FileRecord>& record);
    // Device bytes of the frames that framed files consist of, by zone. Errors: those of a report.
    [[nodiscard]] Result<std::map<ZoneId, std::uint64_t>> FrameBytes();
    // Log zones that are offline, and what is lost of framed files, one sentence each.
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
  // Brings the metadata up to date and runs `look`, others waiting. Errors: those of LogFollower::Refresh, else
  // what `look` returns.
  [[nodiscard]] Status Look(const std::function<Status(View&)>& look) EXCLUDES(mutex_);

  // As it is now; a plain file whose path led to `known` when the metadata were looked at last, as it was then
  // (what is read of it is confirmed like any read). Errors: as Look and View::Resolve; kIsADirectory.
  [[nodiscard]] Result<std::shared_ptr<const LiveFile>> Open(std::string_view path, FileId known = kNoFile)
      EXCLUDES(mutex_);
  // The file as it is now. Null when it is gone.
  [[nodiscard]] Result<std::shared_ptr<const LiveFile>> Find(FileId id) EXCLUDES(mutex_);

  struct Confirmed {
    // What was read through `file` before the call are the file's bytes.
    bool proven = false;
    // Proven: the same layout. Else the file as it is now; null when it is gone.
    std::shared_ptr<const LiveFile> file;
  };
  [[nodiscard]] Result<Confirmed> Confirm(const std::shared_ptr<const LiveFile>& file) EXCLUDES(mutex_);

 private:
  // What was seen of the metadata log, and how often it had changed by then.
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
