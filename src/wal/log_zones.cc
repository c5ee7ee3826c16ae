#include "wal/log_zones.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

namespace zenfs {
namespace {

FrameSeed SeedOfLogZone(const Uuid& volume, const LogZone& allocation) {
  return FrameSeed::Of(volume, allocation.zone, allocation.generation, allocation.salt);
}

template <typename Zones, typename State>
bool IsAny(const Zones& zones, State state) {
  return std::ranges::any_of(zones, [&](const auto& entry) { return entry.second.state == state; });
}

}  // namespace

void LogZones::Add(const LogZone& allocated, std::uint64_t capacity, std::uint64_t written, bool writable) {
  MutexLock lock(mutex_);
  Zone zone{.allocation = allocated, .capacity = capacity, .written = written};
  if (!writable || written >= capacity) {
    zone.state = State::kClosed;
  } else if (written > 0) {
    ready_.push_front(allocated.zone);
  } else {
    ready_.push_back(allocated.zone);
  }
  zones_.insert_or_assign(allocated.zone, zone);
  newest_generation_ = std::max(newest_generation_, allocated.generation);
}

std::vector<ZoneId> LogZones::CloseSpares() {
  MutexLock lock(mutex_);
  const auto room = [this](ZoneId id) {
    mutex_.AssertHeld();
    const Zone& zone = zones_.at(id);
    return zone.written == 0 ? 0 : zone.capacity - zone.written;
  };
  std::vector<ZoneId> spares;
  std::ranges::copy_if(ready_, std::back_inserter(spares), [&](ZoneId id) { return room(id) != 0; });
  std::ranges::sort(spares, std::greater(), room);
  if (!IsAny(zones_, State::kCurrent) && !spares.empty()) spares.erase(spares.begin());
  const std::set<ZoneId> closed(spares.begin(), spares.end());
  std::erase_if(ready_, [&](ZoneId id) { return closed.contains(id); });
  for (const ZoneId spare : spares) {
    zones_.at(spare).state = State::kClosed;
    zones_.at(spare).releasing = true;
  }
  return spares;
}

void LogZones::MayRelease() {
  MutexLock lock(mutex_);
  may_release_ = true;
}

void LogZones::Start() {
  MutexLock lock(mutex_);
  if (phase_ == Phase::kMounting) phase_ = Phase::kRunning;
  may_release_ = true;
  woken_ = true;  // first release zones that had no live frame at the mount
  wake_.NotifyAll();
}

void LogZones::Stop() {
  MutexLock lock(mutex_);
  phase_ = Phase::kStopped;
  wake_.NotifyAll();
}

LogZones::Phase LogZones::phase() const {
  MutexLock lock(mutex_);
  return phase_;
}

std::optional<LogCursor> LogZones::TakeReady(Use use) {
  MutexLock lock(mutex_);
  const auto next = use == Use::kFrames ? ready_.cbegin() : FindUnwritten();
  if (next == ready_.cend()) return std::nullopt;
  const ZoneId id = *next;
  Zone& zone = zones_.at(id);
  ready_.erase(next);
  zone.state = use == Use::kFrames ? State::kCurrent : State::kSyncs;
  woken_ = true;  // one ready zone fewer
  wake_.NotifyOne();
  return LogCursor{.zone = id,
                   .seed = SeedOfLogZone(volume_, zone.allocation),
                   .at = device_.geometry().ZoneStart(id) + zone.written,
                   .room = zone.capacity - zone.written};
}

void LogZones::NoteWritten(ZoneId id, std::uint64_t bytes, LiveFrames live) {
  {
    MutexLock lock(mutex_);
    Zone& zone = zones_.at(id);
    zone.written += bytes;
    zone.live += live;
    if (zone.written < zone.capacity) return;
  }
  Close(id);
}

void LogZones::Close(ZoneId zone) {
  MutexLock lock(mutex_);
  zones_.at(zone).state = State::kClosed;
  manager_.reclaim().NoteChange();  // it may be a victim now
  woken_ = true;
  wake_.NotifyOne();
}

Status LogZones::MayGoOn() const {
  MutexLock lock(mutex_);
  if (!health_.ok()) return health_;
  if (phase_ != Phase::kStopped) return {};
  return Fail(Code::kShutdown, device_.name() + ": is being unmounted");
}

void LogZones::AddLive(ZoneId zone, LiveFrames frames) {
  MutexLock lock(mutex_);
  if (const auto it = zones_.find(zone); it != zones_.end()) it->second.live += frames;
}

void LogZones::RemoveLive(ZoneId zone, LiveFrames frames) {
  MutexLock lock(mutex_);
  const auto it = zones_.find(zone);
  if (it == zones_.end()) return;
  it->second.live -= frames;
  if (it->second.state != State::kClosed) return;
  manager_.reclaim().NoteChange();
  if (it->second.live.device_bytes > it->second.written / 2) return;
  woken_ = true;
  wake_.NotifyOne();
}

std::optional<FrameSeed> LogZones::SeedOf(ZoneId zone) const {
  MutexLock lock(mutex_);
  const auto it = zones_.find(zone);
  if (it == zones_.end()) return std::nullopt;
  return SeedOfLogZone(volume_, it->second.allocation);
}

std::uint64_t SpareBytes(std::span<const LogZoneStatus> zones) {
  std::uint64_t bytes = 0, one = 0;
  bool another = false;
  for (const LogZoneStatus& zone : zones) {
    if (!zone.writable) continue;
    if (zone.written != 0) {
      another = true;
    } else {
      bytes += zone.capacity;
      one = std::max(one, zone.capacity);
    }
  }
  return another ? bytes : bytes - one;
}

std::vector<LogZoneStatus> LogZones::Zones() const {
  MutexLock lock(mutex_);
  std::vector<LogZoneStatus> zones;
  for (const auto& [id, zone] : zones_) {
    zones.push_back(
        {.zone = id,
         .generation = zone.allocation.generation,
         .capacity = zone.capacity,
         .written = zone.written,
         .live = zone.live,
         .closed = zone.state == State::kClosed,
         .writable = !zone.releasing && (zone.state == State::kReady || zone.state == State::kCurrent),
         .held = zone.releasing,
         .young = newest_generation_ - zone.allocation.generation < survival_});
  }
  return zones;
}

void LogZones::NoteCleaning(ZoneId zone) {
  MutexLock lock(mutex_);
  if (const auto it = zones_.find(zone); it != zones_.end()) it->second.cleaned = true;
}

std::vector<ZoneId> LogZones::TakeDead() {
  MutexLock lock(mutex_);
  std::vector<ZoneId> dead;
  if (!may_release_ || phase_ == Phase::kStopped || !health_.ok()) return dead;
  for (auto& [id, zone] : zones_) {
    if (zone.state != State::kClosed || zone.live.device_bytes != 0 || zone.releasing) continue;
    if (manager_.Zone(id).pins != 0) continue;  // of readers of frames that were moved
    zone.releasing = true;
    dead.push_back(id);
  }
  return dead;
}

std::optional<ZoneId> LogZones::TakeUnwritten(Unwritten which) {
  MutexLock lock(mutex_);
  if (which == Unwritten::kSpare && ready_.size() + (IsAny(zones_, State::kCurrent) ? 1 : 0) <= 1)
    return std::nullopt;
  if (phase_ == Phase::kStopped || !health_.ok()) return std::nullopt;
  const auto it = FindUnwritten();
  if (it == ready_.cend()) return std::nullopt;
  const ZoneId zone = *it;
  ready_.erase(it);
  zones_.at(zone).releasing = true;
  return zone;
}

std::deque<ZoneId>::const_iterator LogZones::FindUnwritten() const {
  return std::ranges::find_if(ready_, [&](ZoneId id) {
    mutex_.AssertHeld();
    return zones_.at(id).written == 0;
  });
}

void LogZones::EndRelease(ZoneId id, bool released) {
  MutexLock lock(mutex_);
  Zone& zone = zones_.at(id);
  if (!released) {
    zone.releasing = false;
    if (zone.state == State::kReady) ready_.push_back(id);
    return;
  }
  if (zone.state == State::kClosed && !zone.cleaned) {
    const std::uint64_t age = newest_generation_ - zone.allocation.generation;
    survival_ = (3 * survival_ + age) / 4;
  }
  zones_.erase(id);
}

void LogZones::NoteRefusal(const Error& error) {
  if (error.code() != Code::kReadOnly) return;
  MutexLock lock(mutex_);
  health_ = Fail(error);
}

bool LogZones::IsShortOf(std::size_t ready_target) const {
  MutexLock lock(mutex_);
  return phase_ != Phase::kStopped && ready_.size() < ready_target;
}

bool LogZones::AwaitWork(std::size_t ready_target, std::chrono::milliseconds pause) {
  MutexLock lock(mutex_);
  while (phase_ != Phase::kStopped &&
         (phase_ == Phase::kMounting || !health_.ok() || (!woken_ && ready_.size() >= ready_target)))
    wake_.Wait(mutex_);
  if (phase_ != Phase::kStopped && !woken_ && pause != pause.zero()) {
    static_cast<void>(wake_.WaitUntil(mutex_, Deadline::After(pause)));
  }
  woken_ = false;
  return phase_ != Phase::kStopped;
}

void LogZones::Wake() {
  MutexLock lock(mutex_);
  woken_ = true;
  wake_.NotifyOne();
}

}  // namespace zenfs
