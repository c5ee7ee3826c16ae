// Plans of the actions on names, as pure functions of the catalog. A plan validates the action and adds the names and files
// that it touches to `keys`.
//
// Call them from a Catalog::Planner. A pending file is created in the same commit as the change of its name, so the plan of
// a rename or link has the edits of that creation.
//
// Errors: those of CatalogView::Resolve; kInvalidArgument for a new name whose path is longer than kMaxPathBytes; those named at
// each function. Each has the path in the caller's spelling.
#pragma once

#include <string_view>
#include <vector>

#include "catalog/catalog.h"

namespace zenfs {

[[nodiscard]] Error NoSuchFile(std::string_view path);

// The plan of an action on two names.
struct TwoNamePlan {
  Entry from;
  Entry to;
  std::vector<Edit> creation;  // of `from`, if it is pending

  // True if both names already belong to one file or directory.
  bool same() const { return from.kind == to.kind && from.id == to.id; }
};

// Errors: kNotFound; kNotADirectory or kIsADirectory if one is a file and the other a directory; kNotEmpty; kInvalidArgument
// for the root, for a directory that would be moved into itself, and for one below which a path would become too long.
[[nodiscard]] Result<TwoNamePlan> PlanRename(const CatalogView& view, std::string_view from,
                                             std::string_view to, LockKeys& keys);
// Errors: kNotFound, kIsADirectory, kExists.
[[nodiscard]] Result<TwoNamePlan> PlanLink(const CatalogView& view, std::string_view existing,
                                           std::string_view new_name, LockKeys& keys);
// The entry for a new file. Errors: kIsADirectory.
[[nodiscard]] Result<Entry> PlanCreate(const CatalogView& view, std::string_view path, LockKeys& keys);
// Errors: kNotFound, kIsADirectory.
[[nodiscard]] Result<Entry> PlanUnlink(const CatalogView& view, std::string_view path, LockKeys& keys);
// The edits; empty if the directory exists and `parents` is set. `ids` has an unused id for each component of the path.
// Errors: kExists; kNotADirectory; kNotFound without `parents`.
[[nodiscard]] Result<std::vector<Edit>> PlanMakeDirectory(const CatalogView& view, std::string_view path,
                                                          bool parents, const std::vector<FileId>& ids,
                                                          LockKeys& keys);
// Errors: kNotFound, kNotADirectory, kInvalidArgument for the root, kNotEmpty.
[[nodiscard]] Result<Entry> PlanRemoveDirectory(const CatalogView& view, std::string_view path,
                                                LockKeys& keys);

// Checks that the directory may be removed with all below it. Returns its id; no directory is renamed while `keys` are locked.
// Errors: kNotFound, kNotADirectory, kInvalidArgument for the root.
[[nodiscard]] Result<FileId> PlanRemoveTree(const CatalogView& view, std::string_view path, LockKeys& keys);

// A part of the removal of a tree: a commit of a few KiB, which leaves a valid tree.
struct RemovalStep {
  std::vector<Edit> edits;
  std::vector<FileId> pending;  // files that lose their name and were never committed
  FileId next = kNoFile;        // `from` of the next step; kNoFile after the last
};
// Removes names below the directory `top`, in the order of a depth-first walk that removes a directory after its content.
// `from`: `top` or, to continue, `next` of the last step. Empty if others have removed `top` meanwhile.
[[nodiscard]] Result<RemovalStep> PlanRemovalStep(const CatalogView& view, FileId top, FileId from,
                                                  LockKeys& keys);

}  // namespace zenfs
