#include "volume/mount/name_plans.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "base/clock.h"
#include "catalog/path.h"

namespace zenfs {
namespace {

void LockName(const Entry& entry, LockKeys& keys) {
  keys.names.emplace_back(entry.parent, entry.name);
  keys.shared.push_back(entry.parent);
}

// Locks the name of the entry. Returns the edits that create the file if it is pending.
std::vector<Edit> LockSource(const CatalogView& view, const Entry& entry, LockKeys& keys) {
  LockName(entry, keys);
  return entry.pending ? view.Promote(entry.id, keys) : std::vector<Edit>();
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

constexpr std::size_t kShownPathBytes = 60;
constexpr std::size_t kRemovedBytesAStep = 32
                                           << 10;  // more than the commit has, which fits any metadata zone

// Fails if a new name would have a path of `bytes` bytes. `path` is the path in the caller's spelling that leads there.
Status CheckPathBytes(std::size_t bytes, std::string_view path, std::string_view what) {
  if (bytes <= kMaxPathBytes) return {};
  const bool whole = path.size() <= kShownPathBytes;
  return Fail(Code::kInvalidArgument,
              fmt::format("{}{}: {} has {} bytes; the limit is {}", path.substr(0, kShownPathBytes),
                          whole ? "" : "...", what, bytes, kMaxPathBytes));
}

Status CheckNewPath(std::string_view path) {
  if (path.size() <= kMaxPathBytes) return {};  // spares the hot path the normalization
  return CheckPathBytes(NormalizePath(path).size(), path, "the path");
}

// The bytes that the longest path below a directory adds to the directory's own; stops at the first above `enough`.
std::size_t LongestBelow(const CatalogView& view, FileId directory, std::size_t enough) {
  std::size_t longest = 0;
  std::vector<std::pair<FileId, std::size_t>> pending{{directory, 0}};  // with the bytes down to it
  while (!pending.empty() && longest <= enough) {
    const auto [id, bytes] = pending.back();
    pending.pop_back();
    for (const auto& [name, entry] : view.state().FindDirectory(id)->entries) {
      const std::size_t below = bytes + 1 + name.size();
      longest = std::max(longest, below);
      if (view.state().FindDirectory(entry) != nullptr) pending.emplace_back(entry, below);
    }
    for (const PendingFile* file : view.PendingIn(id)) {
      longest = std::max(longest, bytes + 1 + file->name.size());
    }
  }
  return longest;
}

// No path may become longer than kMaxPathBytes; a rename that makes a path shorter is always allowed. A file that is created
// below a directory during its rename may exceed the limit, which does no harm.
Status CheckRenamedPath(const CatalogView& view, const Entry& from, const Entry& to,
                        std::string_view from_path, std::string_view to_path) {
  const std::size_t bytes = NormalizePath(to_path).size();
  if (bytes <= NormalizePath(from_path).size()) return {};
  if (from.kind != Entry::Kind::kDirectory) {
    return to.kind == Entry::Kind::kMissing ? CheckNewPath(to_path) : Status();
  }
  ZENFS_RETURN_IF_ERROR(CheckNewPath(to_path));
  const std::size_t below = LongestBelow(view, from.id, kMaxPathBytes - bytes);
  return CheckPathBytes(bytes + below, to_path, "the longest path below it");
}

// The directory at the path, which is not the root.
Result<Entry> FindRemovable(const CatalogView& view, std::string_view path) {
  ZENFS_ASSIGN_OR_RETURN(Entry entry, view.Resolve(path));
  if (entry.kind == Entry::Kind::kMissing) return Fail(NoSuchFile(path));
  if (entry.kind == Entry::Kind::kFile) {
    return Fail(Code::kNotADirectory, fmt::format("{}: not a directory", path));
  }
  if (entry.id == kRootDirectory) {
    return Fail(Code::kInvalidArgument, "the root directory cannot be removed");
  }
  return entry;
}

// OK if `from` may be renamed to `to`. Locks the files and directories that this touches beyond the two names.
Status CheckRename(const CatalogView& view, const Entry& from, const Entry& to, std::string_view from_path,
                   std::string_view to_path, LockKeys& keys) {
  if (from.kind == Entry::Kind::kMissing) return Fail(NoSuchFile(from_path));
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
    // Two renames of directories could together make a cycle in the tree, so only one runs at a time.
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
  return CheckRenamedPath(view, from, to, from_path, to_path);
}

}  // namespace

Error NoSuchFile(std::string_view path) {
  return Error(Code::kNotFound, fmt::format("{}: no such file or directory", path));
}

Result<TwoNamePlan> PlanRename(const CatalogView& view, std::string_view from, std::string_view to,
                               LockKeys& keys) {
  TwoNamePlan plan;
  ZENFS_ASSIGN_OR_RETURN(plan.from, view.Resolve(from));
  ZENFS_ASSIGN_OR_RETURN(plan.to, view.Resolve(to));
  ZENFS_RETURN_IF_ERROR(CheckRename(view, plan.from, plan.to, from, to, keys));
  plan.creation = LockSource(view, plan.from, keys);
  LockName(plan.to, keys);
  return plan;
}

Result<TwoNamePlan> PlanLink(const CatalogView& view, std::string_view existing, std::string_view new_name,
                             LockKeys& keys) {
  TwoNamePlan plan;
  ZENFS_ASSIGN_OR_RETURN(plan.from, view.Resolve(existing));
  ZENFS_ASSIGN_OR_RETURN(plan.to, view.Resolve(new_name));
  if (plan.from.kind == Entry::Kind::kMissing) return Fail(NoSuchFile(existing));
  if (plan.from.kind == Entry::Kind::kDirectory) {
    return Fail(Code::kIsADirectory, fmt::format("{}: a directory cannot be linked", existing));
  }
  if (plan.to.kind != Entry::Kind::kMissing) {
    return Fail(Code::kExists, fmt::format("{}: already exists", new_name));
  }
  ZENFS_RETURN_IF_ERROR(CheckNewPath(new_name));
  plan.creation = LockSource(view, plan.from, keys);
  LockName(plan.to, keys);
  return plan;
}

Result<Entry> PlanCreate(const CatalogView& view, std::string_view path, LockKeys& keys) {
  ZENFS_ASSIGN_OR_RETURN(Entry entry, view.Resolve(path));
  if (entry.kind == Entry::Kind::kDirectory) {
    return Fail(Code::kIsADirectory, fmt::format("{}: is a directory", path));
  }
  if (entry.kind == Entry::Kind::kMissing) ZENFS_RETURN_IF_ERROR(CheckNewPath(path));
  LockName(entry, keys);
  return entry;
}

Result<Entry> PlanUnlink(const CatalogView& view, std::string_view path, LockKeys& keys) {
  ZENFS_ASSIGN_OR_RETURN(Entry entry, view.Resolve(path));
  if (entry.kind == Entry::Kind::kMissing) return Fail(NoSuchFile(path));
  if (entry.kind == Entry::Kind::kDirectory) {
    return Fail(Code::kIsADirectory, fmt::format("{}: is a directory", path));
  }
  LockName(entry, keys);
  keys.exclusive.push_back(entry.id);
  if (const auto id = view.state().FindEntry(entry.parent, entry.name)) keys.exclusive.push_back(*id);
  return entry;
}

Result<std::vector<Edit>> PlanMakeDirectory(const CatalogView& view, std::string_view path, bool parents,
                                            const std::vector<FileId>& ids, LockKeys& keys) {
  ZENFS_RETURN_IF_ERROR(view.CheckPath(path));
  const std::vector<std::string_view> parts = SplitPath(path);
  std::vector<Edit> edits;
  FileId parent = kRootDirectory;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!edits.empty()) {  // its parent is made by this plan
      edits.push_back(CreateDirectory{ids[i], parent, std::string(parts[i]), WallSeconds()});
      parent = ids[i];
      continue;
    }
    const Entry entry = view.Find(parent, parts[i]);
    const auto so_far = [&] { return fmt::to_string(fmt::join(std::span(parts).first(i + 1), "/")); };
    if (entry.kind == Entry::Kind::kFile) {
      return Fail(i + 1 == parts.size() ? Code::kExists : Code::kNotADirectory,
                  fmt::format("{}: is a file", so_far()));
    }
    parent = entry.id;
    if (entry.kind == Entry::Kind::kDirectory) continue;
    if (!parents && i + 1 < parts.size()) return Fail(NoSuchFile(so_far()));
    ZENFS_RETURN_IF_ERROR(CheckNewPath(path));
    LockName(entry, keys);
    edits.push_back(CreateDirectory{ids[i], entry.parent, entry.name, WallSeconds()});
    parent = ids[i];
  }
  if (edits.empty() && !parents) return Fail(Code::kExists, fmt::format("{}: already exists", path));
  return edits;
}

Result<Entry> PlanRemoveDirectory(const CatalogView& view, std::string_view path, LockKeys& keys) {
  ZENFS_ASSIGN_OR_RETURN(Entry entry, FindRemovable(view, path));
  if (!IsEmptyDirectory(view, entry.id)) {
    return Fail(Code::kNotEmpty, fmt::format("{}: directory not empty", path));
  }
  LockName(entry, keys);
  keys.exclusive.push_back(entry.id);
  return entry;
}

Result<FileId> PlanRemoveTree(const CatalogView& view, std::string_view path, LockKeys& keys) {
  ZENFS_ASSIGN_OR_RETURN(const Entry entry, FindRemovable(view, path));
  keys.exclusive.push_back(kNoFile);  // as a rename of a directory does
  return entry.id;
}

Result<RemovalStep> PlanRemovalStep(const CatalogView& view, FileId top, FileId from, LockKeys& keys) {
  const State& state = view.state();
  RemovalStep step;
  std::size_t bytes = 0;
  FileId at = state.FindDirectory(from) != nullptr ? from : top;  // others may have removed it
  std::string_view after;  // this step has removed the directory's names up to this one
  for (;;) {
    const Directory* const directory = state.FindDirectory(at);
    if (directory == nullptr) return step;
    auto entry = after.empty() ? directory->entries.begin() : directory->entries.upper_bound(after);
    after = {};
    keys.shared.push_back(at);
    for (; entry != directory->entries.end() && bytes < kRemovedBytesAStep; ++entry) {
      const auto& [name, id] = *entry;
      if (state.FindDirectory(id) != nullptr) break;
      keys.names.emplace_back(at, name);
      keys.exclusive.push_back(id);
      step.edits.push_back(UnlinkFile{at, name});
      bytes += sizeof(UnlinkFile) + name.size();
    }
    if (entry != directory->entries.end()) {
      step.next = at;
      if (bytes >= kRemovedBytesAStep) return step;
      at = entry->second;  // a directory: its content goes first
      continue;
    }
    for (const PendingFile* file : view.PendingIn(at)) {
      keys.names.emplace_back(at, file->name);
      keys.exclusive.push_back(file->id);
      step.pending.push_back(file->id);
    }
    keys.names.emplace_back(directory->parent, directory->name);
    keys.exclusive.push_back(at);
    step.edits.push_back(RemoveDirectory{directory->parent, directory->name});
    bytes += sizeof(RemoveDirectory) + directory->name.size();
    step.next = at == top ? kNoFile : directory->parent;
    if (at == top || bytes >= kRemovedBytesAStep) return step;
    after = directory->name;
    at = directory->parent;
  }
}

}  // namespace zenfs
