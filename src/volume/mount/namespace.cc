#include "volume/mount/namespace.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sync_point.h"
#include "catalog/path.h"

namespace zenfs {

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
    ZENFS_ASSIGN_OR_RETURN(const FileId id, deps_.ids.Next());
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

}  // namespace zenfs
