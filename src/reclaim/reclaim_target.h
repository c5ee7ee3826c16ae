// What the collector (reclaimer.h) asks of the volume that it works for.
//
// Threads: called on the collector's thread only.
#pragma once

#include <vector>

#include "base/status.h"
#include "reclaim/extent_mover.h"
#include "reclaim/victim.h"

namespace zenfs {

class ReclaimTarget {
 public:
  struct LogView {
    std::vector<LogZoneStatus> zones;
    std::vector<FramesOfFile> files;
  };

  virtual ~ReclaimTarget() = default;

  // The log as it is. Releases the zones that are dead first. Costs O(log zones + framed files and the zones that each has
  // frames in), however many plain files there are.
  virtual LogView LookAtLog() = 0;
  // Moves all live data out of the zone; calls `pause` after each piece. Errors: kBusy, kTimedOut: try again soon. kNoSpace:
  // there is no room for copies, or for their commit, until more data dies. kCorruption: leave that zone alone until it was
  // reset. Any other error: do that after a few tries.
  [[nodiscard]] virtual Status Empty(const Victim& victim, const ExtentMover::Pause& pause) = 0;
  // True if emptying the zone now would not free it: a file that lies in it is being written, or is read and was deleted.
  virtual bool IsHeld(ZoneId zone) const = 0;
  // Takes an unused zone from the log for copies. False if it has none.
  virtual bool BorrowLogZone() = 0;
  // False once nothing can be committed any more: then nothing that is pending comes into reach.
  virtual bool CanCommit() const = 0;
  // Called between zones; true if it is to be called again soon.
  virtual bool FinishUp() = 0;
};

}  // namespace zenfs
