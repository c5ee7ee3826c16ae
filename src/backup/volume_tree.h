// The files and directories below a path of a mounted volume.
#pragma once

#include <optional>
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

// Names of one directory that a walk left out, with all that is below them.
struct TooLongPaths {
  std::string first;       // relative path of the first name
  std::uint64_t more = 0;  // further names in the same directory

  std::string Reason() const;
};
// One line about all of them; empty if there are none.
[[nodiscard]] std::string TooLongText(const std::vector<TooLongPaths>& directories);

// Visits all names below a directory: depth first, by name, each directory before its content. The cost is linear in the
// number of names, at any depth. A volume of an earlier version may have paths without limit; names whose relative path is
// longer than kMaxPathBytes are left out.
class VolumeWalk {
 public:
  // `volume` must outlive the walk. `path` is normalised. Errors: those of Volume::List.
  [[nodiscard]] static Result<VolumeWalk> Begin(const Volume& volume, std::string path);

  // The next name; null after the last. It is valid until the next call. Names that a writer deletes meanwhile may be missing.
  [[nodiscard]] Result<const DirectoryEntry*> Next();
  const std::string& relative() const { return relative_; }  // of that name, below the directory of the walk
  // Leaves out the content of the directory that Next returned.
  void Skip() { enter_ = kNoFile; }

  // One element for each directory, so far.
  const std::vector<TooLongPaths>& too_long() const { return too_long_; }

 private:
  struct Level {
    std::vector<DirectoryEntry> entries;
    std::size_t next = 0;
    std::size_t path_bytes = 0;             // of the directory's relative path
    std::optional<std::size_t> too_long{};  // the element of too_long_ for this directory
  };

  VolumeWalk(const Volume& volume, std::string path) : volume_(&volume), path_(std::move(path)) {}
  void NoteTooLong(Level& level, const std::string& name);

  const Volume* volume_;
  std::string path_;
  std::string relative_;
  FileId enter_ = kNoFile;  // the directory at relative_, if it is to be visited next
  std::vector<Level> levels_;
  std::vector<TooLongPaths> too_long_;
};

struct VolumeFile {
  std::string path;      // path in the volume, normalised
  std::string relative;  // path below the requested path
  FileStat stat;
};

struct VolumeTree {
  std::vector<VolumeFile> files;         // directory by directory, sorted by name
  std::vector<std::string> directories;  // values of `relative`; parents first
  std::vector<TooLongPaths> too_long;    // left out
};

// All files and directories that are below `path` during this call; those that a writer deletes
// meanwhile may be missing. If `path` is a file: that file alone, with its last component as
// `relative`. Leaves out the files that an interrupted restore keeps for itself. Errors: kNotFound
// for `path` itself.
[[nodiscard]] Result<VolumeTree> WalkVolume(const Volume& volume, std::string_view path);

}  // namespace zenfs
