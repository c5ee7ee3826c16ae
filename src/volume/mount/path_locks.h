// The paths that this process has locked with Volume::Lock.
//
// Ownership: a PathLock may outlive the PathLocks that made it.
// Threads: any. The mutex inside is a leaf lock.
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"
#include "volume/volume.h"

namespace zenfs {

class PathLocks {
 public:
  PathLocks();

  // Locks the normalized path (NormalizePath) until the result is destroyed. Does not access any file. Errors: kBusy if the
  // path is already locked.
  [[nodiscard]] Result<std::unique_ptr<PathLock>> Take(std::string_view path);

 private:
  struct Held;
  class HeldPath;
  const std::shared_ptr<Held> held_;
};

}  // namespace zenfs
