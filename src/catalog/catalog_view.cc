#include <fmt/format.h>

#include "catalog/catalog.h"
#include "catalog/path.h"

namespace zenfs {
namespace {

Status CheckBytes(std::string_view path) {
  if (path.find('\0') == std::string_view::npos) return {};
  return Fail(Code::kInvalidArgument, fmt::format("{}: the path contains a NUL byte", path));
}

Status CheckNameBytes(std::string_view path, std::string_view part) {
  if (part.size() <= kMaxNameBytes) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("{}: a name has {} bytes; the limit is {}", path, part.size(), kMaxNameBytes));
}

}  // namespace

Entry CatalogView::Find(FileId parent, std::string_view name) const {
  Entry entry{.parent = parent, .name = std::string(name)};
  const std::optional<FileId> committed = state_.FindEntry(parent, name);
  if (const auto it = pending_names_.find(std::pair(parent, entry.name)); it != pending_names_.end()) {
    entry.kind = Entry::Kind::kFile;
    entry.id = it->second;
    entry.pending = true;
    entry.shadows = committed.has_value();
  } else if (committed) {
    entry.id = *committed;
    entry.kind = state_.FindDirectory(*committed) != nullptr ? Entry::Kind::kDirectory : Entry::Kind::kFile;
  }
  return entry;
}

Status CatalogView::CheckPath(std::string_view path) {
  ZENFS_RETURN_IF_ERROR(CheckBytes(path));
  for (const std::string_view part : SplitPath(path)) ZENFS_RETURN_IF_ERROR(CheckNameBytes(path, part));
  return {};
}

Result<Entry> CatalogView::Resolve(std::string_view path) const {
  ZENFS_RETURN_IF_ERROR(CheckBytes(path));
  Entry entry{.parent = kRootDirectory, .name = "", .kind = Entry::Kind::kDirectory, .id = kRootDirectory};
  for (const std::string_view part : SplitPath(path)) {
    ZENFS_RETURN_IF_ERROR(CheckNameBytes(path, part));
    if (entry.kind == Entry::Kind::kMissing) {
      return Fail(Code::kNotFound, fmt::format("{}: no such directory: {}", path, entry.name));
    }
    if (entry.kind == Entry::Kind::kFile) {
      return Fail(Code::kNotADirectory, fmt::format("{}: not a directory: {}", path, entry.name));
    }
    entry = Find(entry.id, part);
  }
  return entry;
}

const PendingFile* CatalogView::FindPending(FileId id) const {
  const auto it = pending_.find(id);
  return it == pending_.end() ? nullptr : &it->second;
}

std::vector<const PendingFile*> CatalogView::PendingIn(FileId directory) const {
  std::vector<const PendingFile*> files;
  for (auto it = pending_names_.lower_bound(std::pair(directory, std::string()));
       it != pending_names_.end() && it->first.first == directory; ++it) {
    files.push_back(&pending_.at(it->second));
  }
  return files;
}

std::vector<Edit> CatalogView::Promote(FileId id, LockKeys& keys) const {
  const PendingFile* const file = FindPending(id);
  if (file == nullptr) return {};
  keys.names.emplace_back(file->parent, file->name);
  keys.shared.push_back(file->parent);
  keys.exclusive.push_back(file->id);
  std::vector<Edit> edits{CreateFile{file->id, file->shape, file->lifetime, file->mtime_seconds}};
  if (const auto shadowed = state_.FindEntry(file->parent, file->name)) {
    keys.exclusive.push_back(*shadowed);
    edits.push_back(UnlinkFile{file->parent, file->name});
  }
  edits.push_back(LinkFile{file->parent, file->name, file->id});
  return edits;
}

}  // namespace zenfs
