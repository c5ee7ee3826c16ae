// The need for reclaim, and the collector's answer. Plain values.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace zenfs {

enum class WritePurpose : std::uint8_t {
  kData,
  kReclaim,  // copies of live data, after which their old zone is reset; may take the headroom
};

enum class ReclaimUrgency : std::uint8_t {
  kTidy,    // log zones or data zones are nearly dead
  kLow,     // few empty zones are left
  kAhead,   // writers will have to wait soon
  kUrgent,  // writers wait, or the headroom is not whole
};

// The zones that may become victims.
enum class VictimZones : std::uint8_t {
  kAll,
  // Two joined devices: a reset returns room only to the log, or only to data.
  kLog,  // their live frames move to the main device, and leave its headroom whole
  kData,
};

struct ReclaimNeed {
  ReclaimUrgency urgency = ReclaimUrgency::kLow;
  std::uint64_t room = 0;      // bytes of room for copies now
  std::uint64_t headroom = 0;  // bytes of room that copies should have
  std::uint64_t version = 0;   // of the pool, raised by each change of room or live bytes
  VictimZones victims = VictimZones::kAll;

  bool headroom_whole() const { return room >= headroom; }
};

// The result of a search that found no victim.
struct ReclaimVerdict {
  std::uint64_t version = 0;  // of the need; the next change voids the verdict
  ReclaimUrgency urgency = ReclaimUrgency::kLow;
  VictimZones victims = VictimZones::kAll;
  // Some zone is no victim only because it is busy, pinned or uncommitted now.
  bool pending = false;
  // Some zone is no victim only because its copies do not fit the room.
  bool lacks_room = false;
  // Until then it also answers later needs that are low, whatever has changed: a search looks at all zones, and on a device
  // with many of them each write would cause one.
  SteadyTime until = SteadyTime::min();
};

}  // namespace zenfs
