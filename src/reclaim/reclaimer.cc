#include "reclaim/reclaimer.h"

#include <algorithm>
#include <utility>

#include "base/sync_point.h"

namespace zenfs {
namespace {

// Time until busy or pending garbage is looked at again: if space is urgent, and otherwise.
constexpr std::chrono::milliseconds kSoon{10};
constexpr std::chrono::milliseconds kLater{200};
constexpr std::chrono::milliseconds kLongestPause{50};
// Time between two searches in vain while space is not short.
constexpr std::chrono::milliseconds kSearchAgain{100};
constexpr int kPauseFactor = 3;
// Limit of failed attempts for each zone. The error does not tell whether the source is unreadable, which is
// permanent, or a copy or commit failed, which may pass. Each attempt writes copies.
constexpr int kTriesMax = 3;
// How many victims a search may ask for what they restate. If all were of one file, the search would look at each of its extents or
// frames for each of its zones.
constexpr int kCostsASearch = 32;

bool IsCostUnknown(const Victim& victim) { return victim.kind != Victim::Kind::kActive && !victim.restated; }

// True if a zone is on its way from the pool to the log, or back.
bool AnyInTransit(std::span<const ZoneStatus> zones, const ReclaimTarget::LogView& log) {
  const auto lent = std::ranges::count(zones, ZonePhase::kLog, &ZoneStatus::phase);
  return log.complete && std::cmp_greater(lent, log.zones.size());
}

}  // namespace

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

Status Reclaimer::Start() {
  ZENFS_ASSIGN_OR_RETURN(thread_, Thread::Start("zenfs-reclaim", [this] { Run(); }));
  return {};
}

void Reclaimer::Run() {
  bool again = false;
  while (!zones_.reclaim().stopped()) {
    if (again) ComeBackAfter(kLater);
    const std::optional<ReclaimNeed> need = zones_.reclaim().AwaitNeed(
        come_back_ ? Deadline::After(*come_back_ - SteadyNow()) : Deadline::Never());
    again = target_.FinishUp();
    // Not before: of two devices, only one may have got a verdict meanwhile.
    if (come_back_ && SteadyNow() >= *come_back_) come_back_.reset();
    if (need) Reclaim(*need);
  }
}

void Reclaimer::ComeBackAfter(std::chrono::milliseconds pause) {
  const SteadyTime at = SteadyNow() + pause;
  come_back_ = come_back_ ? std::min(*come_back_, at) : at;
}

Reclaimer::Search Reclaimer::Look() const {
  Search search;
  search.log = target_.LookAtLog();
  search.zones = zones_.Zones();
  search.victims = DataVictims(search.zones);
  std::ranges::move(LogVictims(search.log.zones, search.log.files, search.zones, block_size_),
                    std::back_inserter(search.victims));
  return search;
}

void Reclaimer::Reclaim(const ReclaimNeed& need) {
  if (refused_at_ != need.version) refused_.clear();
  refused_at_ = need.version;
  Search search = Look();
  AddKnownCosts(search);
  const std::optional<Victim> victim = Choose(search, need);
  if (!victim) {
    if (!TakeFromLog(need)) GiveVerdict(search, need);
    return;
  }
  urgent_ = need.urgency >= ReclaimUrgency::kAhead;
  Note(*victim, target_.Empty(*victim, [this](std::chrono::nanoseconds piece) { Pause(piece); }));
  SyncPoint::Reach("reclaim:zone-done");
}

// No victim was found: what the log has beyond its least may help.
bool Reclaimer::TakeFromLog(const ReclaimNeed& need) {
  if (need.urgency != ReclaimUrgency::kUrgent || need.victims != VictimZones::kAll) return false;
  // With an unused log zone the room may grow, so that a victim fits.
  if (!need.headroom_whole()) return target_.BorrowLogZone();
  const bool yields = zones_.reclaim().YieldLogZone();
  return target_.ReturnSpareLogZone() || yields;
}

void Reclaimer::AddKnownCosts(Search& search) {
  std::map<ZoneId, Cost> known;
  known.swap(costs_);
  if (known.empty()) return;
  for (Victim& victim : search.victims) {
    const auto it = known.find(victim.zone);
    if (it == known.end() || it->second.incarnation != victim.incarnation ||
        it->second.copies != victim.copies)
      continue;
    victim.restated = it->second.restated;
    costs_.insert(known.extract(it));
  }
}

std::optional<Victim> Reclaimer::Choose(Search& search, const ReclaimNeed& need) {
  std::set<ZoneId> skip = busy_;
  skip.insert(refused_.begin(), refused_.end());
  for (const Victim& victim : search.victims) {
    const auto it = tries_.find(victim.zone);
    if (it == tries_.end() || it->second.incarnation != victim.incarnation) continue;
    if (it->second.failed >= kTriesMax) skip.insert(victim.zone);
  }
  costs_unknown_ = false;
  // An unknown cost counts as none, so the first victim that is the best with its cost is the best of all.
  for (int asked = 0;;) {
    const std::optional<Victim> victim = ChooseVictim(search.victims, need, skip, block_size_);
    if (!victim) return std::nullopt;
    if (target_.IsHeld(victim->zone)) {
      busy_.insert(victim->zone);
      skip.insert(victim->zone);
      continue;
    }
    if (!IsCostUnknown(*victim)) return victim;
    if (asked++ == kCostsASearch) {
      if (need.urgency >= ReclaimUrgency::kAhead) return victim;
      costs_unknown_ = true;
      for (const Victim& each : search.victims) {
        if (IsCostUnknown(each)) skip.insert(each.zone);
      }
      continue;
    }
    const auto same = [&](const Victim& each) { return each.zone == victim->zone; };
    Victim& found = *std::ranges::find_if(search.victims, same);
    found.restated = target_.RestatedBytes(found);
    costs_[found.zone] = {found.incarnation, found.copies, *found.restated};
  }
}

void Reclaimer::GiveVerdict(const Search& search, const ReclaimNeed& need) {
  // Of two devices, a log zone can't help data.
  const bool log_helps = need.victims != VictimZones::kData;
  const std::span<const LogZoneStatus> log_zones =
      log_helps ? search.log.zones : std::span<const LogZoneStatus>();
  const bool any = !busy_.empty() || costs_unknown_ ||
                   AnyGarbagePending(search.zones, log_zones, block_size_) ||
                   (log_helps && AnyInTransit(search.zones, search.log));
  const bool lacks_room =
      need.victims == VictimZones::kLog && std::ranges::any_of(search.victims, [&](const Victim& victim) {
        return victim.kind == Victim::Kind::kLog && victim.copies > need.room;
      });
  const bool pending = any && target_.CanCommit();
  if (pending) ComeBackAfter(need.urgency == ReclaimUrgency::kUrgent ? kSoon : kLater);
  zones_.reclaim().SetVerdict({.version = need.version,
                               .urgency = need.urgency,
                               .victims = need.victims,
                               .pending = pending,
                               .lacks_room = lacks_room,
                               .until = SteadyNow() + kSearchAgain});
  busy_.clear();
}

int& Reclaimer::TriesOf(const Victim& victim) {
  Tries& tries = tries_[victim.zone];
  if (tries.incarnation != victim.incarnation) tries = {.incarnation = victim.incarnation};
  return tries.failed;
}

// True if the zone has no live data, or, for an active victim, if it is finished; it is emptied next then.
bool Reclaimer::IsEmptied(const Victim& victim) const {
  const ZoneStatus zone = zones_.Zone(victim.zone);
  if (victim.kind == Victim::Kind::kActive) return zone.phase != ZonePhase::kActive;
  if (victim.kind == Victim::Kind::kData || zone.phase != ZonePhase::kLog) return zone.live == 0;
  const ReclaimTarget::LogView log = target_.LookAtLog();
  return std::ranges::none_of(log.zones, [&](const LogZoneStatus& each) {
    return each.zone == victim.zone && each.live.device_bytes != 0;
  });
}

void Reclaimer::Note(const Victim& victim, const Status& emptied) {
  const auto try_again = [&] {
    if (++TriesOf(victim) < kTriesMax) busy_.insert(victim.zone);
  };
  if (emptied.ok()) {
    // Either a writer committed data there meanwhile, or the live count is wrong and no file owns the bytes.
    if (!IsEmptied(victim)) try_again();
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

void Reclaimer::Pause(std::chrono::nanoseconds piece) {
  urgent_ = urgent_ || zones_.reclaim().presses();
  if (urgent_) return;
  SleepUntil(SteadyNow() + std::min<std::chrono::nanoseconds>(piece * kPauseFactor, kLongestPause));
}

}  // namespace zenfs
