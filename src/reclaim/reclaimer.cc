#include "reclaim/reclaimer.h"

#include <algorithm>

#include "base/sync_point.h"

namespace zenfs {
namespace {

// Time until busy or pending garbage is looked at again: if space is urgent, and otherwise.
constexpr std::chrono::milliseconds kSoon{10};
constexpr std::chrono::milliseconds kLater{200};
constexpr std::chrono::milliseconds kLongestPause{50};
constexpr int kPauseFactor = 3;

}  // namespace

Reclaimer::Reclaimer(ZoneManager& zones, LogSpace& log, const CommitPath& commits, ZoneMover& mover)
    : zones_(zones),
      log_(log),
      commits_(commits),
      mover_(mover),
      search_(zones.device().geometry().block_size) {}

Status Reclaimer::Start() {
  ZENFS_ASSIGN_OR_RETURN(thread_, Thread::Start("zenfs-reclaim", [this] { Run(); }));
  return {};
}

void Reclaimer::Run() {
  bool again = false;
  while (!zones_.stopped()) {
    if (again) ComeBackAfter(kLater);
    const std::optional<ReclaimNeed> need =
        zones_.AwaitReclaimNeed(come_back_ ? Deadline::After(*come_back_ - SteadyNow()) : Deadline::Never());
    again = mover_.RetryPending();
    // Not before: of two devices, only one may have got a verdict meanwhile.
    if (come_back_ && SteadyNow() >= *come_back_) come_back_.reset();
    if (need) Reclaim(*need);
  }
}

void Reclaimer::ComeBackAfter(std::chrono::milliseconds pause) {
  const SteadyTime at = SteadyNow() + pause;
  come_back_ = come_back_ ? std::min(*come_back_, at) : at;
}

void Reclaimer::Reclaim(const ReclaimNeed& need) {
  LogView log = mover_.LookAtLog();
  search_.Begin(need, std::move(log), zones_.Zones());
  const std::optional<Victim> victim =
      search_.Choose([this](ZoneId zone) { return mover_.IsHeld(zone); },
                     [this](const Victim& each) { return mover_.RestatedBytes(each); });
  if (victim) {
    ReclaimPace pace(zones_, need.urgency);
    const Status emptied = mover_.Empty(*victim, [&](std::chrono::nanoseconds piece) { pace.Pause(piece); });
    search_.Note(*victim, emptied, emptied.ok() && IsEmptied(*victim));
    SyncPoint::Reach("Reclaimer::Reclaim:emptied");
    return;
  }
  if (TakeFromLog(need)) return;
  const ReclaimVerdict verdict = search_.Verdict(commits_.health().ok());
  if (verdict.pending) ComeBackAfter(need.urgency == ReclaimUrgency::kUrgent ? kSoon : kLater);
  zones_.SetReclaimVerdict(verdict);
}

// No victim was found: what the log has beyond its least may help.
bool Reclaimer::TakeFromLog(const ReclaimNeed& need) {
  if (need.urgency != ReclaimUrgency::kUrgent || need.victims != VictimZones::kAll) return false;
  // With an unused log zone the room may grow, so that a victim fits.
  if (!need.headroom_whole()) return log_.supply().ReleaseUnwritten();
  const bool reduced = zones_.ReduceLogShare();
  return log_.supply().ReleaseUnwritten(LogZones::Unwritten::kSpare) || reduced;
}

// True if the zone has no live data, or, for an active victim, if it is finished; it is emptied next then.
bool Reclaimer::IsEmptied(const Victim& victim) const {
  const ZoneStatus zone = zones_.Zone(victim.zone);
  if (victim.kind == Victim::Kind::kActive) return zone.phase != ZonePhase::kActive;
  if (victim.kind == Victim::Kind::kData || zone.phase != ZonePhase::kLog) return zone.live == 0;
  return std::ranges::none_of(mover_.LookAtLog().zones, [&](const LogZoneStatus& each) {
    return each.zone == victim.zone && each.live.device_bytes != 0;
  });
}

void ReclaimPace::Pause(std::chrono::nanoseconds piece) {
  urgent_ = urgent_ || zones_.reclaim_presses();
  if (urgent_) return;
  SleepUntil(SteadyNow() + std::min<std::chrono::nanoseconds>(piece * kPauseFactor, kLongestPause));
}

}  // namespace zenfs
