// Moves the live data of a volume out of zones, so that they can be reset, while the files are in use.
//
// The collector chooses the zones (reclaim/reclaimer.h); ZoneMover copies. This class finds the files in a
// zone, commits their new extents, and notifies the open files. A file that is being written can't be notified at once: its
// relocation is pending, and it reads its old extents, which it pins.
//
// Invariants
//   never waits for a thread that may wait for space: neither for a lock on a name nor for a file's buffer
//   a file points to a copy only after the copy was flushed and, unless the file is deleted, committed
//
// Threads: ReclaimTarget and MovableFiles on the thread that empties a zone; all others from any thread. mover_mutex_ is held
// while a zone is emptied, and is taken before all locks of a commit; mutex_ is a leaf lock.
#pragma once

#include <atomic>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "catalog/catalog.h"
#include "device/flush_mark.h"
#include "open/commit_path.h"
#include "open/open_file_table.h"
#include "open/write_accounting.h"
#include "reclaim/reclaim_target.h"
#include "reclaim/zone_mover.h"
#include "wal/log_space.h"
#include "wal/log_store.h"

namespace zenfs {

class Relocation final : public ReclaimTarget, private MovableFiles {
 public:
  struct Deps {
    ZonedDevice& device;
    ZoneManager& zones;
    Catalog& catalog;
    CommitPath& commits;
    OpenFileTable& files;
    LogStore& logs;
    LogSpace& log;
    ExtentSink& sink;      // for WritePurpose::kReclaim
    ExtentSink& log_sink;  // for frames of log zones
    WrittenBytes& written;
    const WriteAccounting& accounting;
    bool device_copy;  // MountOptions::device_copy
  };
  // The parts in `deps` outlive it.
  explicit Relocation(const Deps& deps);

  // The files that a mount recovers from frames and buffers, plain ones among them: it has read where their extents are, and
  // will seal them. They stay where they are until LogsAreRecovered. Call this before anything is moved.
  void KeepUntilRecovered(std::set<FileId> files) { recovering_ = std::move(files); }
  // Call this once the mount has put all framed files into the store. From now on they may be moved.
  void LogsAreRecovered() { logs_recovered_ = true; }
  // Ends a move in progress soon, with kShutdown.
  void Stop() { mover_.Stop(); }

  // Moves all live data out of a full zone of file data, whether or not space is short: for tests. Errors:
  // kInvalidArgument if the zone is not full or holds no file data; kBusy while a file in it is being changed; those of
  // reading and writing.
  [[nodiscard]] Status EmptyZone(ZoneId zone) EXCLUDES(mover_mutex_);

  // One sentence for each extent or frame that was not copied because it is damaged.
  std::vector<std::string> damage() const EXCLUDES(mutex_);

  // --- ReclaimTarget ---
  LogView LookAtLog() override;
  [[nodiscard]] Status Empty(const Victim& victim, const ZoneMover::Pause& pause) override
      EXCLUDES(mover_mutex_);
  std::uint64_t RestatedBytes(const Victim& victim) const override;
  bool IsHeld(ZoneId zone) const override { return deps_.files.HoldsZone(zone); }
  bool BorrowLogZone() override { return deps_.log.supply().GiveBackReady(); }
  bool ReturnSpareLogZone() override { return deps_.log.supply().GiveBackReady(LogZones::Unwritten::kSpare); }
  bool CanCommit() const override { return deps_.commits.health().ok(); }
  // Tries the pending relocations again; true while there are any.
  bool FinishUp() override EXCLUDES(mutex_);

 private:
  // --- MovableFiles ---
  std::vector<std::shared_ptr<const FileRecord>> FilesIn(ZoneId zone) const override;
  [[nodiscard]] Status WithFile(FileId id, const std::function<Status(const FileRecord&)>& body) override;
  [[nodiscard]] Status CommitMoved(std::vector<Edit> edits) override;
  [[nodiscard]] Status CheckRoomForExtents(std::size_t extents) const override;
  bool NoteMoved(const FileRecord& before, const std::vector<Extent>& extents) override EXCLUDES(mutex_);
  std::vector<std::shared_ptr<FramedFile>> DeletedLogs() const override { return deps_.files.DeletedLogs(); }
  [[nodiscard]] Status WithDeletedLog(FileId id, const std::function<Status()>& body) override;
  [[nodiscard]] Status SettleDeleted(const std::vector<Extent>& copies) override;

  [[nodiscard]] Status EmptyVictim(const Victim& victim, const ZoneMover::Pause& pause)
      EXCLUDES(mover_mutex_);
  // The closed zones of a victim of the log, ascending.
  std::vector<ZoneId> GroupOf(const Victim& victim) const;
  // Calls `move` of the mover, and remembers damage.
  [[nodiscard]] Status Move(const std::function<Status()>& move) EXCLUDES(mover_mutex_);
  void NoteDamage(const Status& status) EXCLUDES(mutex_);
  // WithFile for a file that may be open for writing.
  [[nodiscard]] Status WithLockedFile(FileId id, const std::function<Status(const FileRecord&)>& body);
  // Notifies the file if it is open. False if it is being written.
  [[nodiscard]] bool Tell(const FileRecord& before, const std::vector<Extent>& extents);
  void AddPending(FileId id) EXCLUDES(mutex_);

  const Deps deps_;
  ZoneMover mover_;
  std::set<FileId> recovering_;  // constant from the start of the collector on
  std::atomic<bool> logs_recovered_{false};
  Mutex mover_mutex_;  // without a rank, because tests use files on the mover's thread, at its sync points
  std::atomic<FlushMark> copying_since_{FlushMark::AtOpen()};  // before the first copy from the present zone
  mutable Mutex mutex_{LockRank::kVolumeLeaf};
  std::set<FileId> pending_ GUARDED_BY(mutex_);
  std::vector<std::string> damage_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
