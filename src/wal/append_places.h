// Checks the places that a device returns for the appends in flight in one zone: inside the room that was
// reserved for them, and each byte taken once.
//
// Appends complete in any order, so there may be holes below a place until the other appends complete.
//
// Threads: no lock; the lock of FrameWriter guards it.
#pragma once

#include <cstdint>
#include <vector>

#include "model/units.h"

namespace zenfs {

class AppendPlaces {
 public:
  // All bytes before `from` are taken, and nothing is in flight.
  void Restart(DeviceOffset from) {
    taken_.clear();
    from_ = from;
  }
  // Returns false if the bytes are not between the start and `reserved_to`, or if some are taken already.
  [[nodiscard]] bool Take(DeviceOffset at, std::uint64_t bytes, DeviceOffset reserved_to);

 private:
  struct Range {
    DeviceOffset from;
    DeviceOffset to;
  };

  DeviceOffset from_;
  std::vector<Range> taken_;  // behind from_, in order, not adjacent to it
};

}  // namespace zenfs
