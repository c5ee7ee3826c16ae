// Placement policies: how well an active zone fits the data of a file. Pure functions, one for each policy; the table in
// placement.cc names them. A policy of your own is one function and one line there.
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

}  // namespace zenfs
