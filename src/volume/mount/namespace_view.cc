#include "volume/mount/namespace_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "volume/mount/name_plans.h"

namespace zenfs {

FileStat NamespaceView::StatOf(const CatalogView& view, const Entry& entry) const {
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
      if (const auto framed = logs_.Find(entry.id)) {
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
  if (const std::shared_ptr<OpenFile> open = files_.Find(entry.id)) {
    stat.size = open->size();
    if (const std::uint64_t changed = open->changed_seconds()) stat.mtime_seconds = changed;
  }
  return stat;
}

Result<FileStat> NamespaceView::Stat(std::string_view path) const {
  Result<FileStat> stat = FileStat();
  catalog_.Look([&](const CatalogView& view) {
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

Result<std::vector<DirectoryEntry>> NamespaceView::List(std::string_view path, FileId known) const {
  Result<std::vector<DirectoryEntry>> list = std::vector<DirectoryEntry>();
  catalog_.Look([&](const CatalogView& view) {
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

Result<FileLayout> NamespaceView::Layout(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const FileStat stat, Stat(path));
  if (stat.is_directory) return Fail(Code::kIsADirectory, fmt::format("{}: is a directory", path));
  return LayoutOf(stat.id).value_or(FileLayout());  // a new file has no record yet
}

std::optional<FileLayout> NamespaceView::LayoutOf(FileId file) const {
  FileLayout layout;
  const auto record = catalog_.FindFile(file);
  const auto framed = logs_.Find(file);
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

}  // namespace zenfs
