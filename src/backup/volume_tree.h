// What is below a path of a mounted volume.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "volume/volume.h"

namespace zenfs {

// What a restore keeps in the root of the volume until it is complete: a directory of files that are not whole
// yet, and a record of those that are. The record is framed, by its name: a line costs one device write.
inline constexpr std::string_view kRestoreStaging = ".zenfs_restore";
inline constexpr std::string_view kRestoreRecord = ".zenfs_restore.log";

// Whether a name in the root of a volume is one of these two.
[[nodiscard]] constexpr bool IsRestoresOwn(std::string_view name) {
  return name == kRestoreStaging || name == kRestoreRecord;
}

struct VolumeFile {
  std::string path;      // in the volume, normalised
  std::string relative;  // below the path that was asked for
  FileStat stat;
};

struct VolumeTree {
  std::vector<VolumeFile> files;         // directory by directory, sorted by name
  std::vector<std::string> directories;  // `relative`, each before what is in it

  std::uint64_t bytes() const;
};

// All that is below `path` at one moment or another of this call; what a writer deletes meanwhile is left out.
// For a file: that file alone, `relative` being its last component. Leaves out what an interrupted
// restore keeps for itself. Errors: kNotFound for `path` itself.
[[nodiscard]] Result<VolumeTree> WalkVolume(const Volume& volume, std::string_view path);

}  // namespace zenfs
