// The state of the zone pool in parts, each with a rule of its own, and the invariants between them.
//
// Invariants
//   `active` contains exactly the zones in phase kActive; each holds a slot and has room, unless the mount is
//   read-only
//   a zone holds a slot only if it is active, its reset or finish is queued or running, or it came from the log
//   a zone in phase kDead has a reset queued or running
//   the sums of the parts agree with the table
//
// Threads: not thread-safe; the owner locks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/geometry.h"
#include "zone/placement.h"
#include "zone/reclaim_demand.h"
#include "zone/reset_queue.h"
#include "zone/space_account.h"
#include "zone/zone_limits.h"
#include "zone/zone_states.h"

namespace zenfs {

struct ZonePoolSetup {
  Geometry geometry;
  SlotPlan plan;
  EmptyZones::LogShare log;
  std::uint64_t headroom = 0;  // bytes that only copies may take
  bool read_only = false;
  bool reclaims = false;  // a collector acts on ReclaimDemand::Need
  const PlacementPolicy* placement = DefaultPlacement();
};

struct ZonePoolParts {
  ZonePoolParts(const ZonePoolSetup& pool_setup, std::size_t zones);
  ZonePoolParts(const ZonePoolParts&) = delete;  // the parts refer to each other
  ZonePoolParts& operator=(const ZonePoolParts&) = delete;

  // Descriptions of all broken invariants. Costs O(all zones).
  std::vector<std::string> Check() const;
  // For assertions: returns true, or ends the process with the broken invariant. Checks the active zones; if the
  // number of calls is a power of two, also all zones.
  bool Sound() const;

  // True for two joined devices: the log has zones and slots of its own.
  bool log_apart() const { return setup.geometry.log_zones != 0; }
  EmptyZones& EmptyOf(ZoneId zone) { return setup.geometry.OnLogDevice(zone) ? log_empty : empty; }
  SlotBudget& SlotsOf(ZoneId zone) { return setup.geometry.OnLogDevice(zone) ? log_slots : slots; }

  const ZonePoolSetup setup;
  ZoneTable table;
  SlotBudget slots;
  EmptyZones empty;
  // The log's own, if log_apart(): zones that came back from the log and wait for a finish or a reset hold its slots.
  SlotBudget log_slots;
  EmptyZones log_empty{{.spare = EmptyZones::kSpareForMount}};
  std::vector<ZoneId> active;
  ResetQueue jobs;
  SpaceAccount room;
  ReclaimDemand reclaim;
  std::uint64_t data_written = 0;  // bytes in this mount
  bool started = false;            // by ZonePhases::Start; the invariants hold from then on
  mutable std::uint64_t sound_calls = 0;
};

}  // namespace zenfs
