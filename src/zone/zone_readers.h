// What read-only mounts of this host tell the zone manager: which zones they read. They can't hold a pin, so they are asked
// before a reset.
#pragma once

#include "model/units.h"

namespace zenfs {

class ZoneReaders {
 public:
  virtual ~ZoneReaders() = default;
  // True if a living reader uses files in the zone. Costs one system call. Threads: any.
  virtual bool IsRead(ZoneId zone) const = 0;
  // The zone will be reset now: readers must not trust bytes that they read from now on. Threads: one.
  virtual void NoteReset(ZoneId zone) = 0;
};

}  // namespace zenfs
