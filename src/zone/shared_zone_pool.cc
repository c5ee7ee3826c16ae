#include "zone/shared_zone_pool.h"

#include <fmt/format.h>

#include "base/sync_point.h"

namespace zenfs {

SharedZonePool::SharedZonePool(ZonedDevice& pool_device, const ZonePoolSetup& pool_setup,
                               std::span<const ZoneInfo> report, std::span<const ZoneId> metadata_zones)
    : device(pool_device), setup(pool_setup), pool(setup, report, metadata_zones) {}

void SharedZonePool::Announce() {
  if (waiters != 0) changed.NotifyAll();
  AnnounceJobs();
  if (collector_waits && pool.reclaim().Need()) need.NotifyOne();
}

void SharedZonePool::AnnounceJobs() {
  const ResetQueue& jobs = pool.state().jobs;
  const bool rests = operations_rest == jobs.pushed() && MayRest();
  if (!jobs.empty() && !rests && !(operations_pause && ResetsCanWait())) work.NotifyOne();
}

bool SharedZonePool::MayFinishInstead() const {
  const ZonePoolParts& parts = pool.state();
  // The log's own device is small.
  if (parts.log_apart() && parts.log_empty.size() <= 1) return false;
  return waiters == 0 && !stopped && pool.phases().HasRoom();
}

bool SharedZonePool::MayRest() const {
  const ResetQueue& jobs = pool.state().jobs;
  return !jobs.empty() && jobs.can_wait() && MayFinishInstead();
}

bool SharedZonePool::ResetsCanWait() const {
  return waiters == 0 && !stopped && pool.phases().ResetsCanWait();
}

Status SharedZonePool::WaitFor(const TakenZone& taken, Deadline deadline) {
  if (taken.outcome == TakeOutcome::kNoSpace) return NoSpace();
  const bool reclaim =
      taken.outcome == TakeOutcome::kWaitForReclaim || taken.outcome == TakeOutcome::kWaitForLogReclaim;
  if (deadline.Passed()) {
    // Space may be freed later, but not in time.
    if (reclaim || taken.outcome == TakeOutcome::kWaitForPins) return NoSpace();
    return Fail(
        Code::kTimedOut,
        fmt::format("{}: no zone became available in time; all are being written or reset", device.name()));
  }
  Deadline until = deadline;
  if (taken.retry_at < until.when()) until = Deadline::After(taken.retry_at - SteadyNow());
  if (reclaim) {
    // With the lock held, so a handler must not call the zone manager.
    SyncPoint::Reach("zones:wait-for-reclaim");
    pool.reclaim().WaitsForReclaim(taken.outcome, true);
    need.NotifyOne();
  }
  ++waiters;
  AnnounceJobs();
  // The caller tries again and finds out what changed.
  static_cast<void>(changed.WaitUntil(mutex, until));
  --waiters;
  if (reclaim) pool.reclaim().WaitsForReclaim(taken.outcome, false);
  return {};
}

bool SharedZonePool::WaitForJobs(Deadline deadline) {
  ++waiters;
  AnnounceJobs();
  bool in_time = true;
  while (in_time && !stopped && !pool.state().jobs.idle()) in_time = changed.WaitUntil(mutex, deadline);
  --waiters;
  return pool.state().jobs.idle();
}

void SharedZonePool::Stop() {
  MutexLock lock(mutex);
  stopped = true;
  changed.NotifyAll();
  work.NotifyAll();
  need.NotifyAll();
}

std::unexpected<Error> SharedZonePool::Stopped() const {
  return Fail(Code::kShutdown, fmt::format("{} is being unmounted", device.name()));
}

std::unexpected<Error> SharedZonePool::NoSpace() const {
  const SpaceReport space = pool.Space();
  const std::string apart =
      pool.state().log_apart()
          ? fmt::format(" ({} of its {} zones empty, one of them for a mount)",
                        pool.state().log_empty.all_after_resets(), setup.geometry.log_zones)
          : std::string();
  return Fail(Code::kNoSpace,
              fmt::format("{} is full: {} MiB live, {} MiB dead but not free yet, {} MiB kept for the log{}; "
                          "delete files to make room",
                          device.name(), space.live >> 20, space.garbage >> 20, space.log >> 20, apart));
}

}  // namespace zenfs
