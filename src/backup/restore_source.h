// What a restore reads: a backup with a manifest, one by the older ZenFS, any directory, or one file.
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
  std::string relative;     // below the source's directory
  std::string host_path;    // the whole path, for people
  std::string destination;  // in the volume, normalised
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;            // of the host's file
  std::optional<std::uint32_t> crc32c;  // known where there is a manifest
  Lifetime lifetime = Lifetime::kNotSet;
};

struct RestoreSource {
  HostDirectory directory;  // that all items are below
  std::string
      identity;  // the same for the same backup and destination: what may resume an interrupted restore
  std::vector<RestoreItem> items;
  std::vector<std::string> directories;  // in the volume, each before what is in it
  std::vector<std::string> left_out;     // with `partial`: a line for each thing that can't be restored

  std::uint64_t bytes() const;
};

// `path` is a directory, whose content goes below `restore_path`, or a file, which goes into `restore_path`
// under its own name. Takes lifetimes from the manifest, else from write_lifetime_hints.dat. With a manifest
// what it lists is restored and nothing else.
// No symbolic link below the directory is followed, and no pipe or device opened.
// Errors: kNotFound; kCorruption for an unfinished backup, one with files missing or of another size;
// kNotSupported for symbolic links and special files. With `partial` none of these
// but kNotFound: what is affected is left out.
[[nodiscard]] Result<RestoreSource> OpenRestoreSource(const std::string& path,
                                                      const std::string& restore_path, bool partial);

}  // namespace zenfs
