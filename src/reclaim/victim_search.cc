#include "reclaim/victim_search.h"

#include <algorithm>
#include <utility>

namespace zenfs {
namespace {

// Time between two searches in vain while space is not short.
constexpr std::chrono::milliseconds kSearchAgain{100};
// How many victims a search may ask for what they restate. If all were of one file, the search would look at each of its extents or
// frames for each of its zones.
constexpr int kCostsASearch = 32;

bool IsCostUnknown(const Victim& victim) { return victim.kind != Victim::Kind::kActive && !victim.restated; }

// True if a zone is on its way from the pool to the log, or back.
bool AnyInTransit(std::span<const ZoneStatus> zones, const LogView& log) {
  const auto in_log = std::ranges::count(zones, ZonePhase::kLog, &ZoneStatus::phase);
  return log.complete && std::cmp_greater(in_log, log.zones.size());
}

// True if dead bytes may become reclaimable later: beside uncommitted bytes, in pinned zones, or in log zones that
// wait for their release.
bool AnyGarbagePending(std::span<const ZoneStatus> zones, std::span<const LogZoneStatus> log_zones,
                       std::uint32_t block_size) {
  for (const ZoneStatus& zone : zones) {
    if (zone.phase != ZonePhase::kFull && zone.phase != ZonePhase::kActive) continue;
    if (zone.uncommitted == 0 && (zone.live != 0 || zone.pins == 0)) continue;
    const std::uint64_t written = zone.phase == ZonePhase::kFull ? zone.capacity : zone.written;
    if (written >= zone.live + zone.uncommitted + block_size) return true;
  }
  return std::ranges::any_of(log_zones, [](const LogZoneStatus& zone) {
    return zone.closed && (zone.held || zone.live.device_bytes == 0);
  });
}

}  // namespace

void VictimSearch::Begin(const ReclaimNeed& need, LogView log, std::vector<ZoneStatus> zones) {
  if (refused_at_ != need.version) refused_.clear();
  refused_at_ = need.version;
  need_ = need;
  log_ = std::move(log);
  zones_ = std::move(zones);
  victims_ = DataVictims(zones_);
  std::ranges::move(LogVictims(log_.zones, log_.files, zones_, block_size_), std::back_inserter(victims_));
  AddKnownCosts();
  costs_unknown_ = false;
}

void VictimSearch::AddKnownCosts() {
  std::map<ZoneId, Cost> known;
  known.swap(costs_);
  if (known.empty()) return;
  for (Victim& victim : victims_) {
    const auto it = known.find(victim.zone);
    if (it == known.end() || it->second.incarnation != victim.incarnation ||
        it->second.copies != victim.copies)
      continue;
    victim.restated = it->second.restated;
    costs_.insert(known.extract(it));
  }
}

std::optional<Victim> VictimSearch::Choose(const IsHeld& is_held, const Restated& restated) {
  std::set<ZoneId> skip = ZonesToSkip();
  // An unknown cost counts as none, so the first victim that is the best with its cost is the best of all.
  for (int asked = 0;;) {
    const std::optional<Victim> victim = ChooseVictim(victims_, need_, skip, block_size_);
    if (!victim) return std::nullopt;
    if (is_held(victim->zone)) {
      busy_.insert(victim->zone);
      skip.insert(victim->zone);
      continue;
    }
    if (!IsCostUnknown(*victim)) return victim;
    if (asked++ == kCostsASearch) {
      if (need_.urgency >= ReclaimUrgency::kAhead) return victim;
      costs_unknown_ = true;
      for (const Victim& each : victims_) {
        if (IsCostUnknown(each)) skip.insert(each.zone);
      }
      continue;
    }
    const auto same = [&](const Victim& each) { return each.zone == victim->zone; };
    Victim& found = *std::ranges::find_if(victims_, same);
    found.restated = restated(found);
    costs_[found.zone] = {found.incarnation, found.copies, *found.restated};
  }
}

std::set<ZoneId> VictimSearch::ZonesToSkip() const {
  std::set<ZoneId> skip = busy_;
  skip.insert(refused_.begin(), refused_.end());
  for (const Victim& victim : victims_) {
    const auto it = tries_.find(victim.zone);
    if (it == tries_.end() || it->second.incarnation != victim.incarnation) continue;
    if (it->second.failed >= kTriesMax) skip.insert(victim.zone);
  }
  return skip;
}

void VictimSearch::Note(const Victim& victim, const Status& emptied, bool is_empty) {
  const auto try_again = [&] {
    if (++TriesOf(victim) < kTriesMax) busy_.insert(victim.zone);
  };
  if (emptied.ok()) {
    // Either a writer committed data there meanwhile, or the live count is wrong and no file owns the bytes.
    if (!is_empty) try_again();
    return;
  }
  switch (emptied.error().code()) {
    case Code::kBusy:
    case Code::kTimedOut: busy_.insert(victim.zone); return;
    // Further attempts would fill the device with copies that no file points to.
    case Code::kReadOnly:  // commits are impossible
    case Code::kNoSpace: refused_.insert(victim.zone); return;
    case Code::kCorruption: TriesOf(victim) = kTriesMax; return;
    default: try_again();
  }
}

int& VictimSearch::TriesOf(const Victim& victim) {
  Tries& tries = tries_[victim.zone];
  if (tries.incarnation != victim.incarnation) tries = {.incarnation = victim.incarnation};
  return tries.failed;
}

ReclaimVerdict VictimSearch::Verdict(bool can_commit) {
  // Of two devices, a log zone can't help data.
  const bool log_helps = need_.victims != VictimZones::kData;
  const std::span<const LogZoneStatus> log_zones = log_helps ? log_.zones : std::span<const LogZoneStatus>();
  const bool any = !busy_.empty() || costs_unknown_ || AnyGarbagePending(zones_, log_zones, block_size_) ||
                   (log_helps && AnyInTransit(zones_, log_));
  const bool lacks_room =
      need_.victims == VictimZones::kLog && std::ranges::any_of(victims_, [&](const Victim& victim) {
        return victim.kind == Victim::Kind::kLog && victim.copies > need_.room;
      });
  busy_.clear();
  return {.version = need_.version,
          .urgency = need_.urgency,
          .victims = need_.victims,
          .pending = any && can_commit,
          .lacks_room = lacks_room,
          .until = SteadyNow() + kSearchAgain};
}

}  // namespace zenfs
