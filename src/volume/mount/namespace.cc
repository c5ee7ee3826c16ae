#include "volume/mount/namespace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/assert.h"
#include "base/sync_point.h"
#include "catalog/path.h"
#include "volume/mount/name_plans.h"

namespace zenfs {

Namespace::Namespace(const Deps& deps, std::uint64_t next_id)
    : deps_(deps), ids_(next_id, next_id + IdAllocator::kBatch, [this](std::uint64_t limit) {
        return deps_.commits.Commit({RaiseCounters{limit, 0}});
      }) {}

// --- files ---

// Called under the catalog's lock, so the record is the newest, and its extents can't be freed before the new OpenFile has
// pinned them. Null if the file is gone.
std::shared_ptr<OpenFile> Namespace::OpenCommitted(const CatalogView& view, FileId id) {
  return deps_.files.Open(id, [&]() -> std::shared_ptr<OpenFile> {
    const auto record = view.state().FindFile(id);
    return record == nullptr ? nullptr : deps_.factory.Committed(*record);
  });
}

Result<std::shared_ptr<OpenFile>> Namespace::Open(std::string_view path) {
  Meter meter(deps_.metrics, Operation::kOpen);
  Result<std::shared_ptr<OpenFile>> file = nullptr;
  deps_.catalog.Look([&](const CatalogView& view) {
    const Result<Entry> entry = view.Resolve(path);
    if (!entry) {
      file = Fail(entry.error());
    } else if (entry->kind == Entry::Kind::kDirectory) {
      file = Fail(Code::kIsADirectory, fmt::format("{}: is a directory", path));
    } else if (entry->kind == Entry::Kind::kFile) {
      file = OpenCommitted(view, entry->id);
    }
  });
  if (file && *file == nullptr) file = Fail(Code::kNotFound, fmt::format("{}: no such file", path));
  if (!file) meter.Failed();
  return file;
}

Result<std::shared_ptr<OpenFile>> Namespace::Create(std::string_view path, Lifetime lifetime) {
  Meter meter(deps_.metrics, Operation::kCreate);
  return meter.Done(CreatePending(path, lifetime));
}

Result<std::shared_ptr<OpenFile>> Namespace::CreatePending(std::string_view path, Lifetime lifetime) {
  ZENFS_ASSIGN_OR_RETURN(const FileId id, ids_.Next());
  Entry entry;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         deps_.catalog.BeginPlanned(entry, [&](const CatalogView& view, LockKeys& keys) {
                           return PlanCreate(view, path, keys);
                         }));
  // Checked after the name is locked, because an earlier action on it may have an unknown outcome.
  ZENFS_RETURN_IF_ERROR(deps_.commits.health());
  std::shared_ptr<OpenFile> file = deps_.factory.New(id, ShapeForName(entry.name), lifetime);
  deps_.files.Add(file);
  // Before the file can be found, so that its deletion is recorded later.
  if (deps_.trace != nullptr) deps_.trace->Created(id, entry.name, lifetime);
  const FileId replaced = deps_.catalog.AddPending({.id = id,
                                                    .parent = entry.parent,
                                                    .name = entry.name,
                                                    .shape = file->shape,
                                                    .lifetime = lifetime,
                                                    .mtime_seconds = WallSeconds()});
  SyncPoint::Reach("Namespace::Create:replaced");
  if (replaced != kNoFile) deps_.files.MarkUnlinked(replaced);
  return file;
}

void Namespace::Release(OpenFile& file) {
  if (!deps_.files.Release(file)) return;
  file.NoteReleased();
  if (file.committed) return;
  deps_.catalog.DropPending(file.id);
  if (deps_.trace != nullptr) deps_.trace->Deleted(file.id);
}

void Namespace::SetLifetime(OpenFile& file, Lifetime lifetime) {
  file.SetLifetime(lifetime);
  deps_.catalog.SetPendingLifetime(file.id, lifetime);
  if (deps_.trace != nullptr) deps_.trace->SetLifetime(file.id, lifetime);
}

// --- names ---

Result<Namespace::Promotion> Namespace::DrainPending(const Entry& entry, std::vector<Edit>& edits) {
  Promotion promotion;
  if (!entry.pending) return promotion;
  promotion.file = deps_.files.Find(entry.id);
  if (promotion.file == nullptr) return promotion;
  ZENFS_ASSIGN_OR_RETURN(promotion.drained, promotion.file->Drain());
  if (promotion.drained.changed) edits.push_back(promotion.drained.ToEdit(entry.id));
  return promotion;
}

void Namespace::Promoted(const Promotion& promotion) {
  if (promotion.file != nullptr) promotion.file->NoteCommitted(promotion.drained);
}

void Namespace::DropPending(FileId id) {
  deps_.catalog.DropPending(id);
  deps_.files.MarkUnlinked(id);
}

Status Namespace::Rename(std::string_view from_path, std::string_view to_path) {
  Meter meter(deps_.metrics, Operation::kRename);
  TwoNamePlan plan;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         deps_.catalog.BeginPlanned(plan, [&](const CatalogView& view, LockKeys& keys) {
                           return PlanRename(view, from_path, to_path, keys);
                         }));
  const auto& [from, to, creation] = plan;
  const bool same = plan.same();  // both names stay (POSIX)
  std::vector<Edit> edits = creation;
  ZENFS_ASSIGN_OR_RETURN(const Promotion promotion, DrainPending(from, edits));
  if (!same) edits.push_back(RenameEntry{from.parent, from.name, to.parent, to.name});
  if (edits.empty()) return {};
  ZENFS_RETURN_IF_ERROR(meter.Done(deps_.commits.Commit(std::move(edits), promotion.options())));
  Promoted(promotion);
  if (to.pending && !same) deps_.files.MarkUnlinked(to.id);
  return {};
}

Status Namespace::Link(std::string_view existing, std::string_view new_name) {
  Meter meter(deps_.metrics, Operation::kLink);
  TwoNamePlan plan;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         deps_.catalog.BeginPlanned(plan, [&](const CatalogView& view, LockKeys& keys) {
                           return PlanLink(view, existing, new_name, keys);
                         }));
  std::vector<Edit> edits = plan.creation;
  ZENFS_ASSIGN_OR_RETURN(const Promotion promotion, DrainPending(plan.from, edits));
  edits.push_back(LinkFile{plan.to.parent, plan.to.name, plan.from.id});
  ZENFS_RETURN_IF_ERROR(meter.Done(deps_.commits.Commit(std::move(edits), promotion.options())));
  Promoted(promotion);
  return {};
}

Status Namespace::Unlink(std::string_view path) {
  Meter meter(deps_.metrics, Operation::kDelete);
  Entry entry;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         deps_.catalog.BeginPlanned(entry, [&](const CatalogView& view, LockKeys& keys) {
                           return PlanUnlink(view, path, keys);
                         }));
  if (!entry.pending || entry.shadows) {
    ZENFS_RETURN_IF_ERROR(meter.Done(deps_.commits.Commit({UnlinkFile{entry.parent, entry.name}})));
  } else {
    // A pending file needs no commit. But if a commit of it had an unknown outcome, the next mount may find the file.
    ZENFS_RETURN_IF_ERROR(meter.Done(deps_.commits.health()));
  }
  if (entry.pending) DropPending(entry.id);
  return {};
}

Status Namespace::MakeDirectory(std::string_view path, bool parents) {
  Meter meter(deps_.metrics, Operation::kDirectoryChange);
  std::vector<FileId> ids;
  const std::size_t components = std::max<std::size_t>(SplitPath(path).size(), 1);
  while (ids.size() < components) {
    ZENFS_ASSIGN_OR_RETURN(const FileId id, ids_.Next());
    ids.push_back(id);
  }
  std::vector<Edit> edits;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         deps_.catalog.BeginPlanned(edits, [&](const CatalogView& view, LockKeys& keys) {
                           return PlanMakeDirectory(view, path, parents, ids, keys);
                         }));
  if (edits.empty()) return {};
  return meter.Done(deps_.commits.Commit(std::move(edits)));
}

Status Namespace::RemoveDirectory(std::string_view path) {
  Meter meter(deps_.metrics, Operation::kDirectoryChange);
  Entry entry;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         deps_.catalog.BeginPlanned(entry, [&](const CatalogView& view, LockKeys& keys) {
                           return PlanRemoveDirectory(view, path, keys);
                         }));
  return meter.Done(deps_.commits.Commit({zenfs::RemoveDirectory{entry.parent, entry.name}}));
}

Status Namespace::RemoveTree(std::string_view path) {
  Meter meter(deps_.metrics, Operation::kDirectoryChange);
  // Keeps directories from being renamed, so that the steps stay below `top`.
  FileId top;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action whole,
                         deps_.catalog.BeginPlanned(top, [&](const CatalogView& view, LockKeys& keys) {
                           return PlanRemoveTree(view, path, keys);
                         }));
  for (FileId from = top; from != kNoFile;) {
    RemovalStep step;
    ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                           deps_.catalog.BeginPlanned(step, [&](const CatalogView& view, LockKeys& keys) {
                             return PlanRemovalStep(view, top, from, keys);
                           }));
    SyncPoint::Reach("Namespace::RemoveTree:planned");
    ZENFS_RETURN_IF_ERROR(step.edits.empty() ? deps_.commits.health()
                                             : deps_.commits.Commit(std::move(step.edits)));
    for (const FileId id : step.pending) DropPending(id);
    from = step.next;
  }
  return meter.Done(Status());
}

Status Namespace::SyncDirectory(std::string_view path) {
  Meter meter(deps_.metrics, Operation::kDirectorySync);
  std::vector<std::shared_ptr<OpenFile>> pending;
  Status status;
  deps_.catalog.Look([&](const CatalogView& view) {
    const Result<Entry> entry = view.Resolve(path);
    if (!entry) {
      status = Fail(entry.error());
    } else if (entry->kind == Entry::Kind::kMissing) {
      status = Fail(NoSuchFile(path));
    } else if (entry->kind == Entry::Kind::kFile) {
      status = Fail(Code::kNotADirectory, fmt::format("{}: not a directory", path));
    } else {
      for (const PendingFile* file : view.PendingIn(entry->id)) pending.push_back(deps_.files.Find(file->id));
    }
  });
  // All other changes of names are already durable.
  for (const std::shared_ptr<OpenFile>& file : pending) {
    if (status.ok() && file != nullptr) status = file->EnsureCommitted();
  }
  return meter.Done(std::move(status));
}

// --- looks ---

FileStat Namespace::StatOf(const CatalogView& view, const Entry& entry) const {
  FileStat stat{.id = entry.id};
  if (const Directory* directory = view.state().FindDirectory(entry.id)) {
    stat.is_directory = true;
    stat.mtime_seconds = directory->mtime_seconds;
    return stat;
  }
  if (const auto record = view.state().FindFile(entry.id)) {
    stat.shape = record->shape;
    stat.size = record->size;
    stat.mtime_seconds = record->mtime_seconds;
    stat.links = record->links;
    stat.lifetime = record->lifetime;
    if (record->shape == FileShape::kFramed) {
      if (const auto framed = deps_.logs.Find(entry.id)) {
        stat.size = framed->size();
        stat.mtime_seconds = framed->mtime_seconds();
      }
    }
  } else if (const PendingFile* pending = view.FindPending(entry.id)) {
    stat.shape = pending->shape;
    stat.mtime_seconds = pending->mtime_seconds;
    stat.links = 1;
    stat.lifetime = pending->lifetime;
  }
  if (const std::shared_ptr<OpenFile> open = deps_.files.Find(entry.id)) {
    stat.size = open->size();
    if (const std::uint64_t changed = open->changed_seconds()) stat.mtime_seconds = changed;
  }
  return stat;
}

Result<FileStat> Namespace::Stat(std::string_view path) const {
  Result<FileStat> stat = FileStat();
  deps_.catalog.Look([&](const CatalogView& view) {
    const Result<Entry> entry = view.Resolve(path);
    if (!entry) {
      stat = Fail(entry.error());
    } else if (entry->kind == Entry::Kind::kMissing) {
      stat = Fail(NoSuchFile(path));
    } else {
      stat = StatOf(view, *entry);
    }
  });
  return stat;
}

Result<std::vector<DirectoryEntry>> Namespace::List(std::string_view path, FileId known) const {
  Result<std::vector<DirectoryEntry>> list = std::vector<DirectoryEntry>();
  deps_.catalog.Look([&](const CatalogView& view) {
    FileId id = known;
    if (known == kNoFile) {
      const Result<Entry> entry = view.Resolve(path);
      if (!entry) {
        list = Fail(entry.error());
        return;
      }
      if (entry->kind == Entry::Kind::kFile) {
        list = Fail(Code::kNotADirectory, fmt::format("{}: not a directory", path));
        return;
      }
      id = entry->id;  // of no directory if it is missing
    }
    const Directory* const directory = view.state().FindDirectory(id);
    if (directory == nullptr) {
      list = Fail(Code::kNotFound, fmt::format("{}: no such directory", path));
      return;
    }
    std::map<std::string, Entry> entries;
    for (const auto& [name, child] : directory->entries) {
      entries[name] = {.parent = id, .name = name, .id = child};
    }
    for (const PendingFile* pending : view.PendingIn(id)) {
      entries[pending->name] = {.parent = id, .name = pending->name, .id = pending->id, .pending = true};
    }
    for (const auto& [name, child] : entries) list->push_back({name, StatOf(view, child)});
  });
  return list;
}

Result<FileLayout> Namespace::Layout(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const FileStat stat, Stat(path));
  if (stat.is_directory) return Fail(Code::kIsADirectory, fmt::format("{}: is a directory", path));
  return LayoutOf(stat.id).value_or(FileLayout());  // a new file has no record yet
}

std::optional<FileLayout> Namespace::LayoutOf(FileId file) const {
  FileLayout layout;
  const auto record = deps_.catalog.FindFile(file);
  const auto framed = deps_.logs.Find(file);
  if (record == nullptr && framed == nullptr) return std::nullopt;
  if (record != nullptr) layout.extents = record->extents;
  if (framed != nullptr) {
    for (const Piece& piece : framed->Pieces()) {
      if (piece.sequence != 0 && !piece.damaged) {
        layout.frames.push_back({piece.file_offset, piece.place, piece.length});
        layout.last_sequence = std::max(layout.last_sequence, piece.sequence);
      }
    }
  }
  return layout;
}

// --- locked paths ---

struct PathLocks::Held {
  Mutex mutex{LockRank::kVolumeLeaf};
  std::set<std::string> paths GUARDED_BY(mutex);
};

class PathLocks::HeldPath final : public PathLock {
 public:
  HeldPath(std::shared_ptr<Held> held, std::string path) : held_(std::move(held)), path_(std::move(path)) {}
  ~HeldPath() override {
    MutexLock lock(held_->mutex);
    held_->paths.erase(path_);
  }

 private:
  const std::shared_ptr<Held> held_;
  const std::string path_;
};

PathLocks::PathLocks() : held_(std::make_shared<Held>()) {}

Result<std::unique_ptr<PathLock>> PathLocks::Take(std::string_view path) {
  std::string normal = NormalizePath(path);
  {
    MutexLock lock(held_->mutex);
    if (!held_->paths.insert(normal).second) {
      return Fail(Code::kBusy, fmt::format("{}: lock is held by this process already", path));
    }
  }
  return std::make_unique<HeldPath>(held_, std::move(normal));
}

}  // namespace zenfs
