// Names and files as lookups see them: the committed State, and above it the files that were created and are
// not committed yet (a created but never synced file costs no metadata write).
//
// A pending file shadows a committed one of the same name; until the pending one is committed, a crash leaves
// the old. Its commit is CreateFile, UnlinkFile of what it shadows, LinkFile: one frame.
//
// An action on names: Begin (validate and lock, atomically), commit to the metadata log, which calls Apply
// through its sink, then the Action is dropped and those who wait for its names go on.
//
// Threads: any. mutex_ comes after the metadata log's roles and before leaf locks; no I/O happens under it.
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

// Where a path leads. The parent exists; the entry itself may not.
struct Entry {
  enum class Kind { kMissing, kDirectory, kFile };

  FileId parent;
  std::string name;  // empty for the root
  Kind kind = Kind::kMissing;
  FileId id;             // unless kMissing
  bool pending = false;  // the file is not committed
  bool shadows = false;  // pending, and a committed file has the name too
};

// What a planner sees, under the catalog's lock.
class CatalogView {
 public:
  CatalogView(const State& state, const std::unordered_map<FileId, PendingFile>& pending,
              const std::map<std::pair<FileId, std::string>, FileId, std::less<>>& pending_names)
      : state_(state), pending_(pending), pending_names_(pending_names) {}

  // Errors: kNotFound when a parent is missing, kNotADirectory, kInvalidArgument for a name that is too long.
  [[nodiscard]] Result<Entry> Resolve(std::string_view path) const;
  const PendingFile* FindPending(FileId id) const;
  std::vector<const PendingFile*> PendingIn(FileId directory) const;
  const State& state() const { return state_; }

  // The edits that commit a pending file's existence; adds to `keys` the names and files that they touch. None if the file
  // is not pending.
  std::vector<Edit> Promote(FileId id, LockKeys& keys) const;

 private:
  const State& state_;
  const std::unordered_map<FileId, PendingFile>& pending_;
  const std::map<std::pair<FileId, std::string>, FileId, std::less<>>& pending_names_;
};

class Catalog {
 public:
  explicit Catalog(State state);

  // Locks on names and files; returned by its destructor. Must not outlive the catalog.
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

  // Validates and says what is touched; called under the lock, again after each wait, so it must set its
  // outputs anew each time. Its error ends Begin.
  using Planner = std::function<Status(const CatalogView&, LockKeys&)>;
  // Waits for actions that touch the same; kBusy once the deadline has passed and one is still under way.
  [[nodiscard]] Result<Action> Begin(const Planner& planner, Deadline deadline = Deadline::Never())
      EXCLUDES(mutex_);
  // The same for a plan that returns a Result, whose value goes to `made`.
  template <typename Made, typename Plan>
  [[nodiscard]] Result<Action> BeginPlanned(Made& made, const Plan& plan) EXCLUDES(mutex_) {
    return Begin([&](const CatalogView& view, LockKeys& keys) -> Status {
      ZENFS_ASSIGN_OR_RETURN(made, plan(view, keys));
      return {};
    });
  }

  // Runs `look` under the lock. For reading only.
  void Look(const std::function<void(const CatalogView&)>& look) const EXCLUDES(mutex_);

  // A new file at (parent, name), which the caller has locked. Returns the id of the pending file it
  // replaces, or kNoFile.
  FileId AddPending(PendingFile file) EXCLUDES(mutex_);
  void DropPending(FileId id) EXCLUDES(mutex_);
  void SetPendingLifetime(FileId id, Lifetime lifetime) EXCLUDES(mutex_);

  // Carries out one committed action, in log order. Pending files that the edits commit become committed
  // ones. An error means that an invalid edit was committed: a bug, and the volume must stop writing.
  [[nodiscard]] Result<Effects> Apply(std::span<const Edit> edits) EXCLUDES(mutex_);

  std::shared_ptr<const FileRecord> FindFile(FileId id) const EXCLUDES(mutex_);
  // Committed files with extents in [begin, end), each once, in the order of their places. Costs O(extents there), and holds
  // the lock for a few thousand of them at a time: extents that commits add meanwhile may be missed.
  std::vector<std::shared_ptr<const FileRecord>> FilesIn(DeviceOffset begin, DeviceOffset end) const
      EXCLUDES(mutex_);
  // Extents that FilesIn has looked at, for tests of its cost.
  std::uint64_t extents_looked_at() const EXCLUDES(mutex_);

 private:
  CatalogView View() const REQUIRES(mutex_) { return {state_, pending_, pending_names_}; }
  void End(NameLocks::Ticket ticket) EXCLUDES(mutex_);
  void ErasePending(FileId id) REQUIRES(mutex_);

  mutable Mutex mutex_{LockRank::kCatalog};
  CondVar released_;
  State state_ GUARDED_BY(mutex_);
  ExtentIndex extents_ GUARDED_BY(mutex_);
  mutable std::uint64_t extents_looked_at_ GUARDED_BY(mutex_) = 0;
  NameLocks locks_ GUARDED_BY(mutex_);
  std::unordered_map<FileId, PendingFile> pending_ GUARDED_BY(mutex_);
  std::map<std::pair<FileId, std::string>, FileId, std::less<>> pending_names_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
