#include "wal/log_zones.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

#include "base/assert.h"
#include "base/sync_point.h"
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
    ZENFS_ASSERT(zone.state == State::kCurrent && bytes <= zone.capacity - zone.written);
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
  manager_.NoteReclaimChange();  // it may be a victim now
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
  ZENFS_ASSERT(frames.device_bytes <= it->second.live.device_bytes &&
               frames.payload <= it->second.live.payload);
  it->second.live -= frames;
  if (it->second.state != State::kClosed) return;
  manager_.NoteReclaimChange();
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
  ZENFS_ASSERT(zone.releasing && (!released || zone.live.device_bytes == 0));
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

// --- allocation and release ---

namespace {

// Time to wait for an empty zone before the next search for dead ones.
constexpr std::chrono::milliseconds kRetryAfter{200};
// Zones in one commit. After a mount, all log zones of a volume may be dead.
constexpr std::size_t kReleasedAtOnce = 1024;
// Even if space is not short, a zone is worth cleaning when at most this share of it is live.
constexpr std::uint64_t kLivePercent = 25;
// If dead frames and padding in log zones exceed this share of the device, a zone is worth cleaning when
// its payload is at most the share below.
constexpr std::uint64_t kWastePercentMax = 25;
constexpr std::uint64_t kLivePercentOfWaste = 75;

// `total`: bytes of the zones that the log may take.
bool IsWorthCleaning(std::span<const LogZoneStatus> zones, std::uint64_t total) {
  std::uint64_t waste = 0;
  bool nearly_dead = false;
  bool padded = false;
  for (const LogZoneStatus& zone : zones) {
    if (!zone.closed || zone.live.device_bytes == 0) continue;
    waste += zone.written - std::min(zone.written, zone.live.payload);
    nearly_dead = nearly_dead || zone.live.device_bytes * 100 <= zone.written * kLivePercent;
    padded = padded || zone.live.payload * 100 <= zone.written * kLivePercentOfWaste;
  }
  return nearly_dead || (padded && waste * 100 > total * kWastePercentMax);
}

}  // namespace

// Counts a thread in in_transit_ while it exists. Make it before the thread takes a zone from LogZones:
// then a thread that does not find the zone there finds this thread counted.
class LogZoneSupply::Transit {
 public:
  explicit Transit(std::atomic<int>& count) : count_(count) {
    count_.fetch_add(1, std::memory_order_acq_rel);
  }
  Transit(const Transit&) = delete;
  Transit& operator=(const Transit&) = delete;
  ~Transit() { count_.fetch_sub(1, std::memory_order_acq_rel); }

 private:
  std::atomic<int>& count_;
};

Status LogZoneSupply::Start() {
  ZENFS_ASSIGN_OR_RETURN(worker_, Thread::Start("zenfs-log", [this] { Work(); }));
  deps_.log_zones->Start();  // the new thread waits for this call
  return {};
}

void LogZoneSupply::Stop() {
  deps_.log_zones->Stop();
  worker_.Join();
}

void LogZoneSupply::Work() {
  bool short_of_space = false;  // the last AllocateGroup failed
  while (deps_.log_zones->AwaitWork(deps_.ready_target, short_of_space ? kRetryAfter : kRetryAfter.zero())) {
    SyncPoint::Reach("LogZoneSupply::Work");
    ReleaseDead();
    if (IsWorthCleaning(deps_.log_zones->Zones(), deps_.zones->Space().log_limit)) deps_.zones->AskToTidy();
    short_of_space = !TopUp();
  }
}

bool LogZoneSupply::TopUp() {
  while (deps_.log_zones->IsShortOf(deps_.ready_target)) {
    // If no zone is free, a sync that needs one calls AllocateGroup itself, with its own deadline, and returns
    // the error.
    if (!AllocateGroup(Deadline::After(kRetryAfter), LogZonePurpose::kAhead).ok()) return false;
  }
  return true;
}

Status LogZoneSupply::AllocateGroup(Deadline deadline, LogZonePurpose purpose) {
  const Transit transit(in_transit_);
  if (deps_.log_zones->phase() == LogZones::Phase::kMounting) purpose = LogZonePurpose::kMount;
  ZENFS_ASSIGN_OR_RETURN(const ZoneId first, deps_.zones->AllocateLogZone(deadline, purpose));
  std::vector<ZoneId> zones{first};
  if (purpose != LogZonePurpose::kMount)
    std::ranges::copy(deps_.zones->AllocateMoreLogZones(), std::back_inserter(zones));
  const Result<std::vector<LogZone>> allocated = deps_.allocations->Allocate(zones);
  if (!allocated) {
    for (const ZoneId zone : zones) deps_.zones->ReleaseLogZone(zone);
    deps_.log_zones->NoteRefusal(allocated.error());
    return Fail(allocated.error());
  }
  deps_.log_zones->AddGroup(*allocated);
  return {};
}

bool LogZoneSupply::ReleaseDead() {
  const Transit transit(in_transit_);
  bool any = false;
  const std::vector<ZoneId> dead = deps_.log_zones->TakeDead();
  for (std::size_t from = 0; from < dead.size(); from += kReleasedAtOnce) {
    const auto some = std::span(dead).subspan(from, std::min(kReleasedAtOnce, dead.size() - from));
    if (deps_.log_zones->phase() == LogZones::Phase::kStopped) {  // an unmount waits
      for (const ZoneId zone : some) deps_.log_zones->EndRelease(zone, false);
      continue;
    }
    any = Release(some) || any;
  }
  return any;
}

bool LogZoneSupply::ReleaseUnwritten(LogZones::Unwritten which) {
  const Transit transit(in_transit_);
  const std::optional<ZoneId> zone = deps_.log_zones->TakeUnwritten(which);
  return zone && Release(std::span(&*zone, 1));
}

bool LogZoneSupply::Release(std::span<const ZoneId> zones) {
  const Status released = deps_.allocations->Release(zones);
  // If the metadata log is read-only, writes to the log end too. Callers that commit get the reason.
  if (!released.ok()) deps_.log_zones->NoteRefusal(released.error());
  for (const ZoneId zone : zones) {
    deps_.log_zones->EndRelease(zone, released.ok());
    if (released.ok()) deps_.zones->ReleaseLogZone(zone);
  }
  return released.ok();
}

}  // namespace zenfs
