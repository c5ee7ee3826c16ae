#include "reclaim/victim.h"

namespace zenfs {
namespace {

// The dead share of a zone from which on it is emptied.
constexpr std::uint64_t kGarbageDivisor = 2;
constexpr std::uint64_t kGarbageDivisorUrgent = 64;

double Score(const ZoneStatus& zone) {
  const double dead = static_cast<double>(zone.capacity - zone.live);
  const double cost = static_cast<double>(zone.capacity + zone.live);
  return dead * static_cast<double>(1 + zone.age) / cost;
}

}  // namespace

std::optional<ZoneId> ChooseVictim(std::span<const ZoneStatus> zones, const ReclaimNeed& need,
                                   const std::set<ZoneId>& skip) {
  const std::uint64_t divisor =
      need.urgency == ReclaimUrgency::kUrgent ? kGarbageDivisorUrgent : kGarbageDivisor;
  std::optional<ZoneId> best;
  double best_score = 0;
  for (const ZoneStatus& zone : zones) {
    if (zone.phase != ZonePhase::kFull || zone.live == 0 || zone.live > need.room) continue;
    if (zone.capacity - zone.live < zone.capacity / divisor || zone.capacity == zone.live) continue;
    if (zone.uncommitted != 0 || skip.contains(zone.id)) continue;
    const double score = Score(zone);
    if (best && score <= best_score) continue;
    best = zone.id;
    best_score = score;
  }
  return best;
}

}  // namespace zenfs
