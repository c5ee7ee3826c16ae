// A volume mounted into the host's tree of files, read-only, by FUSE.
//
// It uses FUSE's low-level interface, whose inode numbers are the ids of files here: so an open file and its successor of the same
// name are two files for the kernel. The high-level interface numbers paths, and fstat of the open file would show its successor.
//
// Each request asks the volume. The kernel keeps names and attributes for a second. Reads bypass its page cache: otherwise, if a log
// grows while it is read, a page could be kept with zeros in the place of the newest bytes.
//
// Threads: those of libfuse call the volume and `say`; at most one FuseMount in a process, because libfuse's messages and signals
// belong to the process.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "volume/volume.h"

namespace zenfs {

// The canonical path of a directory on which a volume can be mounted. Errors: a file, a directory with entries, one that has a mount
// already or is not writable for this user.
[[nodiscard]] Result<std::string> CheckMountPoint(const std::string& path);
// Errors: the host has no FUSE, or this user may not use it.
[[nodiscard]] Status CheckFuse();

class FuseMount {
 public:
  using Say = std::function<void(const std::string& line)>;
  struct Options {
    std::string mount_point;  // as CheckMountPoint returned it
    bool allow_other = false;
  };

  // `volume` is mounted read-only and outlives the mount. From now on SIGTERM, SIGINT and SIGHUP end it. `say` gets one line for each
  // trouble after the mount. Errors: those of mount(2) and fusermount3.
  [[nodiscard]] static Result<std::unique_ptr<FuseMount>> Begin(Volume& volume, const Options& options,
                                                                Say say);
  // Unmounts, also while programs use it.
  virtual ~FuseMount() = default;

  // Answers requests until a signal comes, or until the host unmounts.
  [[nodiscard]] virtual Status Serve() = 0;
};

}  // namespace zenfs
