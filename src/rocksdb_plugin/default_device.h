// The device of programs that have no setting for one.
//
//   ZENFS_DEFAULT_URI=zenfs://dev:nvme0n1 LD_PRELOAD=libzenfs.so PROGRAM
//
// RocksDB's default Env and FileSystem are then those of this folder (default_env.cc): the files that RocksDB makes are in
// the volume, under the path that they would have on the host. With ZENFS_DEFAULT_PREFIX=/data/db[:/more] only those below one of
// these directories.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace zenfs {

struct DefaultDevice {
  std::string uri;
  // Absolute, without links. A path is below one of them if it is one of them, or begins with it and '/'.
  std::vector<std::string> prefixes;

  // The prefixes as they were given, in the same order; empty if they are known to stay where they are.
  std::vector<std::string> given = {};
  std::pair<dev_t, ino_t> root = RootOfProcess();

  bool Covers(const std::string& absolute) const;
  // Whether the prefixes still say which files are below them. Errors: kInvalidArgument if the process has another root now, or if a
  // link in a prefix leads elsewhere.
  [[nodiscard]] Status CheckPrefixes() const;

 private:
  static std::pair<dev_t, ino_t> RootOfProcess();
};

// From the environment: empty if ZENFS_DEFAULT_URI is not set. Errors: kInvalidArgument for a prefix that is missing, not a
// directory, relative, or in another one, and for a prefix without a URI; those of ParseDeviceUri.
[[nodiscard]] Result<std::optional<DefaultDevice>> DefaultDeviceOfEnvironment();

// The absolute path of `path` on the host, without links, "." and "..", as far as it exists. Errors: those of the host.
[[nodiscard]] Result<std::string> PathOnHost(const std::string& path);

// The directory of an absolute path that does not end with '/'; of the root itself.
[[nodiscard]] std::string DirectoryOf(const std::string& absolute);

}  // namespace zenfs
