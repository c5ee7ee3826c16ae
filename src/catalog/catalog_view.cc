#include <fmt/format.h>

#include "catalog/catalog.h"
#include "catalog/path.h"

namespace zenfs {
namespace {

// Looks up a name among the committed and pending entries of one directory.
Entry FindIn(const State& state, FileId parent, std::string_view name,
             const std::map<std::pair<FileId, std::string>, FileId, std::less<>>& pending_names) {
  Entry entry{.parent = parent, .name = std::string(name)};
  const std::optional<FileId> committed = state.FindEntry(parent, name);
  if (const auto it = pending_names.find(std::pair(parent, entry.name)); it != pending_names.end()) {
    entry.kind = Entry::Kind::kFile;
    entry.id = it->second;
    entry.pending = true;
    entry.shadows = committed.has_value();
  } else if (committed) {
    entry.id = *committed;
    entry.kind = state.FindDirectory(*committed) != nullptr ? Entry::Kind::kDirectory : Entry::Kind::kFile;
  }
  return entry;
}

}  // namespace

Result<Entry> CatalogView::Resolve(std::string_view path) const {
  if (path.find('\0') != std::string_view::npos) {
    return Fail(Code::kInvalidArgument, fmt::format("{}: the path contains a NUL byte", path));
  }
  Entry entry{.parent = kRootDirectory, .name = "", .kind = Entry::Kind::kDirectory, .id = kRootDirectory};
  for (const std::string_view part : SplitPath(path)) {
    if (part.size() > kMaxNameBytes) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("{}: a name has {} bytes; the limit is {}", path, part.size(), kMaxNameBytes));
    }
    if (entry.kind == Entry::Kind::kMissing) {
      return Fail(Code::kNotFound, fmt::format("{}: no such directory: {}", path, entry.name));
    }
    if (entry.kind == Entry::Kind::kFile) {
      return Fail(Code::kNotADirectory, fmt::format("{}: not a directory: {}", path, entry.name));
    }
    entry = FindIn(state_, entry.id, part, pending_names_);
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
