// The choice of the zone to empty next, as pure functions.
//
// The policy is cost-benefit cleaning by Rosenblum and Ousterhout. The benefit is the room that the reset returns, less
// the room for the copies, times the age: live data in an old zone will probably stay live. The cost is reading the
// zone, writing the copies, and writing the metadata that names them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "wal/log_zones.h"
#include "zone/reclaim_demand.h"
#include "zone/zone_states.h"

namespace zenfs {

struct Victim {
  enum class Kind : std::uint8_t {
    kData,
    kActive,  // partly written; it is finished first, which gives up its room
    kLog,     // a group of log zones
  };
  ZoneId zone;  // of a group, one of its zones
  Kind kind = Kind::kData;
  std::uint64_t generation = 0;  // log zones only: of the group
  std::uint64_t capacity = 0;  // bytes of this zone or group, and of older log zones that are emptied with it
  std::uint64_t copies = 0;    // bytes that must be copied
  std::uint64_t given_up = 0;  // bytes of its room that are lost until its reset
  std::uint64_t garbage = 0;   // log zones only: bytes of the group that are not live payload
  std::uint64_t age = 0;       // zones that were filled after it
  std::uint32_t incarnation = 0;  // of the zone; changes when it leaves use
  // Not for active zones: bytes of metadata that the commits of the copies write. Empty: unknown, counts as none. Finding it costs
  // time in proportion to the extents or frames, so it is asked for the best victim only (VictimSearch).
  std::optional<std::uint64_t> restated{};
  bool nearly_dead = false;  // worth emptying although space is not short
  bool young = false;        // log zones only: will probably die by itself soon

  std::uint64_t gain() const { return capacity > copies + given_up ? capacity - copies - given_up : 0; }
};

// The live frames of one file in each log zone.
using FramesOfFile = std::map<ZoneId, LiveFrames>;

// The state of the log at one moment.
struct LogView {
  std::vector<LogZoneStatus> zones;
  std::vector<FramesOfFile> files;
  bool complete = false;  // false before the mount has recovered the log; then the lists are empty
};

// Returns the full and active data zones that have live and dead bytes, but no uncommitted ones.
[[nodiscard]] std::vector<Victim> DataVictims(std::span<const ZoneStatus> zones);

// Returns the groups of log zones with live frames. A group has the zones of one generation that are closed and not held.
// The frames of a file are moved from the first one on, so cleaning a group may also copy frames of older zones. `zones` is
// indexed by zone number.
[[nodiscard]] std::vector<Victim> LogVictims(std::span<const LogZoneStatus> log_zones,
                                             std::span<const FramesOfFile> files,
                                             std::span<const ZoneStatus> zones, std::uint32_t block_size);

// Returns the best victim that is not in `skip`, fits `need.room` and gains enough for the urgency:
//   kTidy    log zones and full data zones that are nearly dead
//   kLow     these, and full data zones that gain at least half of their capacity
//   kAhead   zones that are nearly dead, or gain an eighth of their capacity
//   kUrgent  zones that gain a block; of the log's own device, all
// Only kinds that `need.victims` names are returned. For kTidy and kLow, the metadata that the move restates must also be at most as much
// as the copies, or a 64th of the gain. If the headroom is not whole, the victim with the fewest copies comes first, so that an
// unfinished one is finished first.
//
// If there is none, the need is urgent and some log zone has garbage: returns the oldest group of log zones whose copies fit
// and take hardly more room than it returns. Its frames must move before younger frames of the same files can.
[[nodiscard]] std::optional<Victim> ChooseVictim(std::span<const Victim> victims, const ReclaimNeed& need,
                                                 const std::set<ZoneId>& skip, std::uint32_t block_size);

}  // namespace zenfs
