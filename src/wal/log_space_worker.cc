// The background part of LogSpace: zones made ready ahead of use, dead ones released.
#include <algorithm>

#include "base/sync_point.h"
#include "wal/log_space.h"

namespace zenfs {
namespace {

// How long to wait for an empty zone before dead ones are looked for again.
constexpr std::chrono::milliseconds kRetryAfter{200};
// A zone is worth cleaning, though space is not short, when at most this share of it is live.
constexpr std::uint64_t kLivePercent = 25;
// Once log zones hold more than this share of the device in dead frames and padding, padding counts as dead too, and so
// does less of it.
constexpr std::uint64_t kWastePercentMax = 25;
constexpr std::uint64_t kLivePercentOfWaste = 75;

}  // namespace

void LogSpace::Work() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (!stopping_ && (!health_.ok() || (!poked_ && ready_.size() >= env_.reserve_target)))
        wake_.Wait(mutex_);
      if (!stopping_ && !poked_ && short_of_space_) {
        static_cast<void>(wake_.WaitUntil(mutex_, Deadline::After(kRetryAfter)));
      }
      if (stopping_) return;
      poked_ = false;
    }
    SyncPoint::Reach("LogSpace::Work");
    ReleaseDead();
    if (IsWorthCleaning()) env_.zones->AskToTidy();
    TopUp();
  }
}

bool LogSpace::IsWorthCleaning() const {
  const std::uint64_t total = env_.zones->Space().total;
  MutexLock lock(mutex_);
  std::uint64_t waste = 0;
  bool nearly_dead = false;
  bool padded = false;
  for (const auto& [id, zone] : zones_) {
    if (!zone.closed || zone.live.device_bytes == 0) continue;
    waste += zone.written - std::min(zone.written, zone.live.payload);
    nearly_dead = nearly_dead || zone.live.device_bytes * 100 <= zone.written * kLivePercent;
    padded = padded || zone.live.payload * 100 <= zone.written * kLivePercentOfWaste;
  }
  return nearly_dead || (padded && waste * 100 > total * kWastePercentMax);
}

Status LogSpace::ReserveOne(Deadline deadline) {
  {
    MutexLock lock(mutex_);
    ++in_transit_;
  }
  Status reserved = LendAndReserve(deadline);
  MutexLock lock(mutex_);
  --in_transit_;
  return reserved;
}

Status LogSpace::LendAndReserve(Deadline deadline) {
  bool borrow = false;
  {
    MutexLock lock(mutex_);
    borrow = !started_;
  }
  using Headroom = ZoneManager::Headroom;
  ZENFS_ASSIGN_OR_RETURN(const ZoneId zone,
                         env_.zones->LendLogZone(deadline, borrow ? Headroom::kBorrow : Headroom::kLeave));
  Result<LogZone> reserved = env_.reservations->Reserve(zone);
  if (!reserved) {
    env_.zones->ReturnLogZone(zone);
    NoteRefusal(reserved.error());
    return Fail(std::move(reserved).error());
  }
  const std::uint64_t capacity = env_.zones->Zone(zone).capacity;
  MutexLock lock(mutex_);
  zones_.insert_or_assign(zone, Zone{.reservation = *reserved, .capacity = capacity});
  newest_generation_ = std::max(newest_generation_, reserved->generation);
  ready_.push_back(zone);
  return {};
}

// Once the metadata log is read-only no zone is reserved or released any more, and copies are lost.
void LogSpace::NoteRefusal(const Error& error) {
  if (error.code() != Code::kReadOnly) return;
  MutexLock lock(mutex_);
  health_ = Fail(error);
}

void LogSpace::TopUp() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (stopping_ || ready_.size() >= env_.reserve_target) {
        short_of_space_ = false;
        return;
      }
    }
    // If there is none now, a sync that needs one reserves it itself, with a deadline and an error.
    if (ReserveOne(Deadline::After(kRetryAfter)).ok()) continue;
    MutexLock lock(mutex_);
    short_of_space_ = true;
    return;
  }
}

bool LogSpace::ReleaseDead() {
  std::vector<ZoneId> dead;
  {
    MutexLock lock(mutex_);
    if (!may_release_ || stopping_ || !health_.ok()) return false;
    for (auto& [id, zone] : zones_) {
      if (!zone.closed || zone.live.device_bytes != 0 || zone.releasing) continue;
      if (env_.zones->Zone(id).pins != 0) continue;  // of readers of frames that were moved
      zone.releasing = true;
      dead.push_back(id);
    }
    in_transit_ += static_cast<int>(dead.size());
  }
  bool any = false;
  for (const ZoneId id : dead) {
    // If the commit fails the log is no longer written, and those who commit learn why.
    const Status released = env_.reservations->Release(id);
    if (!released.ok()) NoteRefusal(released.error());
    {
      MutexLock lock(mutex_);
      if (released.ok()) {
        NoteSurvival(zones_.at(id));
        zones_.erase(id);
      } else {
        zones_.at(id).releasing = false;
      }
    }
    if (released.ok()) env_.zones->ReturnLogZone(id);
    any = any || released.ok();
    MutexLock lock(mutex_);
    --in_transit_;
  }
  return any;
}

void LogSpace::NoteSurvival(const Zone& zone) {
  if (zone.cleaned) return;
  const std::uint64_t age = newest_generation_ - zone.reservation.generation;
  survival_ = (3 * survival_ + age) / 4;
}

std::vector<LogZoneStatus> LogSpace::Zones() const {
  MutexLock lock(mutex_);
  std::vector<LogZoneStatus> zones;
  for (const auto& [id, zone] : zones_) {
    zones.push_back({.zone = id,
                     .generation = zone.reservation.generation,
                     .capacity = zone.capacity,
                     .written = zone.written,
                     .live = zone.live,
                     .closed = zone.closed,
                     .held = zone.releasing,
                     .young = newest_generation_ - zone.reservation.generation < survival_});
  }
  return zones;
}

void LogSpace::NoteCleaning(ZoneId zone) {
  MutexLock lock(mutex_);
  if (const auto it = zones_.find(zone); it != zones_.end()) it->second.cleaned = true;
}

bool LogSpace::GiveBackReady() {
  ZoneId zone;
  {
    MutexLock lock(mutex_);
    if (stopping_ || !health_.ok()) return false;
    const auto it = std::ranges::find_if(ready_, [&](ZoneId id) {
      mutex_.AssertHeld();
      return zones_.at(id).written == 0;
    });
    if (it == ready_.end()) return false;
    zone = *it;
    ready_.erase(it);
    zones_.at(zone).releasing = true;
  }
  const Status released = env_.reservations->Release(zone);
  if (!released.ok()) NoteRefusal(released.error());
  MutexLock lock(mutex_);
  if (!released.ok()) {
    zones_.at(zone).releasing = false;
    ready_.push_back(zone);
    return false;
  }
  zones_.erase(zone);
  env_.zones->ReturnLogZone(zone);
  return true;
}

}  // namespace zenfs
