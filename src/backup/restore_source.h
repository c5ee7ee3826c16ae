// The source of a restore: a backup with a manifest, one by the older ZenFS, any directory, or one
// file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/host_directory.h"
#include "base/status.h"
#include "model/lifetime.h"

namespace zenfs {

struct RestoreItem {
  std::string relative;     // path below the source's directory
  std::string host_path;    // full path, for messages
  std::string destination;  // path in the volume, normalised
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;            // mtime of the host's file
  std::optional<std::uint32_t> crc32c;  // known if there is a manifest
  Lifetime lifetime = Lifetime::kNotSet;
};

struct RestoreSource {
  HostDirectory directory;  // all items are below it
  std::string identity;  // equal for the same backup and destination: decides whether a restore may continue
  std::vector<RestoreItem> items;
  std::vector<std::string> directories;  // in the volume; parents first
  std::vector<std::string> left_out;     // with `partial`: one line for each entry that can't be restored
  // One line for each entry whose path is too long for the host, and for each that the backup lacks for this reason.
  std::vector<std::string> unreachable;
  std::vector<std::string> notices;  // further lines; all data can be restored nevertheless
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
