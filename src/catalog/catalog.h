// The names, directories and files of a volume in memory: the committed State, and the pending files, which are
// created but not committed. A file that is created and never synced costs no metadata write.
//
// A pending file shadows a committed file of the same name. If the process or the power fails before the pending
// file is committed, the old file is still there. One commit contains CreateFile, UnlinkFile of the old file, and
// LinkFile.
//
// Steps of an action: Begin validates and locks, atomically. The caller commits to the metadata log, which calls
// Apply through its sink. The destructor of the Action releases the locks and wakes waiting actions.
//
// Threads: all calls are thread-safe. mutex_ ranks after the roles of the metadata log and before leaf locks; no
// I/O is done under it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "catalog/extent_index.h"
#include "catalog/name_locks.h"
#include "model/state.h"

namespace zenfs {

struct PendingFile {
  FileId id;
  FileId parent;
  std::string name;
  FileShape shape = FileShape::kPlain;
  Lifetime lifetime = Lifetime::kNotSet;
  std::uint64_t mtime_seconds = 0;
};

// The result of a path lookup. The parent exists; the entry itself may be missing.
struct Entry {
  enum class Kind { kMissing, kDirectory, kFile };

  FileId parent;
  std::string name;  // empty for the root
  Kind kind = Kind::kMissing;
  FileId id;             // valid unless kMissing
  bool pending = false;  // the file is not committed
  bool shadows = false;  // a pending file replaces a committed entry of this name
};

// Read access to the catalog under its lock, for planners.
class CatalogView {
 public:
  CatalogView(const State& state, const std::unordered_map<FileId, PendingFile>& pending,
              const std::map<std::pair<FileId, std::string>, FileId, std::less<>>& pending_names)
      : state_(state), pending_(pending), pending_names_(pending_names) {}

  // Looks up a path. Errors: kNotFound if a parent is missing; kNotADirectory if a parent is a file; those of CheckPath.
  [[nodiscard]] Result<Entry> Resolve(std::string_view path) const;
  // Errors: kInvalidArgument for a NUL byte or a name longer than kMaxNameBytes.
  [[nodiscard]] static Status CheckPath(std::string_view path);
  // Looks up one name in a directory.
  Entry Find(FileId parent, std::string_view name) const;
  const PendingFile* FindPending(FileId id) const;
  std::vector<const PendingFile*> PendingIn(FileId directory) const;
  const State& state() const { return state_; }

  // Returns the edits that commit a pending file, and adds the names and files that they touch to `keys`. Returns no
  // edits if the file is not pending.
  std::vector<Edit> Promote(FileId id, LockKeys& keys) const;

 private:
  const State& state_;
  const std::unordered_map<FileId, PendingFile>& pending_;
  const std::map<std::pair<FileId, std::string>, FileId, std::less<>>& pending_names_;
};

class Catalog {
 public:
  explicit Catalog(State state);

  // Locks on names and files. Its destructor releases them. Must not outlive the catalog.
  class Action {
   public:
    Action() = default;
    Action(Action&& other) noexcept : catalog_(other.catalog_), ticket_(other.ticket_) {
      other.catalog_ = nullptr;
    }
    Action& operator=(Action&& other) noexcept {
      std::swap(catalog_, other.catalog_);
      std::swap(ticket_, other.ticket_);
      return *this;
    }
    ~Action() {
      if (catalog_ != nullptr) catalog_->End(ticket_);
    }

   private:
    friend class Catalog;
    Action(Catalog* catalog, NameLocks::Ticket ticket) : catalog_(catalog), ticket_(ticket) {}
    Catalog* catalog_ = nullptr;
    NameLocks::Ticket ticket_;
  };

  // Validates an action and adds its keys. It runs under the lock and again after each wait, so each call must set all
  // outputs again. Begin returns its error.
  using Planner = std::function<Status(const CatalogView&, LockKeys&)>;
  // Locks the keys of the plan. Waits for conflicting actions. Errors: those of the planner; kBusy if a conflicting
  // action is still running at the deadline.
  [[nodiscard]] Result<Action> Begin(const Planner& planner, Deadline deadline = Deadline::Never())
      EXCLUDES(mutex_);
  // Like Begin, for a plan that returns a Result; stores its value in `made`.
  template <typename Made, typename Plan>
  [[nodiscard]] Result<Action> BeginPlanned(Made& made, const Plan& plan) EXCLUDES(mutex_) {
    return Begin([&](const CatalogView& view, LockKeys& keys) -> Status {
      ZENFS_ASSIGN_OR_RETURN(made, plan(view, keys));
      return {};
    });
  }

  // Runs `look` under the lock.
  void Look(const std::function<void(const CatalogView&)>& look) const EXCLUDES(mutex_);

  // Adds a pending file at (parent, name), which the caller has locked. Returns the id of the pending file that it
  // replaces, or kNoFile.
  FileId AddPending(PendingFile file) EXCLUDES(mutex_);
  void DropPending(FileId id) EXCLUDES(mutex_);
  void SetPendingLifetime(FileId id, Lifetime lifetime) EXCLUDES(mutex_);

  // Applies the edits of one commit; called in log order. Pending files that the edits create are then committed, and
  // pending files that a rename replaces are dropped.
  // An error means that an invalid edit was committed, which is a bug: the volume must stop writing.
  [[nodiscard]] Result<Effects> Apply(std::span<const Edit> edits) EXCLUDES(mutex_);

  std::shared_ptr<const FileRecord> FindFile(FileId id) const EXCLUDES(mutex_);
  // Returns the committed files with extents that begin in [begin, end), each once, in the order of their first place.
  // Costs O(extents in the range); the first call also makes the index of all extents, about 0.1 us for each. The lock is held
  // for a few thousand extents at a time, so extents that commits add meanwhile may be missed.
  std::vector<std::shared_ptr<const FileRecord>> FilesIn(DeviceOffset begin, DeviceOffset end) const
      EXCLUDES(mutex_);
  // Number of extents that FilesIn visited so far; tests use it to measure cost.
  std::uint64_t extents_looked_at() const EXCLUDES(mutex_);

 private:
  CatalogView View() const REQUIRES(mutex_) { return {state_, pending_, pending_names_}; }
  void End(NameLocks::Ticket ticket) EXCLUDES(mutex_);
  void ErasePending(FileId id) REQUIRES(mutex_);

  mutable Mutex mutex_{LockRank::kCatalog};
  CondVar released_;
  State state_ GUARDED_BY(mutex_);
  // Made at the first call of FilesIn: a mount that never reclaims, such as a reader, saves its time and memory.
  mutable std::optional<ExtentIndex> extents_ GUARDED_BY(mutex_);
  mutable std::uint64_t extents_looked_at_ GUARDED_BY(mutex_) = 0;
  NameLocks locks_ GUARDED_BY(mutex_);
  std::unordered_map<FileId, PendingFile> pending_ GUARDED_BY(mutex_);
  std::map<std::pair<FileId, std::string>, FileId, std::less<>> pending_names_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
