#include "zone/zone_operations.h"

#include <fmt/format.h>

#include <optional>

#include "base/sync_point.h"
#include "zone/zone_job.h"

namespace zenfs {
namespace {

constexpr std::chrono::milliseconds kResetPause{200};

}  // namespace

Status ZoneOperations::Start() {
  ZENFS_ASSIGN_OR_RETURN(thread_, Thread::Start("zenfs-zones", [this] { Run(); }));
  return {};
}

void ZoneOperations::Run() {
  MutexLock lock(shared_.mutex);
  while (!shared_.stopped) {
    if (Pause()) continue;
    const std::optional<ZoneJob> job = shared_.pool.phases().NextJob();
    if (!job) {
      // NextJob may have cancelled jobs, which waiters and Drain must see.
      if (shared_.waiters != 0) shared_.changed.NotifyAll();
      shared_.work.Wait(shared_.mutex);
      continue;
    }
    lock.Unlock();
    const ZoneJobOutcome outcome = RunZoneJob(shared_.device, *job);
    lock.Lock();
    next_reset_ = SteadyNow() + kResetPause;
    shared_.pool.phases().JobDone(*job, outcome);
    shared_.Announce();
  }
}

bool ZoneOperations::Pause() {
  if (!shared_.ResetsCanWait() || SteadyNow() >= next_reset_) return false;
  SyncPoint::Reach("zone.operations.pause");
  shared_.operations_pause = true;
  static_cast<void>(shared_.work.WaitUntil(shared_.mutex, Deadline::After(next_reset_ - SteadyNow())));
  shared_.operations_pause = false;
  return true;
}

void ZoneOperations::StopResets() {
  MutexLock lock(shared_.mutex);
  shared_.pool.phases().StopResets();
  shared_.Announce();
}

Status ZoneOperations::Drain(Deadline deadline) {
  if (shared_.setup.read_only) return {};
  MutexLock lock(shared_.mutex);
  shared_.pool.phases().ResetUnusedActives();
  if (shared_.WaitForJobs(deadline)) return {};
  if (shared_.stopped) return shared_.Stopped();
  return Fail(Code::kTimedOut, fmt::format("{}: zones are still being reset or finished at the deadline",
                                           shared_.device.name()));
}

}  // namespace zenfs
