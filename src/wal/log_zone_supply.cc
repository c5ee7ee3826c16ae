#include "wal/log_zone_supply.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <span>

#include "base/sync_point.h"

namespace zenfs {
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
    if (IsWorthCleaning(deps_.log_zones->Zones(), deps_.zones->Space().log_limit))
      deps_.zones->reclaim().AskToTidy();
    short_of_space = !TopUp();
  }
}

bool LogZoneSupply::TopUp() {
  while (deps_.log_zones->IsShortOf(deps_.ready_target)) {
    // If no zone is free, a sync that needs one calls AllocateGroup itself, with its own deadline, and returns
    // the error.
    if (!AllocateGroup(Deadline::After(kRetryAfter), LogLoan::kAhead).ok()) return false;
  }
  return true;
}

Status LogZoneSupply::AllocateGroup(Deadline deadline, LogLoan loan) {
  const Transit transit(in_transit_);
  if (deps_.log_zones->phase() == LogZones::Phase::kMounting) loan = LogLoan::kBorrow;
  ZENFS_ASSIGN_OR_RETURN(const ZoneId first, deps_.zones->LendLogZone(deadline, loan));
  std::vector<ZoneId> zones{first};
  if (loan != LogLoan::kBorrow) std::ranges::copy(deps_.zones->LendMoreLogZones(), std::back_inserter(zones));
  const Result<std::vector<LogZone>> allocated = deps_.allocations->Allocate(zones);
  if (!allocated) {
    for (const ZoneId zone : zones) deps_.zones->ReturnLogZone(zone);
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

bool LogZoneSupply::GiveBackReady(LogZones::Unwritten which) {
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
    if (released.ok()) deps_.zones->ReturnLogZone(zone);
  }
  return released.ok();
}

}  // namespace zenfs
