// The zones that the log holds: taken from the empty zones, and returned to be reset.
//
// Invariants
//   a zone in phase kLog is written by the log only; the pool does not know its written bytes
//   unless the log borrows, it takes a zone only if the headroom stays whole; on its own device, only if one more zone
//   is empty
//
// Ownership: the parts and the phases outlive it. Threads: not thread-safe; the owner locks. Cost: O(1), except that
// Take resets unused active zones if it finds no room.
#pragma once

#include <cstddef>
#include <vector>

#include "model/units.h"
#include "zone/zone_allocation.h"
#include "zone/zone_phases.h"
#include "zone/zone_pool_parts.h"

namespace zenfs {

class LogLoans {
 public:
  LogLoans(ZonePoolParts& parts, ZonePhases& phases) : parts_(parts), phases_(phases) {}

  // At mount: the log holds `zone`.
  void Adopt(ZoneId zone);
  // Takes an empty zone, also one that is kept for the log. If it may not borrow, the log waits for reclaim like data.
  TakenZone Take(LogLoan loan);
  // Takes up to `most` more zones, for one group: as many as data can do without, and as the headroom stays whole.
  std::vector<ZoneId> TakeMore(std::size_t most);
  // The log begins or ends to wait for a zone that it needs now: then data leaves one for it.
  void Waits(bool begins) { (parts_.log_apart() ? parts_.log_empty : parts_.empty).LogWaits(begins); }
  // The zone is reset once it is unused. Does nothing if the log does not hold it.
  void Return(ZoneId zone);

 private:
  ZoneId Lend(EmptyZones& empty);

  ZonePoolParts& parts_;
  ZonePhases& phases_;
};

}  // namespace zenfs
