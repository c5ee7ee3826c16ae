// Which zones of a device with a volatile cache were written since the last flush, so that a flush looks at these alone.
//
// Threads: none of its own; the caller locks. A zone that is reset may stay in it.
#pragma once

#include <vector>

#include "model/units.h"

namespace zenfs {

class UnflushedZones {
 public:
  explicit UnflushedZones(std::uint32_t zones) : contains_(zones) {}

  void Add(ZoneId zone) {
    if (contains_[zone.value]) return;
    contains_[zone.value] = true;
    zones_.push_back(zone);
  }
  const std::vector<ZoneId>& zones() const { return zones_; }
  void Clear() {
    for (const ZoneId zone : zones_) contains_[zone.value] = false;
    zones_.clear();
  }

 private:
  std::vector<bool> contains_;
  std::vector<ZoneId> zones_;
};

}  // namespace zenfs
