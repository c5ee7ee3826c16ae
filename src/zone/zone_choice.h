// Chooses the zone for a write of data. A pure function of the active zones and of a placement policy, in this order:
//   1. an unclaimed active zone with the best or a good match
//   2. an empty zone, if one is preferred
//   3. an unclaimed active zone with an acceptable match
//   4. an active zone that other files claim, with the best match, then the fewest claims; waits for a write there
//   5. any unclaimed active zone
//   6. an empty zone, if one is allowed as a last resort
// A file's own claimed zone comes before all of them; DataWriters takes it without this choice.
// An active zone is filled with data of another lifetime rather than finished early.
//
// Cost: O(active zones). Threads: any, while nobody changes the table. Errors: none.
#pragma once

#include <cstdint>
#include <span>

#include "model/lifetime.h"
#include "model/units.h"
#include "zone/placement.h"
#include "zone/zone_table.h"

namespace zenfs {

enum class EmptyZoneUse : std::uint8_t {
  kNone,        // there is none, or no slot for it
  kLastResort,  // better than failing
  kPreferred,   // better than an active zone without a good match
};

struct ZoneChoice {
  enum class Kind : std::uint8_t {
    kActive,
    kEmpty,  // any empty zone
    kWait,   // for another file's write in `zone`: the wait is short
    kNothing,
  };
  Kind kind = Kind::kNothing;
  ZoneId zone;  // for kActive and kWait
};

// Chooses among the `active` zones of `table` for a file of `lifetime`.
[[nodiscard]] ZoneChoice ChooseZone(const ZoneTable& table, std::span<const ZoneId> active, Lifetime lifetime,
                                    EmptyZoneUse empty, const PlacementPolicy& policy);

}  // namespace zenfs
