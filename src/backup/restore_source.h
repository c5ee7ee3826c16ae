// The source of a restore: a backup with a manifest, one by the older ZenFS, any directory, or one
// file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backup/path_tree.h"
#include "base/host_directory.h"
#include "base/status.h"
#include "model/lifetime.h"

namespace zenfs {

struct RestoreItem {
  PathNode node;  // in RestoreSource::paths
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;            // mtime of the host's file
  std::optional<std::uint32_t> crc32c;  // known if there is a manifest
  Lifetime lifetime = Lifetime::kNotSet;
};

struct RestoreSource {
  // An entry that is not restored. `reason` follows its path in a message; if it is empty, a link or a file is on the way to the
  // entry, and Text says which.
  struct Omission {
    PathNode node;
    std::string reason;
  };

  HostDirectory directory;  // all items are below it
  std::string into;         // path in the volume that they are restored to, normalised
  std::string
      identity{};    // equal for the same backup and destination: decides whether a restore may continue
  PathTree paths{};  // below both
  std::vector<RestoreItem> items{};
  std::vector<PathNode> directories{};  // parents first
  std::vector<Omission> left_out{};     // with `partial`: entries that can't be restored
  // Entries whose paths are too long for the host, and those that the backup lacks for this reason.
  std::vector<Omission> unreachable{};
  std::vector<std::string> notices{};  // further lines; all data can be restored nevertheless

  std::string HostPath(PathNode node) const { return directory.PathOf(paths.PathOf(node)); }
  std::string Destination(PathNode node) const {
    return paths.PathBelow(into, node);
  }  // in the volume, normalised
  std::string Text(const Omission& omission) const;
};

// `path` is a directory, whose content goes below `restore_path`, or a file, which goes into
// `restore_path` under its own name. Takes lifetimes from the manifest, otherwise from
// write_lifetime_hints.dat, where damage costs only a notice. With a manifest, only the files in it
// are restored. Follows no symbolic link below the directory and opens no pipe or device. Errors:
// kNotFound; kCorruption for an unfinished backup, or for files that are missing or of another size;
// kNotSupported for symbolic links and special files. With `partial` only kNotFound: affected files
// are left out.
[[nodiscard]] Result<RestoreSource> OpenRestoreSource(const std::string& path,
                                                      const std::string& restore_path, bool partial);

}  // namespace zenfs
