// The bytes of each zone that somebody needs: live bytes of committed extents, uncommitted bytes, and pins.
//
// Invariants
//   the live bytes of a zone are the sum of OccupiedBytes of the extents that were adopted or added and not removed
//   uncommitted bytes are 0 while a zone has no pin
//   a zone whose count was wrong is never reset in this mount
//
// Ownership: the parts and the phases outlive it. Threads: not thread-safe; the owner locks. Units: bytes.
// Cost: O(1) for each extent, and O(active zones) if a zone gets unused.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "model/file_record.h"
#include "model/lifetime.h"
#include "zone/zone_phases.h"
#include "zone/zone_pool_parts.h"

namespace zenfs {

class LiveCounts {
 public:
  LiveCounts(ZonePoolParts& parts, ZonePhases& phases) : parts_(parts), phases_(phases) {}

  // At mount. A zone gets the lifetime of its first adopted extent, by place.
  void Adopt(const Extent& extent, Lifetime lifetime);
  void Add(std::span<const Extent> extents);
  // If this removes more bytes than are live in a zone, the zone counts as without live bytes, is never reset in this
  // mount, and health() reports corruption.
  void Remove(std::span<const Extent> extents);
  void Pin(ZoneId zone);
  // True for the last pin of the zone: threads may wait for that.
  bool Unpin(ZoneId zone);
  // Not OK after Remove removed more bytes than were live. Then nothing more may be written: the live counts of
  // other zones may be wrong too, so a reset could destroy live data.
  const Status& health() const { return health_; }

 private:
  void Distrust(ZoneId zone, std::uint64_t bytes);

  ZonePoolParts& parts_;
  ZonePhases& phases_;
  Status health_;
};

}  // namespace zenfs
