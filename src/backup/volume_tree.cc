#include "backup/volume_tree.h"

#include <fmt/format.h>

#include <optional>

#include "base/counted.h"

namespace zenfs {

namespace {

constexpr std::size_t kShownBytes = 60;

}  // namespace

std::string TooLongText(std::uint64_t names, std::string_view first) {
  if (names == 0) return "";
  return fmt::format(
      "{} left out, with all below, because of {} of more than {} bytes, first below {}...; zenfs rename can "
      "move directories to where their paths are shorter",
      Counted(names, "name"), names == 1 ? "a path" : "paths", kMaxPathBytes, first.substr(0, kShownBytes));
}

Result<VolumeWalk> VolumeWalk::Begin(const Volume& volume, std::string path) {
  VolumeWalk walk(volume, std::move(path));
  ZENFS_ASSIGN_OR_RETURN(auto entries, volume.List(walk.path_));
  walk.levels_.push_back({.entries = std::move(entries)});
  return walk;
}

bool VolumeWalk::fits() const { return relative_.size() <= kMaxPathBytes; }

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
    if (!relative_.empty()) relative_ += '/';
    relative_ += entry.name;
    if (entry.stat.is_directory && fits()) enter_ = entry.stat.id;
    return &entry;
  }
  return nullptr;
}

Result<VolumeTree> WalkVolume(const Volume& volume, std::string_view path) {
  VolumeTree tree;
  tree.top = NormalizePath(path);
  ZENFS_ASSIGN_OR_RETURN(const FileStat stat, volume.Stat(tree.top));
  if (!stat.is_directory) {
    const std::size_t slash = tree.top.rfind('/');
    tree.files.push_back({tree.paths.Add(kTopNode, std::string_view(tree.top).substr(slash + 1)), stat});
    tree.top.resize(slash == std::string::npos ? 0 : slash);
    return tree;
  }
  ZENFS_ASSIGN_OR_RETURN(VolumeWalk walk, VolumeWalk::Begin(volume, tree.top));
  struct Above {
    PathNode node;
    std::optional<std::size_t> too_long{};  // its element of tree.too_long
  };
  std::vector<Above> above{{kTopNode}};  // the directories in the path of the walk
  for (;;) {
    ZENFS_ASSIGN_OR_RETURN(const DirectoryEntry* const entry, walk.Next());
    if (entry == nullptr) return tree;
    above.resize(walk.depth() + 1);
    auto& [directory, too_long] = above.back();
    if (tree.top.empty() && IsOfThisVolume(walk.relative())) {
      walk.Skip();
    } else if (!walk.fits()) {
      if (too_long) {
        ++tree.too_long[*too_long].more;
      } else {
        too_long = tree.too_long.size();
        tree.too_long.push_back({tree.paths.Add(directory, entry->name)});
      }
    } else if (entry->stat.is_directory) {
      tree.directories.push_back(tree.paths.Add(directory, entry->name));
      above.push_back({tree.directories.back()});
    } else {
      tree.files.push_back({tree.paths.Add(directory, entry->name), entry->stat});
    }
  }
}

}  // namespace zenfs
