// Names: each action validates and reserves (Catalog::Begin), commits one frame, and is applied through the
// sink.
#include <fmt/format.h>

#include <algorithm>

#include "volume/volume_core.h"

namespace zenfs {
namespace {

Status NoSuchFile(std::string_view path) {
  return Fail(Code::kNotFound, fmt::format("{}: no such file or directory", path));
}

void ReserveName(const Entry& entry, ReservationKeys& keys) {
  keys.names.emplace_back(entry.parent, entry.name);
  keys.shared.push_back(entry.parent);
}

// A pending file's creation goes into the same commit as the change of its name.
void ReserveSource(const CatalogView& view, const Entry& entry, std::vector<Edit>& edits,
                   ReservationKeys& keys) {
  ReserveName(entry, keys);
  const PendingFile* pending = entry.pending ? view.FindPending(entry.id) : nullptr;
  if (pending == nullptr) return;
  view.ReservePromotion(*pending, keys);
  edits = view.PromotionOf(*pending);
}

bool IsEmptyDirectory(const CatalogView& view, FileId id) {
  const Directory* directory = view.state().FindDirectory(id);
  return directory != nullptr && directory->entries.empty() && view.PendingIn(id).empty();
}

bool IsInside(const State& state, FileId directory, FileId ancestor) {
  for (;;) {
    if (directory == ancestor) return true;
    if (directory == kRootDirectory) return false;
    directory = state.FindDirectory(directory)->parent;
  }
}

// Whether `from` may be renamed to `to`, and what that touches beyond the two names.
Status PlanRename(const CatalogView& view, const Entry& from, const Entry& to, std::string_view from_path,
                  std::string_view to_path, ReservationKeys& keys) {
  if (from.kind == Entry::Kind::kMissing) return NoSuchFile(from_path);
  if (from.name.empty() || to.name.empty()) {
    return Fail(Code::kInvalidArgument, "the root directory cannot be renamed or replaced");
  }
  if (from.kind == Entry::Kind::kDirectory) {
    if (to.kind == Entry::Kind::kFile) {
      return Fail(Code::kNotADirectory, fmt::format("{}: a file cannot be replaced by a directory", to_path));
    }
    if (IsInside(view.state(), to.parent, from.id)) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("{}: cannot be moved into itself, to {}", from_path, to_path));
    }
    // Two renames of directories could together tie a knot in the tree: one at a time.
    keys.exclusive.push_back(kNoFile);
    if (to.kind == Entry::Kind::kDirectory) {
      if (!IsEmptyDirectory(view, to.id)) {
        return Fail(Code::kNotEmpty, fmt::format("{}: directory not empty", to_path));
      }
      keys.exclusive.push_back(to.id);
    }
  } else if (to.kind == Entry::Kind::kDirectory) {
    return Fail(Code::kIsADirectory, fmt::format("{}: is a directory", to_path));
  } else if (to.kind == Entry::Kind::kFile && to.id != from.id) {
    keys.exclusive.push_back(to.id);
    if (const auto shadowed = view.state().FindEntry(to.parent, to.name)) keys.exclusive.push_back(*shadowed);
  }
  return {};
}

}  // namespace

Result<VolumeCore::Promotion> VolumeCore::DrainPending(const Entry& entry, std::vector<Edit>& edits) {
  Promotion promotion;
  if (!entry.pending) return promotion;
  promotion.file = FindOpen(entry.id);
  if (promotion.file == nullptr || !promotion.file->plain) return promotion;
  ZENFS_ASSIGN_OR_RETURN(promotion.drained, promotion.file->plain->Drain());
  const PlainFile::Drained& drained = promotion.drained;
  if (drained.changed) {
    edits.push_back(
        SetExtents{entry.id, drained.from_offset, drained.extents, drained.size, drained.mtime_seconds});
  }
  return promotion;
}

void VolumeCore::Promoted(const Promotion& promotion) {
  if (promotion.file == nullptr) return;
  if (promotion.drained.changed) promotion.file->plain->MarkCommitted(promotion.drained);
  IsCommitted(*promotion.file);
}

Status VolumeCore::Rename(std::string_view from_path, std::string_view to_path) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter(true));
  Meter meter(metrics_, Operation::kRename);
  Entry from;
  Entry to;
  std::vector<Edit> edits;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         catalog_->Begin([&](const CatalogView& view, ReservationKeys& keys) -> Status {
                           edits.clear();
                           ZENFS_ASSIGN_OR_RETURN(from, view.Resolve(from_path));
                           ZENFS_ASSIGN_OR_RETURN(to, view.Resolve(to_path));
                           ZENFS_RETURN_IF_ERROR(PlanRename(view, from, to, from_path, to_path, keys));
                           ReserveSource(view, from, edits, keys);
                           ReserveName(to, keys);
                           return {};
                         }));
  const bool same = from.kind == to.kind && from.id == to.id;  // both are names of it: both stay (POSIX)
  ZENFS_ASSIGN_OR_RETURN(const Promotion promotion, DrainPending(from, edits));
  if (!same) edits.push_back(RenameEntry{from.parent, from.name, to.parent, to.name});
  if (edits.empty()) return {};
  ZENFS_RETURN_IF_ERROR(meter.Done(Commit(std::move(edits), promotion.options())));
  Promoted(promotion);
  if (to.pending && !same) {  // it was replaced before it was ever committed
    catalog_->DropPending(to.id);
    MarkUnlinked(to.id);
  }
  return {};
}

Status VolumeCore::Link(std::string_view existing, std::string_view new_name) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter(true));
  Meter meter(metrics_, Operation::kLink);
  Entry from;
  Entry to;
  std::vector<Edit> edits;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action, catalog_->Begin([&](const CatalogView& view,
                                                                           ReservationKeys& keys) -> Status {
    edits.clear();
    ZENFS_ASSIGN_OR_RETURN(from, view.Resolve(existing));
    ZENFS_ASSIGN_OR_RETURN(to, view.Resolve(new_name));
    if (from.kind == Entry::Kind::kMissing) return NoSuchFile(existing);
    if (from.kind == Entry::Kind::kDirectory) {
      return Fail(Code::kIsADirectory, fmt::format("{}: a directory cannot be linked", existing));
    }
    if (to.kind != Entry::Kind::kMissing) {
      return Fail(Code::kExists, fmt::format("{}: already exists", new_name));
    }
    ReserveSource(view, from, edits, keys);
    ReserveName(to, keys);
    return {};
  }));
  ZENFS_ASSIGN_OR_RETURN(const Promotion promotion, DrainPending(from, edits));
  edits.push_back(LinkFile{to.parent, to.name, from.id});
  ZENFS_RETURN_IF_ERROR(meter.Done(Commit(std::move(edits), promotion.options())));
  Promoted(promotion);
  return {};
}

Status VolumeCore::Unlink(std::string_view path) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter(true));
  Meter meter(metrics_, Operation::kDelete);
  Entry entry;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         catalog_->Begin([&](const CatalogView& view, ReservationKeys& keys) -> Status {
                           ZENFS_ASSIGN_OR_RETURN(entry, view.Resolve(path));
                           if (entry.kind == Entry::Kind::kMissing) return NoSuchFile(path);
                           if (entry.kind == Entry::Kind::kDirectory) {
                             return Fail(Code::kIsADirectory, fmt::format("{}: is a directory", path));
                           }
                           ReserveName(entry, keys);
                           keys.exclusive.push_back(entry.id);
                           if (const auto id = view.state().FindEntry(entry.parent, entry.name)) {
                             keys.exclusive.push_back(*id);
                           }
                           return {};
                         }));
  if (!entry.pending || entry.shadows) {
    ZENFS_RETURN_IF_ERROR(meter.Done(Commit({UnlinkFile{entry.parent, entry.name}})));
  } else {
    // Nothing to commit, unless a commit of the file has an unknown outcome: the next mount may find it.
    ZENFS_RETURN_IF_ERROR(meter.Done(metalog_->health()));
  }
  if (entry.pending) {
    catalog_->DropPending(entry.id);
    MarkUnlinked(entry.id);
  }
  return {};
}

Status VolumeCore::MakeDirectory(std::string_view path, bool parents) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter(true));
  Meter meter(metrics_, Operation::kDirectoryChange);
  const std::vector<std::string_view> parts = SplitPath(path);
  std::vector<FileId> ids;
  for (std::size_t i = 0; i < std::max<std::size_t>(parts.size(), 1); ++i) {
    ZENFS_ASSIGN_OR_RETURN(const FileId id, ids_->Next());
    ids.push_back(id);
  }
  std::vector<Edit> edits;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action, catalog_->Begin([&](const CatalogView& view,
                                                                           ReservationKeys& keys) -> Status {
    edits.clear();
    FileId parent = kRootDirectory;
    std::string so_far;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      so_far.append(so_far.empty() ? "" : "/").append(parts[i]);
      if (!edits.empty()) {  // below one that is made here
        edits.push_back(CreateDirectory{ids[i], parent, std::string(parts[i]), WallSeconds()});
        parent = ids[i];
        continue;
      }
      ZENFS_ASSIGN_OR_RETURN(const Entry entry, view.Resolve(so_far));
      if (entry.kind == Entry::Kind::kFile) {
        return Fail(i + 1 == parts.size() ? Code::kExists : Code::kNotADirectory,
                    fmt::format("{}: is a file", so_far));
      }
      if (entry.kind == Entry::Kind::kMissing) {
        if (!parents && i + 1 < parts.size()) return NoSuchFile(so_far);
        ReserveName(entry, keys);
        edits.push_back(CreateDirectory{ids[i], entry.parent, entry.name, WallSeconds()});
      }
      parent = entry.kind == Entry::Kind::kMissing ? ids[i] : entry.id;
    }
    if (edits.empty() && !parents) return Fail(Code::kExists, fmt::format("{}: already exists", path));
    return {};
  }));
  if (edits.empty()) return {};
  return meter.Done(Commit(std::move(edits)));
}

Status VolumeCore::RemoveDirectory(std::string_view path) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter(true));
  Meter meter(metrics_, Operation::kDirectoryChange);
  Entry entry;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         catalog_->Begin([&](const CatalogView& view, ReservationKeys& keys) -> Status {
                           ZENFS_ASSIGN_OR_RETURN(entry, view.Resolve(path));
                           if (entry.kind == Entry::Kind::kMissing) return NoSuchFile(path);
                           if (entry.kind == Entry::Kind::kFile) {
                             return Fail(Code::kNotADirectory, fmt::format("{}: not a directory", path));
                           }
                           if (entry.id == kRootDirectory) {
                             return Fail(Code::kInvalidArgument, "the root directory cannot be removed");
                           }
                           if (!IsEmptyDirectory(view, entry.id)) {
                             return Fail(Code::kNotEmpty, fmt::format("{}: directory not empty", path));
                           }
                           ReserveName(entry, keys);
                           keys.exclusive.push_back(entry.id);
                           return {};
                         }));
  return meter.Done(Commit({zenfs::RemoveDirectory{entry.parent, entry.name}}));
}

Status VolumeCore::SyncDirectory(std::string_view path) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter(true));
  Meter meter(metrics_, Operation::kDirectorySync);
  std::vector<std::shared_ptr<OpenFile>> pending;
  Status status;
  catalog_->Look([&](const CatalogView& view) {
    const Result<Entry> entry = view.Resolve(path);
    if (!entry) {
      status = Fail(entry.error());
    } else if (entry->kind == Entry::Kind::kMissing) {
      status = NoSuchFile(path);
    } else if (entry->kind == Entry::Kind::kFile) {
      status = Fail(Code::kNotADirectory, fmt::format("{}: not a directory", path));
    } else {
      for (const PendingFile* file : view.PendingIn(entry->id)) pending.push_back(FindOpen(file->id));
    }
  });
  // All other changes of names were durable when they returned.
  for (const std::shared_ptr<OpenFile>& file : pending) {
    if (status.ok() && file != nullptr) status = EnsureCommitted(*file);
  }
  return meter.Done(std::move(status));
}

}  // namespace zenfs
