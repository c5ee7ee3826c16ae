// Placement: the choice of the zone for a write of data. Pure functions.
//
// A policy says how well an active zone fits the data of a file. The table in placement.cc names the policies. A policy of your own
// is one function and one line there.
//
//   lifetime   the default. As zoned XFS of Linux: short-lived data shares a zone only with short-lived data, and medium only
//              with medium; long and extreme data share. If no such zone is active, a new zone is opened. If no slot or zone is
//              left, an acceptable match is used, then any match.
//   cold       as lifetime, but extreme data, which is most of a large database, shares a zone with others only as the last choice
//   upstream   as the older ZenFS: a zone of a longer lifetime is preferred to one of the same, the nearest first; for
//              comparisons
//   fill       any zone with room, the fullest first, whatever the lifetimes; what placement is worth is measured against it
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/lifetime.h"
#include "model/units.h"
#include "zone/zone_states.h"

namespace zenfs {

enum class Match {
  kBest,        // preferred to all others
  kGood,        // preferred to opening another zone
  kAcceptable,  // preferred to sharing a claimed zone
  kPoor,        // preferred only to failing
};

struct PlacementPolicy {
  std::string_view name;
  // `zone`: the lifetime of the zone's data; `file`: that of the data to be written.
  Match (*match)(Lifetime zone, Lifetime file);
};

[[nodiscard]] std::span<const PlacementPolicy> PlacementPolicies();  // the default first
[[nodiscard]] inline const PlacementPolicy* DefaultPlacement() { return &PlacementPolicies().front(); }
// Null if there is no policy of this name.
[[nodiscard]] const PlacementPolicy* FindPlacement(std::string_view name);

// That of `lifetime`.
[[nodiscard]] Match MatchOf(Lifetime zone, Lifetime file);

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

// Chooses among the `active` zones of `table` for a file of `lifetime`, in this order:
//   1. an unclaimed active zone with the best or a good match
//   2. an empty zone, if one is preferred
//   3. an unclaimed active zone with an acceptable match
//   4. an active zone that other files claim, with the best match, then the fewest claims; waits for a write there
//   5. any unclaimed active zone
//   6. an empty zone, if one is allowed as a last resort
// A file's own claimed zone comes before all of them; ZonePool takes it without this choice.
// An active zone is filled with data of another lifetime rather than finished early. Cost: O(active zones).
[[nodiscard]] ZoneChoice ChooseZone(const ZoneTable& table, std::span<const ZoneId> active, Lifetime lifetime,
                                    EmptyZoneUse empty, const PlacementPolicy& policy);

}  // namespace zenfs
