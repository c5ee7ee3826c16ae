// The interface between the collector (reclaimer.h) and its volume.
//
// Threads: called only on the collector's thread.
#pragma once

#include <vector>

#include "base/status.h"
#include "reclaim/victim.h"
#include "reclaim/zone_mover.h"

namespace zenfs {

class ReclaimTarget {
 public:
  struct LogView {
    std::vector<LogZoneStatus> zones;
    std::vector<FramesOfFile> files;
    bool complete = false;  // false before the mount has recovered the log; then the lists are empty
  };

  virtual ~ReclaimTarget() = default;

  // Releases dead log zones, then returns the present state of the log. Costs O(log zones + framed files and the
  // zones of their frames), independent of the number of plain files.
  virtual LogView LookAtLog() = 0;
  // Moves all live data out of the zone and calls `pause` after each piece. Errors and what the caller does:
  //   kBusy, kTimedOut: try again soon
  //   kNoSpace, kReadOnly: no room for copies or their commit; skip the zone until room or live bytes change
  //   kCorruption: skip the zone until it was reset
  //   all others: skip the zone after kTriesMax attempts (reclaimer.cc)
  [[nodiscard]] virtual Status Empty(const Victim& victim, const ZoneMover::Pause& pause) = 0;
  // Bytes of metadata that the commits of the copies would write if the victim, which is not active, were emptied now.
  virtual std::uint64_t RestatedBytes(const Victim& victim) const = 0;
  // True if the zone would stay in use after a move: a file in it is open for writing, or deleted and still being read.
  virtual bool IsHeld(ZoneId zone) const = 0;
  // Returns an unused log zone to the pool, for copies. Returns false if the log has none.
  virtual bool BorrowLogZone() = 0;
  // Returns a log zone that the log does not need now to the pool, for data. Returns false if the log has none.
  virtual bool ReturnSpareLogZone() = 0;
  // False once commits are impossible. Then pending garbage can never be reclaimed in this mount.
  virtual bool CanCommit() const = 0;
  // Called between zones. Returns true if it must be called again soon.
  virtual bool FinishUp() = 0;
};

}  // namespace zenfs
