#include "backup/volume_tree.h"

#include <fmt/format.h>

#include "backup/path_text.h"
#include "base/counted.h"

namespace zenfs {

namespace {

constexpr std::size_t kShownBytes = 60;

}  // namespace

std::string TooLongPaths::Reason() const {
  const std::string others =
      fmt::format(", and the same is true of {} in this directory", Counted(more, "name"));
  return fmt::format("its path has {} bytes, more than {}{}; zenfs rename can move it", first.size(),
                     kMaxPathBytes, more == 0 ? "" : others);
}

std::string TooLongText(const std::vector<TooLongPaths>& directories) {
  if (directories.empty()) return "";
  std::uint64_t names = 0;
  for (const TooLongPaths& directory : directories) names += 1 + directory.more;
  return fmt::format(
      "{} left out, with all below, because of {} of more than {} bytes, first below {}...; zenfs rename can "
      "move "
      "directories to where their paths are shorter",
      Counted(names, "name"), names == 1 ? "a path" : "paths", kMaxPathBytes,
      std::string_view(directories.front().first).substr(0, kShownBytes));
}

Result<VolumeWalk> VolumeWalk::Begin(const Volume& volume, std::string path) {
  VolumeWalk walk(volume, std::move(path));
  ZENFS_ASSIGN_OR_RETURN(auto entries, volume.List(walk.path_));
  walk.levels_.push_back({.entries = std::move(entries)});
  return walk;
}

// Two levels may both have such names: a directory and one below it, whose elements come in turn.
void VolumeWalk::NoteTooLong(Level& level, const std::string& name) {
  if (!level.too_long) {
    level.too_long = too_long_.size();
    too_long_.push_back({.first = JoinPath(relative_, name)});
  } else {
    ++too_long_[*level.too_long].more;
  }
}

Result<const DirectoryEntry*> VolumeWalk::Next() {
  if (enter_ != kNoFile) {
    auto entries = volume_->List(JoinPath(path_, relative_), enter_);
    if (!entries && entries.error().code() != Code::kNotFound) return Fail(entries.error());
    if (entries) levels_.push_back({.entries = *std::move(entries), .path_bytes = relative_.size()});
    enter_ = kNoFile;
  }
  while (!levels_.empty()) {
    Level& level = levels_.back();
    relative_.resize(level.path_bytes);
    if (level.next == level.entries.size()) {
      levels_.pop_back();
      continue;
    }
    const DirectoryEntry& entry = level.entries[level.next++];
    if (relative_.size() + (relative_.empty() ? 0 : 1) + entry.name.size() > kMaxPathBytes) {
      NoteTooLong(level, entry.name);
      continue;
    }
    if (!relative_.empty()) relative_ += '/';
    relative_ += entry.name;
    if (entry.stat.is_directory) enter_ = entry.stat.id;
    return &entry;
  }
  return nullptr;
}

Result<VolumeTree> WalkVolume(const Volume& volume, std::string_view path) {
  VolumeTree tree;
  const std::string top = NormalizePath(path);
  ZENFS_ASSIGN_OR_RETURN(const FileStat stat, volume.Stat(top));
  if (!stat.is_directory) {
    tree.files.push_back({top, top.substr(top.rfind('/') + 1), stat});
    return tree;
  }
  ZENFS_ASSIGN_OR_RETURN(VolumeWalk walk, VolumeWalk::Begin(volume, top));
  for (;;) {
    ZENFS_ASSIGN_OR_RETURN(const DirectoryEntry* const entry, walk.Next());
    if (entry == nullptr) break;
    if (top.empty() && IsRestoresOwn(walk.relative())) {
      walk.Skip();
    } else if (entry->stat.is_directory) {
      tree.directories.push_back(walk.relative());
    } else {
      tree.files.push_back({JoinPath(top, walk.relative()), walk.relative(), entry->stat});
    }
  }
  tree.too_long = walk.too_long();
  return tree;
}

}  // namespace zenfs
