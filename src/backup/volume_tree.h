// What is below a path of a mounted volume.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "volume/volume.h"

namespace zenfs {

// Where a restore keeps what is not whole yet, in the root of the volume.
inline constexpr std::string_view kRestoreStaging = ".zenfs_restore";

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
// For a file: that file alone, `relative` being its last component. Leaves out the staging of an interrupted
// restore. Errors: kNotFound for `path` itself.
[[nodiscard]] Result<VolumeTree> WalkVolume(const Volume& volume, std::string_view path);

}  // namespace zenfs
