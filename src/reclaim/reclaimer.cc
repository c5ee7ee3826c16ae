#include "reclaim/reclaimer.h"

#include <algorithm>

#include "base/sync_point.h"
#include "reclaim/victim.h"

namespace zenfs {
namespace {

// How soon to come back to what is busy.
constexpr std::chrono::milliseconds kSoon{10};
constexpr std::chrono::milliseconds kLater{200};
constexpr std::chrono::milliseconds kLongestPause{50};
constexpr int kPauseFactor = 3;
// Whether the source can't be read, or a copy or a commit was refused, an error does not say: the first stays so, and each try
// writes copies for nothing.
constexpr int kTriesMax = 3;

}  // namespace

void Reclaimer::Start() {
  thread_ = Thread("zenfs-reclaim", [this] { Run(); });
}

void Reclaimer::Run() {
  bool again = false;
  while (!env_.zones->stopped()) {
    const std::optional<ReclaimNeed> need =
        env_.zones->AwaitReclaimNeed(again ? Deadline::After(kLater) : Deadline::Never());
    again = env_.finish_up();
    if (need) Empty(*need);
  }
}

void Reclaimer::Empty(const ReclaimNeed& need) {
  const std::vector<ZoneStatus> zones = env_.zones->Zones();
  std::set<ZoneId> skip = busy_;
  for (const auto& [zone, tries] : tries_) {
    if (tries.failed >= kTriesMax && tries.life == zones[zone.value].life) skip.insert(zone);
  }
  const std::optional<ZoneId> victim = ChooseVictim(zones, need, skip);
  if (!victim) {
    if (busy_.empty()) {
      env_.zones->ReclaimFoundNothing(need.urgency);
    } else {
      SleepUntil(SteadyNow() + (need.urgency == ReclaimUrgency::kUrgent ? kSoon : kLater));
    }
    busy_.clear();
    return;
  }
  urgent_.store(need.urgency == ReclaimUrgency::kUrgent, std::memory_order_relaxed);
  Note(zones[victim->value], need.urgency, env_.empty_zone(*victim));
  SyncPoint::Reach("reclaim:zone-done");
}

int& Reclaimer::TriesOf(const ZoneStatus& zone) {
  Tries& tries = tries_[zone.id];
  if (tries.life != zone.life) tries = {.life = zone.life};
  return tries.failed;
}

void Reclaimer::Note(const ZoneStatus& zone, ReclaimUrgency urgency, const Status& emptied) {
  const auto try_again = [&] {
    if (++TriesOf(zone) < kTriesMax) busy_.insert(zone.id);
  };
  if (emptied) {
    // A writer committed what it had there; or no file owns it, and then the accounting is wrong for this mount.
    if (env_.zones->Zone(zone.id).live != 0) try_again();
    return;
  }
  switch (emptied.error().code()) {
    case Code::kBusy:
    case Code::kTimedOut: busy_.insert(zone.id); return;
    // Trying on would fill the device with copies that nothing points to.
    case Code::kReadOnly:  // nothing can be committed any more
    case Code::kNoSpace: env_.zones->ReclaimFoundNothing(urgency); return;
    case Code::kCorruption: TriesOf(zone) = kTriesMax; return;
    default: try_again();
  }
}

void Reclaimer::Pause(std::chrono::nanoseconds piece) const {
  if (urgent_.load(std::memory_order_relaxed)) return;
  SleepUntil(SteadyNow() + std::min<std::chrono::nanoseconds>(piece * kPauseFactor, kLongestPause));
}

}  // namespace zenfs
