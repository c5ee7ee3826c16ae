#include "wal/log_zones.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "zone/spread.h"

namespace zenfs {
namespace {

FrameSeed SeedOfLogZone(const Uuid& volume, const LogZone& allocation) {
  return FrameSeed::Of(volume, allocation.zone, allocation.generation, allocation.salt);
}

}  // namespace

void LogZones::AddGroup(std::span<const LogZone> group) {
  MutexLock lock(mutex_);
  for (const LogZone& zone : group) AddLocked(zone, manager_.Zone(zone.zone).capacity, 0, true);
}

void LogZones::Add(const LogZone& allocated, std::uint64_t capacity, std::uint64_t written, bool writable) {
  MutexLock lock(mutex_);
  AddLocked(allocated, capacity, written, writable);
}

void LogZones::AddLocked(const LogZone& allocated, std::uint64_t capacity, std::uint64_t written,
                         bool writable) {
  Zone zone{.allocation = allocated, .capacity = capacity, .written = written};
  if (!writable || written >= capacity) {
    zone.state = State::kClosed;
  } else {
    ready_.insert(ReadyOf(zone));
  }
  zones_.insert_or_assign(allocated.zone, zone);
  newest_generation_ = std::max(newest_generation_, allocated.generation);
}

LogZones::ReadyZone LogZones::ReadyOf(const Zone& zone) {
  return {zone.written == 0, zone.allocation.generation, zone.allocation.zone};
}

std::vector<ZoneId> LogZones::CloseSpares() {
  MutexLock lock(mutex_);
  std::map<std::uint64_t, std::uint64_t> room_of;  // of each group
  for (const ReadyZone& ready : ready_) {
    const Zone& zone = zones_.at(ready.zone);
    room_of[ready.generation] += ready.unwritten ? 0 : zone.capacity - zone.written;
  }
  const auto roomiest = std::ranges::max_element(room_of, {}, [](const auto& entry) { return entry.second; });
  const std::uint64_t kept = !current_.empty()           ? zones_.at(current_.front()).allocation.generation
                             : roomiest != room_of.end() ? roomiest->first
                                                         : 0;
  std::vector<ZoneId> spares;
  std::size_t written = current_.size();
  std::erase_if(ready_, [&](const ReadyZone& ready) {
    if (ready.unwritten) return false;
    // A group is larger than the limit if the device had other limits when it was written.
    if (ready.generation == kept && written != group_) {
      ++written;
      return false;
    }
    spares.push_back(ready.zone);
    return true;
  });
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

std::optional<LogCursor> LogZones::TakeNext() {
  MutexLock lock(mutex_);
  if (current_.empty()) {
    if (ready_.empty()) return std::nullopt;
    const std::uint64_t generation = ready_.begin()->generation;
    for (const bool unwritten : {false, true}) {
      // The group is larger than the limit if the device had other limits when it was allocated.
      for (auto next = ready_.lower_bound({unwritten, generation, ZoneId(0)});
           next != ready_.end() && next->unwritten == unwritten && next->generation == generation &&
           current_.size() != group_;
           next = ready_.erase(next)) {
        zones_.at(next->zone).state = State::kCurrent;
        current_.push_back(next->zone);
      }
    }
    woken_ = true;  // fewer ready zones
    wake_.NotifyOne();
  }
  const ZoneId next = current_.front();
  current_.pop_front();
  current_.push_back(next);
  return CursorOf(next);
}

std::optional<LogCursor> LogZones::TakeForSyncs() {
  MutexLock lock(mutex_);
  const auto next = FindUnwritten();
  if (next == ready_.cend()) return std::nullopt;
  const ZoneId id = next->zone;
  ready_.erase(next);
  zones_.at(id).state = State::kSyncs;
  woken_ = true;  // one ready zone fewer
  wake_.NotifyOne();
  return CursorOf(id);
}

LogCursor LogZones::CursorOf(ZoneId id) const {
  const Zone& zone = zones_.at(id);
  const std::uint64_t room = zone.capacity - zone.written;
  return {.zone = id,
          .seed = SeedOfLogZone(volume_, zone.allocation),
          .at = device_.geometry().ZoneStart(id) + zone.written,
          .room = room,
          .unit_left = current_.size() > 1 ? SpreadUnit(device_.geometry()) : room};
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
  std::erase(current_, zone);
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

std::uint64_t SpareBytes(std::span<const LogZoneStatus> zones, std::uint32_t group) {
  std::set<std::uint64_t> begun;  // groups that are written
  for (const LogZoneStatus& zone : zones)
    if (zone.writable && (zone.current || zone.written != 0)) begun.insert(zone.generation);
  std::vector<std::uint64_t> unwritten;  // capacities
  for (const LogZoneStatus& zone : zones)
    if (zone.writable && !begun.contains(zone.generation)) unwritten.push_back(zone.capacity);
  std::ranges::sort(unwritten, std::greater());
  const std::size_t writable =
      unwritten.size() - (begun.empty() ? std::min<std::size_t>(group, unwritten.size()) : 0);
  // What the log lacks of a group is kept for it.
  const std::size_t spare = std::min(writable, zones.size() - std::min<std::size_t>(group, zones.size()));
  return std::accumulate(unwritten.end() - static_cast<std::ptrdiff_t>(spare), unwritten.end(),
                         std::uint64_t{0});
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
         .current = zone.state == State::kCurrent,
         .held = zone.releasing,
         .young = newest_generation_ - zone.allocation.generation < survival_});
  }
  return zones;
}

void LogZones::NoteCleaning(std::span<const ZoneId> zones) {
  MutexLock lock(mutex_);
  for (const ZoneId zone : zones) {
    if (const auto it = zones_.find(zone); it != zones_.end()) it->second.cleaned = true;
  }
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
  if (which == Unwritten::kSpare && !HasSpare()) return std::nullopt;
  if (phase_ == Phase::kStopped || !health_.ok()) return std::nullopt;
  const auto it = FindUnwritten();
  if (it == ready_.cend()) return std::nullopt;
  const ZoneId zone = it->zone;
  ready_.erase(it);
  zones_.at(zone).releasing = true;
  return zone;
}

bool LogZones::HasSpare() const {
  if (!current_.empty() || ready_.size() > group_) return true;
  return !ready_.empty() && !ready_.begin()->unwritten;
}

std::set<LogZones::ReadyZone>::const_iterator LogZones::FindUnwritten() const {
  return ready_.lower_bound({true, 0, ZoneId(0)});
}

void LogZones::EndRelease(ZoneId id, bool released) {
  MutexLock lock(mutex_);
  Zone& zone = zones_.at(id);
  if (!released) {
    zone.releasing = false;
    if (zone.state == State::kReady) ready_.insert(ReadyOf(zone));
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
