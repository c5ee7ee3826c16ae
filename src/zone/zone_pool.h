// The state machine of ZoneManager: all decisions about zones, without locks, device commands and waits. It is the
// whole of its parts; callers use the part that they need.
//
//   data(), log()     who writes which zone
//   live()            which bytes of a zone are needed
//   phases()          how a zone becomes full, and empty again
//   reclaim()         when the collector must make room
//   state()           the parts behind them, for reports and tests
//
// Mount: adopt with log() and live(), then call phases().Start().
//
// Threads: not thread-safe; ZoneManager calls it under its mutex.
#pragma once

#include <span>
#include <vector>

#include "device/zoned_device.h"
#include "zone/data_writers.h"
#include "zone/live_counts.h"
#include "zone/log_loans.h"
#include "zone/space_account.h"
#include "zone/zone_phases.h"
#include "zone/zone_pool_parts.h"

namespace zenfs {

class ZonePool {
 public:
  ZonePool(const ZonePoolSetup& setup, std::span<const ZoneInfo> report,
           std::span<const ZoneId> metadata_zones);

  DataWriters& data() { return data_; }
  LogLoans& log() { return log_; }
  LiveCounts& live() { return live_; }
  const LiveCounts& live() const { return live_; }
  ZonePhases& phases() { return phases_; }
  const ZonePhases& phases() const { return phases_; }
  ResetQueue& jobs() { return parts_.jobs; }
  ReclaimDemand& reclaim() { return parts_.reclaim; }
  bool YieldLogZone() { return parts_.empty.ReduceLogShare(); }
  const ZonePoolParts& state() const { return parts_; }

  // --- reports ---
  SpaceReport Space() const;
  ZoneStatus Zone(ZoneId zone) const;
  std::vector<ZoneStatus> Zones() const;

 private:
  ZonePoolParts parts_;
  ZonePhases phases_{parts_};
  DataWriters data_{parts_, phases_};
  LogLoans log_{parts_, phases_};
  LiveCounts live_{parts_, phases_};
};

}  // namespace zenfs
