// The device of programs that have no setting for one.
//
//   ZENFS_DEFAULT_URI=zenfs://dev:nvme0n1 LD_PRELOAD=libzenfs.so PROGRAM
//
// RocksDB's default Env and FileSystem are then those of this folder (default_env.cc): the files that RocksDB makes are in
// the volume, under the path that they would have on the host. With ZENFS_DEFAULT_PREFIX=/data/db[:/more] only those below one of
// these directories.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace zenfs {

struct DefaultDevice {
  std::string uri;
  // Absolute, without links. A path is below one of them if it is one of them, or begins with it and '/'.
  std::vector<std::string> prefixes;

  bool Covers(const std::string& absolute) const;
};

// From the environment: empty if ZENFS_DEFAULT_URI is not set. Errors: kInvalidArgument for a prefix that is missing, not a
// directory, relative, or in another one, and for a prefix without a URI; those of ParseDeviceUri.
[[nodiscard]] Result<std::optional<DefaultDevice>> DefaultDeviceOfEnvironment();

// The absolute path of `path` on the host, without links, "." and "..", as far as it exists. Errors: those of the host.
[[nodiscard]] Result<std::string> PathOnHost(const std::string& path);

// The directory of an absolute path that does not end with '/'; of the root itself.
[[nodiscard]] std::string DirectoryOf(const std::string& absolute);

}  // namespace zenfs
