// The files and directories below a path of a mounted volume.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

struct VolumeFile {
  std::string path;      // path in the volume, normalised
  std::string relative;  // path below the requested path
  FileStat stat;
};

struct VolumeTree {
  std::vector<VolumeFile> files;         // directory by directory, sorted by name
  std::vector<std::string> directories;  // values of `relative`; parents first

  std::uint64_t bytes() const;
};

// All files and directories that are below `path` during this call; those that a writer deletes
// meanwhile may be missing. If `path` is a file: that file alone, with its last component as
// `relative`. Leaves out the files that an interrupted restore keeps for itself. Errors: kNotFound
// for `path` itself.
[[nodiscard]] Result<VolumeTree> WalkVolume(const Volume& volume, std::string_view path);

}  // namespace zenfs
