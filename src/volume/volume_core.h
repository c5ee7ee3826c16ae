// The volume mounted for writing (read-only: reader_volume.h). Parts: recovery (volume_mount.cc), the commit path
// (volume_commit.cc), open files (volume_files.cc), names (volume_names.cc), looking (volume_look.cc), append buffers in
// shared memory (volume_staging.cc), moving data together (volume_reclaim.cc), the end (volume_unmount.cc).
//
// Every public call enters gate_, so Unmount can wait for those inside; handles keep the core alive.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fork_guard.h"
#include "base/gate.h"
#include "base/mutex.h"
#include "catalog/catalog.h"
#include "device/flush_mark.h"
#include "metalog/metalog.h"
#include "metrics/metrics.h"
#include "reclaim/extent_mover.h"
#include "reclaim/reclaimer.h"
#include "staging/left_behind.h"
#include "staging/staging_area.h"
#include "volume/id_allocator.h"
#include "volume/open_file.h"
#include "volume/path_locks.h"
#include "volume/places.h"
#include "volume/volume.h"
#include "wal/log_drain.h"
#include "wal/log_space.h"
#include "wal/log_store.h"
#include "zone/extent_sink.h"

namespace zenfs {

class VolumeCore final : public Volume,
                         public CommitSink,
                         public LogReservations,
                         public std::enable_shared_from_this<VolumeCore> {
 public:
  VolumeCore(std::unique_ptr<ZonedDevice> device, Superblock superblock, const MountOptions& options);
  ~VolumeCore() override;

  // Recovery. Called once, before anything else.
  [[nodiscard]] Status Recover();

  // --- Volume ---
  [[nodiscard]] Status Unmount() override;
  [[nodiscard]] Status PrepareForExit() override;
  std::string shared_memory_path() const override;
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> Create(std::string_view path, Lifetime lifetime) override;
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> OpenForAppend(std::string_view path,
                                                                  bool create) override;
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> OpenForRead(std::string_view path, FileId known) override;
  [[nodiscard]] Status Truncate(std::string_view path, std::uint64_t size) override;
  [[nodiscard]] Status Unlink(std::string_view path) override;
  [[nodiscard]] Status Link(std::string_view existing, std::string_view new_name) override;
  [[nodiscard]] Status Rename(std::string_view from, std::string_view to) override;
  [[nodiscard]] Status MakeDirectory(std::string_view path, bool parents) override;
  [[nodiscard]] Status RemoveDirectory(std::string_view path) override;
  [[nodiscard]] Status SyncDirectory(std::string_view path) override;
  [[nodiscard]] Result<FileStat> Stat(std::string_view path) const override;
  [[nodiscard]] Result<std::vector<DirectoryEntry>> List(std::string_view path) const override;
  [[nodiscard]] Result<FileLayout> Layout(std::string_view path) const override;
  [[nodiscard]] Result<std::unique_ptr<PathLock>> Lock(std::string_view path) override;
  [[nodiscard]] Status EmptyZone(ZoneId zone) override EXCLUDES(mover_mutex_);
  SpaceReport Space() const override;
  std::vector<ZoneStatus> Zones() const override;
  const Superblock& superblock() const override { return superblock_; }
  const Geometry& geometry() const override { return geometry_; }
  const std::string& device_name() const override { return device_name_; }
  bool read_only() const override { return false; }
  std::uint64_t epoch() const override { return epoch_; }
  MetalogStats metalog_stats() const override;
  WriteCounters write_counters() const override;
  ByteView metrics_page() const override { return metrics_.page(); }
  std::vector<std::string> notices() const override EXCLUDES(health_mutex_);
  Status health() const override;

  // --- CommitSink ---
  void OnCommitted(std::span<const Edit> edits) override;

  // --- LogReservations ---
  [[nodiscard]] Result<LogZone> Reserve(ZoneId zone) override;
  [[nodiscard]] Status Release(ZoneId zone) override;

  // --- for handles ---
  Metrics& metrics() { return metrics_; }
  // Copies to the metrics what is counted elsewhere: bytes written, by cause.
  void CountWritten();
  // Fails in a forked child and after Unmount; with `writing`, also once the volume is broken.
  [[nodiscard]] Result<Gate::Entry> Enter(bool writing) const;
  // The file's existence is durable when this returns.
  [[nodiscard]] Status EnsureCommitted(OpenFile& file);
  // Its creation was committed just now; the caller has reserved it.
  void IsCommitted(OpenFile& file);
  [[nodiscard]] Status SyncPlain(OpenFile& file);
  // The plain file's name and bytes survive the death of the process when this returns.
  [[nodiscard]] Status FlushPlain(OpenFile& file);
  [[nodiscard]] Status TruncateFramed(OpenFile& file, std::uint64_t size);
  void SetLifetime(OpenFile& file, Lifetime lifetime);
  // Hands what the file has buffered to the device and commits its existence and size; nothing if it has no name.
  [[nodiscard]] Status WriteBack(OpenFile& file);
  // A writing handle goes away.
  [[nodiscard]] Status EndWriting(OpenFile& file);
  // A handle is gone. With the last one, a file that could not be committed disappears.
  void Release(OpenFile& file) EXCLUDES(files_mutex_);

 private:
  // Recovery.
  [[nodiscard]] Status SealLogs(std::unordered_map<FileId, ReplayedLog>& replayed, const State& state);
  [[nodiscard]] Result<std::unordered_map<FileId, ReplayedLog>> ReplayLogs(const State& state,
                                                                           std::span<const ZoneInfo> report);
  // Append buffers in shared memory: volume_staging.cc.
  [[nodiscard]] Status OpenLeft(const State& state);
  [[nodiscard]] Result<std::optional<State>> CommitLeftExtents(const State& state, const KnownZones& zones);
  std::set<FileId> PlainFilesToBringBack(const State& state) const;
  [[nodiscard]] Status BringBack(const State& state, std::unordered_map<FileId, ReplayedLog>& replayed);
  [[nodiscard]] Status BringBackOne(const State& state, const LeftBytes& piece, ReplayedLog& log);
  [[nodiscard]] Status MakeStaging();
  void ForgetLeft();
  // The counters as they are, for whoever asked for a file of them.
  [[nodiscard]] Status KeepMetrics();
  // Nothing that was flushed is in the buffers only when this succeeds.
  [[nodiscard]] Status WriteOutFlushed();
  // The last commit of a mount; nothing else writes or commits any more.
  [[nodiscard]] Status SealAtTheEnd(bool forget_buffers);
  // Nothing is in the buffers any more when this succeeds, and the metadata log says so.
  [[nodiscard]] Status EndStaging();

  [[nodiscard]] Status Commit(std::vector<Edit> edits, CommitOptions options = {});
  [[nodiscard]] Status FoldZone(ZoneId zone);
  // Reclaim: volume_reclaim.cc.
  void MakeReclaim();
  ExtentMover::Env MoverEnv();
  Reclaimer::LogView LookAtLog();
  [[nodiscard]] Status EmptyVictim(const Victim& victim) EXCLUDES(mover_mutex_);
  bool IsHeld(ZoneId zone) const EXCLUDES(files_mutex_);
  [[nodiscard]] Status MayCommitExtents(std::size_t extents) const;
  [[nodiscard]] Status MoveOut(ZoneId zone, const ExtentMover::Pause& pause = {}) EXCLUDES(mover_mutex_);
  std::vector<std::shared_ptr<const FileRecord>> FilesIn(ZoneId zone) const;
  // Nobody else changes or syncs it meanwhile; kBusy if somebody does for longer than `wait`, and when it is gone.
  [[nodiscard]] Status WithFreeFile(FileId id, std::chrono::nanoseconds wait,
                                    const std::function<Status(const FileRecord&)>& body);
  [[nodiscard]] Status WithUnwrittenFile(FileId id, const std::function<Status(const FileRecord&)>& body);
  // False if its writer is at work.
  [[nodiscard]] bool TellMoved(const FileRecord& before, const std::vector<Extent>& extents);
  void NoteUntold(FileId id) EXCLUDES(untold_mutex_);
  // True while files that are open have not been told where their extents are now.
  bool RetryTelling() EXCLUDES(untold_mutex_);
  PlainFile::Env PlainEnv(FileId id);
  FramedFile::Env FramedEnv();

  // Counts a handle of each, so that none is opened anew meanwhile; the caller must Release it.
  std::vector<std::shared_ptr<OpenFile>> AllOpen() EXCLUDES(files_mutex_);
  // These two and CreateFileAt count a handle, which the caller must make (MakeHandle).
  [[nodiscard]] Result<std::shared_ptr<OpenFile>> OpenExisting(std::string_view path) EXCLUDES(files_mutex_);
  std::shared_ptr<OpenFile> OpenById(const CatalogView& view, FileId id) EXCLUDES(files_mutex_);
  std::shared_ptr<OpenFile> FindOpen(FileId id) const EXCLUDES(files_mutex_);
  [[nodiscard]] Result<std::shared_ptr<OpenFile>> CreateFileAt(std::string_view path, Lifetime lifetime);
  std::unique_ptr<FileHandle> MakeHandle(std::shared_ptr<OpenFile> file, bool writable);
  void MarkUnlinked(FileId id) EXCLUDES(files_mutex_);
  FileStat StatOf(const CatalogView& view, const Entry& entry) const;

  // A pending file on its way to being committed together with another change of its name.
  struct Promotion {
    std::shared_ptr<OpenFile> file;  // null: the file is committed already
    PlainFile::Drained drained;

    CommitOptions options() const { return {.data_since = drained.data_since}; }
  };
  // Adds to `edits`, which hold the file's creation, its content so far; the file is reserved by the caller.
  [[nodiscard]] Result<Promotion> DrainPending(const Entry& entry, std::vector<Edit>& edits);
  void Promoted(const Promotion& promotion);

  const Superblock superblock_;
  const MountOptions options_;
  const Geometry geometry_;
  const std::string device_name_;
  const ForkGuard fork_guard_;
  mutable Gate gate_;
  std::vector<std::string> notices_;
  std::uint64_t epoch_ = 0;
  std::atomic<std::uint64_t> plain_bytes_{0};
  std::atomic<std::uint64_t> plain_padding_{0};
  std::atomic<std::uint64_t> folded_bytes_{0};

  Metrics metrics_;

  // In order of construction: each uses only what stands above it, and none outlives what it uses.
  std::unique_ptr<ZonedDevice> device_;
  std::unique_ptr<Metalog> metalog_;
  std::unique_ptr<ZoneManager> zones_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<IdAllocator> ids_;
  std::unique_ptr<LogSpace> log_;
  std::unique_ptr<ExtentSink> raw_sink_;   // fails when there is no space
  std::unique_ptr<ExtentSink> sink_;       // counts
  std::unique_ptr<ExtentSink> copy_sink_;  // for data that is moved
  std::shared_ptr<StagingArea> staging_;   // null: there is none
  // Whether the metadata log names them. kPerhaps: its commit failed, and may be found by the next mount all the same.
  enum class Named { kNo, kPerhaps, kYes };
  Named staging_named_ = Named::kNo;
  LeftBehind left_;                           // while the volume is being mounted
  std::vector<std::uint32_t> buffer_owners_;  // users whose append buffers count, see WhoseBuffers
  std::vector<ZonePin> left_pins_;            // of what was brought back, until its files hold it
  LogStore logs_;
  std::unique_ptr<LogDrain> drain_;
  std::unique_ptr<ExtentMover> mover_;

  Mutex mover_mutex_;  // held while a zone is emptied: before all that a commit takes
  std::atomic<FlushMark> copying_since_{FlushMark::AtOpen()};  // when that began
  Mutex untold_mutex_;                                         // leaf
  std::set<FileId> untold_ GUARDED_BY(untold_mutex_);          // moved while a writer held them
  std::unique_ptr<Reclaimer> reclaimer_;                       // null: none, or not yet
  std::atomic<bool> logs_ready_{false};                        // logs_ holds all framed files

  Mutex generation_mutex_;  // before the metadata log: generations are committed in order
  std::uint64_t next_generation_ GUARDED_BY(generation_mutex_) = 1;

  mutable Mutex files_mutex_;  // after the catalog's
  std::unordered_map<FileId, std::weak_ptr<OpenFile>> open_files_ GUARDED_BY(files_mutex_);

  PathLocks path_locks_;

  mutable Mutex health_mutex_;  // leaf
  Status health_ GUARDED_BY(health_mutex_);
  std::vector<std::string> damage_ GUARDED_BY(health_mutex_);  // found since the mount
};

}  // namespace zenfs
