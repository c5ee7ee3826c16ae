#include "backup/volume_tree.h"

#include "backup/path_text.h"

namespace zenfs {
namespace {

Status Walk(const Volume& volume, const std::string& path, const std::string& relative, VolumeTree& tree) {
  const auto entries = volume.List(path);
  if (!entries) {
    const bool gone = !relative.empty() && entries.error().code() == Code::kNotFound;
    return gone ? Status() : Fail(entries.error());
  }
  for (const DirectoryEntry& entry : *entries) {
    if (path.empty() && IsRestoresOwn(entry.name)) continue;
    std::string below = JoinPath(relative, entry.name);
    std::string full = JoinPath(path, entry.name);
    if (!entry.stat.is_directory) {
      tree.files.push_back({std::move(full), std::move(below), entry.stat});
      continue;
    }
    tree.directories.push_back(below);
    ZENFS_RETURN_IF_ERROR(Walk(volume, full, below, tree));
  }
  return {};
}

}  // namespace

std::uint64_t VolumeTree::bytes() const {
  std::uint64_t sum = 0;
  for (const VolumeFile& file : files) sum += file.stat.size;
  return sum;
}

Result<VolumeTree> WalkVolume(const Volume& volume, std::string_view path) {
  VolumeTree tree;
  const std::string top = NormalizePath(path);
  ZENFS_ASSIGN_OR_RETURN(const FileStat stat, volume.Stat(top));
  if (stat.is_directory) {
    ZENFS_RETURN_IF_ERROR(Walk(volume, top, "", tree));
  } else {
    tree.files.push_back({top, top.substr(top.rfind('/') + 1), stat});
  }
  return tree;
}

}  // namespace zenfs
