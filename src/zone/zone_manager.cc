#include "zone/zone_manager.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sync_point.h"

namespace zenfs {

Result<std::unique_ptr<ZoneManager>> ZoneManager::Create(ZonedDevice& device, const SlotPlan& plan,
                                                         std::vector<ZoneInfo> report, Options options) {
  const Geometry& geometry = device.geometry();
  if (report.size() != geometry.zone_count) {
    return Fail(Code::kInvalidArgument, fmt::format("{}: the zone report covers {} of {} zones",
                                                    device.name(), report.size(), geometry.zone_count));
  }
  for (std::uint32_t i = 0; i < report.size(); ++i) {
    if (report[i].id != ZoneId(i) || report[i].capacity > geometry.zone_size) {
      return Fail(
          Code::kInvalidArgument,
          fmt::format("{}: entry {} of the zone report is zone {} with a capacity of {} bytes (zone size {})",
                      device.name(), i, report[i].id.value, report[i].capacity, geometry.zone_size));
    }
  }
  std::uint64_t headroom = 0;
  if (options.headroom) {
    for (const ZoneInfo& zone : report) {
      if (zone.type == ZoneType::kSequentialRequired) headroom = std::max(headroom, zone.capacity);
    }
  }
  const ZonePoolSetup setup{.geometry = geometry,
                            .plan = plan,
                            .reserved_for_log = options.reserved_for_log,
                            .log_in_use = options.log_in_use,
                            .headroom = headroom,
                            .read_only = options.read_only,
                            .reclaims = options.reclaims};
  return std::unique_ptr<ZoneManager>(new ZoneManager(device, setup, report, options.metadata_zones));
}

ZoneManager::ZoneManager(ZonedDevice& device, const ZonePoolSetup& setup, std::span<const ZoneInfo> report,
                         std::span<const ZoneId> metadata_zones)
    : device_(device), setup_(setup), pool_(setup, report, metadata_zones) {}

ZoneManager::~ZoneManager() { Stop(); }

void ZoneManager::AdoptLogZone(ZoneId zone) {
  MutexLock lock(mutex_);
  pool_.log().Adopt(zone);
}

void ZoneManager::AdoptExtent(const Extent& extent, Lifetime lifetime) {
  MutexLock lock(mutex_);
  pool_.live().Adopt(extent, lifetime);
}

Status ZoneManager::Start() {
  MutexLock lock(mutex_);  // the new thread waits for it until the zones are started
  if (!setup_.read_only) {
    ZENFS_ASSIGN_OR_RETURN(thread_, Thread::Start("zenfs-zones", [this] { RunJobs(); }));
  }
  pool_.phases().Start();
  return {};
}

void ZoneManager::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
    work_.NotifyAll();
    need_.NotifyAll();
  }
  thread_.Join();
}

void ZoneManager::RunJobs() {
  MutexLock lock(mutex_);
  while (!stopped_) {
    const std::optional<ZoneJob> job = pool_.phases().NextJob();
    if (!job) {
      // NextJob may have cancelled jobs, which waiters and Drain must see.
      if (waiters_ != 0) changed_.NotifyAll();
      work_.Wait(mutex_);
      continue;
    }
    lock.Unlock();
    const ZoneJobOutcome outcome = RunZoneJob(device_, *job);
    lock.Lock();
    pool_.phases().JobDone(*job, outcome);
    Announce();
  }
}

void ZoneManager::Announce() {
  if (waiters_ != 0) changed_.NotifyAll();
  if (!pool_.state().jobs.empty()) work_.NotifyOne();
  if (reclaimer_waits_ && pool_.reclaim().Need()) need_.NotifyOne();
}

std::unexpected<Error> ZoneManager::NoSpace() const {
  const SpaceReport space = pool_.Space();
  return Fail(Code::kNoSpace,
              fmt::format("{} is full: {} MiB live, {} MiB dead but not free yet, {} MiB kept for the log; "
                          "delete files to make room",
                          device_.name(), space.live >> 20, space.garbage >> 20, space.log >> 20));
}

Status ZoneManager::WaitFor(const TakenZone& taken, Deadline deadline) {
  if (taken.outcome == TakeOutcome::kNoSpace) return NoSpace();
  const bool reclaim = taken.outcome == TakeOutcome::kWaitForReclaim;
  if (deadline.Passed()) {
    // Space may be freed later, but not in time.
    if (reclaim || taken.outcome == TakeOutcome::kWaitForPins) return NoSpace();
    return Fail(
        Code::kTimedOut,
        fmt::format("{}: no zone became available in time; all are being written or reset", device_.name()));
  }
  Deadline until = deadline;
  if (taken.retry_at < until.when()) until = Deadline::After(taken.retry_at - SteadyNow());
  if (reclaim) {
    SyncPoint::Reach("zones:wait-for-reclaim");  // with the lock held, so a handler must not call this class
    pool_.reclaim().WaitsForReclaim(true);
    need_.NotifyOne();
  }
  ++waiters_;
  // The caller tries again and finds out what changed.
  static_cast<void>(changed_.WaitUntil(mutex_, until));
  --waiters_;
  if (reclaim) pool_.reclaim().WaitsForReclaim(false);
  return {};
}

std::optional<ReclaimNeed> ZoneManager::AwaitReclaimNeed(Deadline deadline) {
  MutexLock lock(mutex_);
  reclaimer_waits_ = true;
  std::optional<ReclaimNeed> need;
  bool in_time = true;
  while (!stopped_ && in_time && !(need = pool_.reclaim().Need()))
    in_time = need_.WaitUntil(mutex_, deadline);
  reclaimer_waits_ = false;
  if (!need) {
    pool_.reclaim().ForgetPendingVerdict();
    need = pool_.reclaim().Need();
  }
  return stopped_ ? std::nullopt : need;
}

void ZoneManager::SetVerdict(const ReclaimVerdict& verdict) {
  MutexLock lock(mutex_);
  pool_.reclaim().SetVerdict(verdict);
  Announce();
}

void ZoneManager::AskToTidy() {
  MutexLock lock(mutex_);
  pool_.reclaim().AskToTidy();
  Announce();
}

void ZoneManager::NoteChange() {
  MutexLock lock(mutex_);
  pool_.reclaim().NoteChange();
  Announce();
}

bool ZoneManager::FinishActive(ZoneId zone) {
  MutexLock lock(mutex_);
  const bool finishes = pool_.phases().FinishActive(zone);
  Announce();
  return finishes;
}

bool ZoneManager::stopped() const {
  MutexLock lock(mutex_);
  return stopped_;
}

void ZoneManager::TakeBackPromise(ZoneClaim& claim) {
  if (claim.held_.promised == 0) return;
  MutexLock lock(mutex_);
  pool_.data().TakeBackPromise(claim.held_);
  Announce();
}

Result<ZoneWriter> ZoneManager::AcquireData(ZoneClaim& claim, Lifetime lifetime, Deadline deadline,
                                            WritePurpose purpose, std::uint64_t wanted) {
  if (setup_.read_only) return Fail(Code::kReadOnly, fmt::format("{} is mounted read-only", device_.name()));
  MutexLock lock(mutex_);
  while (!stopped_) {
    ZENFS_RETURN_IF_ERROR(pool_.live().health());
    claim.manager_ = this;
    const TakenZone taken = pool_.data().Take(claim.held_, lifetime, purpose, SteadyNow(), wanted);
    if (!pool_.state().jobs.empty()) work_.NotifyOne();
    if (taken.outcome == TakeOutcome::kTaken) {
      ZoneWriter writer;
      writer.manager_ = this;
      writer.zone_ = taken.zone;
      writer.place_ = setup_.geometry.ZoneStart(taken.zone) + taken.written;
      writer.room_ = taken.room;
      return writer;
    }
    ZENFS_RETURN_IF_ERROR(WaitFor(taken, deadline));
  }
  return Fail(Code::kShutdown, fmt::format("{} is being unmounted", device_.name()));
}

Result<ZoneId> ZoneManager::LendLogZone(Deadline deadline, Headroom headroom) {
  if (setup_.read_only) return Fail(Code::kReadOnly, fmt::format("{} is mounted read-only", device_.name()));
  MutexLock lock(mutex_);
  while (!stopped_) {
    ZENFS_RETURN_IF_ERROR(pool_.live().health());
    const TakenZone taken = pool_.log().Take(headroom == Headroom::kBorrow);
    if (!pool_.state().jobs.empty()) work_.NotifyOne();
    if (taken.outcome == TakeOutcome::kTaken) return taken.zone;
    ZENFS_RETURN_IF_ERROR(WaitFor(taken, deadline));
  }
  return Fail(Code::kShutdown, fmt::format("{} is being unmounted", device_.name()));
}

void ZoneManager::ReturnLogZone(ZoneId zone) {
  MutexLock lock(mutex_);
  pool_.log().Return(zone);
  Announce();
}

void ZoneManager::AddLive(std::span<const Extent> extents) {
  MutexLock lock(mutex_);
  pool_.live().Add(extents);
}

bool ZoneManager::RemoveLive(std::span<const Extent> extents) {
  MutexLock lock(mutex_);
  pool_.live().Remove(extents);
  Announce();
  return pool_.live().health().ok();
}

void ZoneManager::StopResets() {
  MutexLock lock(mutex_);
  pool_.phases().StopResets();
  Announce();
}

Status ZoneManager::health() const {
  MutexLock lock(mutex_);
  return pool_.live().health();
}

SpaceReport ZoneManager::Space() const {
  MutexLock lock(mutex_);
  return pool_.Space();
}

ZoneStatus ZoneManager::Zone(ZoneId zone) const {
  MutexLock lock(mutex_);
  return pool_.Zone(zone);
}

std::vector<ZoneStatus> ZoneManager::Zones() const {
  MutexLock lock(mutex_);
  return pool_.Zones();
}

std::vector<std::string> ZoneManager::Check() const {
  MutexLock lock(mutex_);
  return pool_.state().Check();
}

std::uint64_t ZoneManager::table_visits() const {
  MutexLock lock(mutex_);
  return pool_.state().table.visits();
}

Status ZoneManager::Drain(Deadline deadline) {
  if (setup_.read_only) return {};
  MutexLock lock(mutex_);
  pool_.phases().ResetUnusedActives();
  work_.NotifyOne();
  ++waiters_;
  bool in_time = true;
  while (in_time && !stopped_ && !pool_.state().jobs.idle()) in_time = changed_.WaitUntil(mutex_, deadline);
  --waiters_;
  if (pool_.state().jobs.idle()) return {};
  if (stopped_) return Fail(Code::kShutdown, fmt::format("{} is being unmounted", device_.name()));
  return Fail(Code::kTimedOut,
              fmt::format("{}: zones are still being reset or finished at the deadline", device_.name()));
}

}  // namespace zenfs
