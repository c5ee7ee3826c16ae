// Moves the live data of a volume out of zones, so that these can be reset, while the files are in use.
//
// The collector chooses zones (reclaim/reclaimer.h); ExtentMover and CleanLogZone copy. This class finds the files that lie in
// a zone, changes them beside their users, and tells those who have them open where the bytes are now. A file whose writer
// is at work can't be told at once: its relocation is pending, and the file reads its old extents, which it pins.
//
// Invariants
//   it never waits for whoever may be waiting for space: neither for a lock on a name nor for a file's buffer
//   a file points to a copy only after the copy was flushed and committed
//
// Threads: ReclaimTarget and MovableFiles on the thread that empties a zone; the rest from any thread. mover_mutex_ is held
// while a zone is emptied and comes before everything that a commit takes; mutex_ is a leaf lock.
#pragma once

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "catalog/catalog.h"
#include "device/flush_mark.h"
#include "reclaim/extent_mover.h"
#include "reclaim/reclaim_target.h"
#include "volume/commit_path.h"
#include "volume/open_file_table.h"
#include "volume/write_accounting.h"
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
    ExtentSink& sink;  // for WritePurpose::kReclaim
    WrittenBytes& written;
  };
  // The parts in `deps` outlive it.
  explicit Relocation(const Deps& deps);

  // The mount has put all framed files into the store: from now on they may be moved.
  void LogsAreRecovered() { logs_recovered_ = true; }
  // What is being moved ends soon, with kShutdown.
  void Stop() { mover_.Stop(); }

  // Moves all live data out of a full zone of file data, whether or not space is short: for tests. Errors:
  // kInvalidArgument if the zone is not full or holds no file data; kBusy while a file in it is being changed; those of
  // reading and writing.
  [[nodiscard]] Status EmptyZone(ZoneId zone) EXCLUDES(mover_mutex_);

  // One sentence for each extent that was found damaged, and so was not moved.
  std::vector<std::string> damage() const EXCLUDES(mutex_);
  const ExtentMover& mover() const { return mover_; }

  // --- ReclaimTarget ---
  LogView LookAtLog() override;
  [[nodiscard]] Status Empty(const Victim& victim, const ExtentMover::Pause& pause) override
      EXCLUDES(mover_mutex_);
  bool IsHeld(ZoneId zone) const override { return deps_.files.HoldsZone(zone); }
  bool BorrowLogZone() override { return deps_.log.supply().GiveBackReady(); }
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

  [[nodiscard]] Status MoveOut(ZoneId zone, const ExtentMover::Pause& pause) EXCLUDES(mover_mutex_);
  [[nodiscard]] Status CleanLog(ZoneId zone) EXCLUDES(mover_mutex_);
  // WithFile for a file that may be open for writing.
  [[nodiscard]] Status WithLockedFile(FileId id, const std::function<Status(const FileRecord&)>& body);
  // Tells whoever has the file open. False if its writer is at work.
  [[nodiscard]] bool Tell(const FileRecord& before, const std::vector<Extent>& extents);
  void AddPending(FileId id) EXCLUDES(mutex_);

  const Deps deps_;
  ExtentMover mover_;
  std::atomic<bool> logs_recovered_{false};
  Mutex
      mover_mutex_;  // without a rank: tests act as users of files on the mover's thread, at its sync points
  std::atomic<FlushMark> copying_since_{FlushMark::AtOpen()};  // before the present zone
  mutable Mutex mutex_{LockRank::kVolumeLeaf};
  std::set<FileId> pending_ GUARDED_BY(mutex_);
  std::vector<std::string> damage_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
