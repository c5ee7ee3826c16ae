// The files and directories below a path of a mounted volume.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backup/path_tree.h"
#include "volume/volume.h"

namespace zenfs {

// Kept in the root of the volume until a restore is complete: a directory of incomplete files, and
// a record of the complete ones. The record's name makes it a framed file, so that a line costs one
// device write.
inline constexpr std::string_view kRestoreStaging = ".zenfs_restore";
inline constexpr std::string_view kRestoreRecord = ".zenfs_restore.log";

// True if a name in the root of a volume is one of these two.
[[nodiscard]] constexpr bool IsRestoresOwn(std::string_view name) {
  return name == kRestoreStaging || name == kRestoreRecord;
}

// True if a name in the root of a volume does not belong into a backup. Records of the host's directories must not count again after a
// restore.
[[nodiscard]] constexpr bool IsOfThisVolume(std::string_view name) {
  return IsRestoresOwn(name) || name == kBoundRecords;
}

// One line about names that a walk left out because their paths are too long; empty if there are none. `first`: the path of one.
[[nodiscard]] std::string TooLongText(std::uint64_t names, std::string_view first);

// Visits all names below a directory: depth first, by name, each directory before its content. The cost is linear in the
// number of names, at any depth.
class VolumeWalk {
 public:
  // `volume` must outlive the walk. `path` is normalised. Errors: those of Volume::List.
  [[nodiscard]] static Result<VolumeWalk> Begin(const Volume& volume, std::string path);

  // The next name; null after the last. It is valid until the next call. Names that a writer deletes meanwhile may be missing.
  [[nodiscard]] Result<const DirectoryEntry*> Next();
  const std::string& relative() const { return relative_; }  // of that name, below the directory of the walk
  // The number of directories in relative().
  std::size_t depth() const { return levels_.size() - 1; }
  // False if relative() is longer than kMaxPathBytes. A volume of an earlier version may have paths without limit. What is below
  // such a directory is not visited.
  [[nodiscard]] bool fits() const;
  // Leaves out the content of the directory that Next returned.
  void Skip() { enter_ = kNoFile; }

 private:
  struct Level {
    std::vector<DirectoryEntry> entries;
    std::size_t next = 0;
    std::size_t path_bytes = 0;  // of the directory's relative path
  };

  VolumeWalk(const Volume& volume, std::string path) : volume_(&volume), path_(std::move(path)) {}

  const Volume* volume_;
  std::string path_;
  std::string relative_;
  FileId enter_ = kNoFile;  // the directory at relative_, if it is to be visited next
  std::vector<Level> levels_;
};

struct VolumeFile {
  PathNode node;
  FileStat stat;
};

// Names of one directory whose paths are too long, with all that is below them.
struct TooLongNames {
  PathNode first;
  std::uint64_t more = 0;  // further names in the same directory
};

struct VolumeTree {
  std::string top;                // path in the volume, normalised, of the directory that `paths` is below
  PathTree paths;                 // numbered in the order of the walk
  std::vector<VolumeFile> files;  // directory by directory, sorted by name
  std::vector<PathNode> directories;   // parents first
  std::vector<TooLongNames> too_long;  // left out; one element for each directory

  // The path in the volume, normalised.
  std::string PathOf(PathNode node) const { return paths.PathBelow(top, node); }
};

// All files and directories that are below `path` during this call; those that a writer deletes
// meanwhile may be missing. If `path` is a file: that file alone, below its directory. Leaves out the files that an interrupted
// restore keeps for itself. Errors: kNotFound for `path` itself.
[[nodiscard]] Result<VolumeTree> WalkVolume(const Volume& volume, std::string_view path);

}  // namespace zenfs
