// The names and files of a read-write mount: opening and creating files by path, links, renames, deletions, directories, and what
// callers see of them, including bytes that are appended and not committed yet.
//
// An action on names is validated and locks the names and files that it touches (name_plans.h, Catalog::Begin). It commits one
// frame, CommitEffects applies it, and its locks are released. The change is durable when a function returns OK. Only Create
// commits nothing: a new file is pending until it is synced, or its name or directory is.
//
// Ownership: each OpenFile that Open or Create returns has one more handle counted, which the caller must give back with Release.
// Errors: those of the plan, of CommitPath::Commit, and of writing the buffered bytes of a pending file; for looks at names those
// of CatalogView::Resolve and kNotFound; those named at each function.
// Threads: any. An action waits for the locks on names and files in the catalog. A look takes the catalog's lock, and under it those
// of the open files and the logs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "catalog/catalog.h"
#include "open/commit_path.h"
#include "open/open_file.h"
#include "open/open_file_table.h"
#include "open/trace_recorder.h"
#include "volume/volume.h"
#include "wal/framed_file.h"

namespace zenfs {

// Allocates file ids that were never used. They are below a limit that is committed ahead, in batches.
// Threads: any. mutex_ is held during the commit that raises the limit, once in kBatch files.
class IdAllocator {
 public:
  static constexpr std::uint64_t kBatch = 4096;
  // Commits that all ids below `next_id` may be in use.
  using Raise = std::function<Status(std::uint64_t next_id)>;

  // Ids in [next, limit) are free and the limit is committed.
  IdAllocator(std::uint64_t next, std::uint64_t limit, Raise raise)
      : raise_(std::move(raise)), next_(next), limit_(limit) {}

  [[nodiscard]] Result<FileId> Next() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (next_ == limit_) {
      ZENFS_RETURN_IF_ERROR(raise_(limit_ + kBatch));
      limit_ += kBatch;
    }
    return FileId(next_++);
  }

 private:
  const Raise raise_;
  Mutex mutex_{LockRank::kCounters};  // before the metadata log
  std::uint64_t next_ GUARDED_BY(mutex_);
  std::uint64_t limit_ GUARDED_BY(mutex_);
};

class Namespace {
 public:
  struct Deps {
    Catalog& catalog;
    CommitPath& commits;
    OpenFileTable& files;
    const LogStore& logs;
    const OpenFileFactory& factory;
    Metrics& metrics;
    TraceRecorder* trace = nullptr;  // null: nothing is recorded
  };
  // The parts in `deps` outlive it. The ids in [next_id, next_id + IdAllocator::kBatch) are free, and the first commit of the mount
  // reserves them.
  Namespace(const Deps& deps, std::uint64_t next_id);

  // --- files ---
  // Errors: kIsADirectory.
  [[nodiscard]] Result<std::shared_ptr<OpenFile>> Open(std::string_view path);
  // Creates a pending file; it replaces a file of that name. Errors: also those of IdAllocator::Next; that of
  // CommitPath::health once no commit can succeed any more.
  [[nodiscard]] Result<std::shared_ptr<OpenFile>> Create(std::string_view path, Lifetime lifetime);
  // Gives back one handle. With the last handle, an uncommitted file disappears.
  void Release(OpenFile& file);
  // Affects zones that are chosen from now on.
  void SetLifetime(OpenFile& file, Lifetime lifetime);

  // --- names ---
  [[nodiscard]] Status Unlink(std::string_view path);
  [[nodiscard]] Status Link(std::string_view existing, std::string_view new_name);
  [[nodiscard]] Status Rename(std::string_view from, std::string_view to);
  [[nodiscard]] Status MakeDirectory(std::string_view path, bool parents);
  [[nodiscard]] Status RemoveDirectory(std::string_view path);
  // One commit for each step of PlanRemovalStep.
  [[nodiscard]] Status RemoveTree(std::string_view path);
  // Commits the directory's pending files.
  [[nodiscard]] Status SyncDirectory(std::string_view path);

  // --- looks ---
  [[nodiscard]] Result<FileStat> Stat(std::string_view path) const;
  // Sorted by name. The path is not looked up if `known` has the directory's id. Errors: kNotADirectory.
  [[nodiscard]] Result<std::vector<DirectoryEntry>> List(std::string_view path, FileId known) const;
  // The committed extents, and the frames beyond them. Errors: kIsADirectory.
  [[nodiscard]] Result<FileLayout> Layout(std::string_view path) const;
  // Nothing if the file is gone.
  [[nodiscard]] std::optional<FileLayout> LayoutOf(FileId file) const;

 private:
  [[nodiscard]] Result<std::shared_ptr<OpenFile>> CreatePending(std::string_view path, Lifetime lifetime);
  std::shared_ptr<OpenFile> OpenCommitted(const CatalogView& view, FileId id);

  // A pending file that is committed together with a change of its name.
  struct Promotion {
    std::shared_ptr<OpenFile> file;  // null: the file is committed already
    OpenFile::Uncommitted drained;

    CommitOptions options() const { return {.data_since = drained.data_since}; }
  };
  // Writes the file's buffered bytes and adds its extents to `edits`, which have its creation. The caller has locked the
  // file.
  [[nodiscard]] Result<Promotion> DrainPending(const Entry& entry, std::vector<Edit>& edits);
  void Promoted(const Promotion& promotion);
  // Call this if a pending file has lost its name or was replaced.
  void DropPending(FileId id);

  FileStat StatOf(const CatalogView& view, const Entry& entry) const;

  const Deps deps_;
  IdAllocator ids_;
};

// The paths that this process has locked with Volume::Lock.
//
// Ownership: a PathLock may outlive the PathLocks that made it.
// Threads: any. The mutex inside is a leaf lock.
class PathLocks {
 public:
  PathLocks();

  // Locks the normalized path (NormalizePath) until the result is destroyed. Does not access any file. Errors: kBusy if the
  // path is already locked.
  [[nodiscard]] Result<std::unique_ptr<PathLock>> Take(std::string_view path);

 private:
  struct Held;
  class HeldPath;
  const std::shared_ptr<Held> held_;
};

}  // namespace zenfs
