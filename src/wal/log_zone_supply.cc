#include "wal/log_zone_supply.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "base/sync_point.h"

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

// `total`: bytes of the device.
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

// Counts a thread in in_transit_ while it lives. Begun before the thread takes a zone from LogZones, so that who finds the
// zone taken finds the thread counted.
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
  deps_.log_zones->Start();  // the thread waits for it
  return {};
}

void LogZoneSupply::Stop() {
  deps_.log_zones->Stop();
  worker_.Join();
}

void LogZoneSupply::Work() {
  bool short_of_space = false;  // the last try to allocate a zone found none
  while (deps_.log_zones->AwaitWork(deps_.ready_target, short_of_space ? kRetryAfter : kRetryAfter.zero())) {
    SyncPoint::Reach("LogZoneSupply::Work");
    ReleaseDead();
    if (IsWorthCleaning(deps_.log_zones->Zones(), deps_.zones->Space().total)) deps_.zones->AskToTidy();
    short_of_space = !TopUp();
  }
}

bool LogZoneSupply::TopUp() {
  while (deps_.log_zones->IsShortOf(deps_.ready_target)) {
    // If there is none now, a sync that needs one allocates it itself, with a deadline and an error.
    if (!AllocateOne(Deadline::After(kRetryAfter)).ok()) return false;
  }
  return true;
}

Status LogZoneSupply::AllocateOne(Deadline deadline) {
  using Headroom = ZoneManager::Headroom;
  const Transit transit(in_transit_);
  const bool borrow = deps_.log_zones->phase() == LogZones::Phase::kMounting;
  ZENFS_ASSIGN_OR_RETURN(const ZoneId zone,
                         deps_.zones->LendLogZone(deadline, borrow ? Headroom::kBorrow : Headroom::kLeave));
  const Result<LogZone> allocated = deps_.allocations->Allocate(zone);
  if (!allocated) {
    deps_.zones->ReturnLogZone(zone);
    deps_.log_zones->NoteRefusal(allocated.error());
    return Fail(allocated.error());
  }
  deps_.log_zones->Add(*allocated, deps_.zones->Zone(zone).capacity);
  return {};
}

bool LogZoneSupply::ReleaseDead() {
  const Transit transit(in_transit_);
  bool any = false;
  for (const ZoneId zone : deps_.log_zones->TakeDead()) any = Release(zone) || any;
  return any;
}

bool LogZoneSupply::GiveBackReady() {
  const Transit transit(in_transit_);
  const std::optional<ZoneId> zone = deps_.log_zones->TakeUnwritten();
  return zone && Release(*zone);
}

bool LogZoneSupply::Release(ZoneId zone) {
  const Status released = deps_.allocations->Release(zone);
  // If the commit fails the log is no longer written, and those who commit learn why.
  if (!released.ok()) deps_.log_zones->NoteRefusal(released.error());
  deps_.log_zones->EndRelease(zone, released.ok());
  if (released.ok()) deps_.zones->ReturnLogZone(zone);
  return released.ok();
}

}  // namespace zenfs
