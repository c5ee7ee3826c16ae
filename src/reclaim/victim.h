// Which zone to empty next: policy as a pure function.
//
// Benefit is what the zone's reset gives back beyond what its copies take, cost is reading and writing what lives; old
// garbage is worth more, since what has lived long beside it will go on living (Rosenblum and Ousterhout's cost and
// benefit). Not urgent: only zones of which at least half is dead, since what lives there may die by itself.
#pragma once

#include <optional>
#include <set>
#include <span>

#include "zone/reclaim_need.h"
#include "zone/space_report.h"

namespace zenfs {

// Full zones not in `skip` and without uncommitted data (which will be live, or dead, where it is) whose live data fits `need.room`, and whose garbage makes it worth it; the best of them.
[[nodiscard]] std::optional<ZoneId> ChooseVictim(std::span<const ZoneStatus> zones, const ReclaimNeed& need,
                                                 const std::set<ZoneId>& skip);

}  // namespace zenfs
