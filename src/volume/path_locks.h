// The paths on which this process holds a lock: what Volume::Lock gives out.
//
// Ownership: a PathLock and the PathLocks it came from may end in any order.
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

  // Locks the path, in whichever way it is written (NormalizePath), until the result is destroyed. Looks at no file.
  // Errors: kBusy if the path is locked already.
  [[nodiscard]] Result<std::unique_ptr<PathLock>> Take(std::string_view path);

 private:
  struct Held;
  class HeldPath;
  const std::shared_ptr<Held> held_;
};

}  // namespace zenfs
