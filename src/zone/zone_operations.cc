#include "zone/zone_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/sync_point.h"
#include "zone/reset_queue.h"

namespace zenfs {
namespace {

constexpr std::chrono::milliseconds kResetPause{200};
constexpr std::chrono::seconds kAskAgain{1};  // whether a reader still uses a zone

}  // namespace

Status ZoneOperations::Start() {
  ZENFS_ASSIGN_OR_RETURN(thread_, Thread::Start("zenfs-zones", [this] { Run(); }));
  return {};
}

void ZoneOperations::Run() {
  MutexLock lock(shared_.mutex);
  while (!shared_.stopped) {
    if (Pause() || Rest()) continue;
    const std::optional<ZoneJob> job = shared_.pool.phases().NextJob();
    if (!job) {
      // NextJob may have cancelled jobs, which waiters and Drain must see.
      if (shared_.waiters != 0) shared_.changed.NotifyAll();
      shared_.work.Wait(shared_.mutex);
      continue;
    }
    if (FinishInstead(*job)) continue;
    lock.Unlock();
    if (readers_ != nullptr && job->kind != ZoneJob::Kind::kFinish) readers_->NoteReset(job->zone);
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

bool ZoneOperations::Rest() {
  ResetQueue& jobs = shared_.pool.jobs();
  if (readers_ == nullptr || !shared_.MayRest()) return false;
  const SteadyTime now = SteadyNow();
  if (!jobs.FindDue(now)) {
    SyncPoint::Reach("zone.operations.rest");
    shared_.operations_rest = jobs.pushed();
    static_cast<void>(shared_.work.WaitUntil(shared_.mutex, Deadline::After(jobs.NextDue() - now)));
    shared_.operations_rest.reset();
    return true;
  }
  const ZoneJob job = jobs.Front();
  if (now >= job.queued + kRest) return false;
  shared_.mutex.Unlock();
  const bool read = readers_->IsRead(job.zone);
  shared_.mutex.Lock();
  if (!read) return false;
  // Only this thread removes jobs, except StopResets.
  if (jobs.empty() || !jobs.can_wait() || jobs.Front().zone != job.zone) return true;
  jobs.PutOff(std::min(now + kAskAgain, job.queued + kRest));
  return true;
}

bool ZoneOperations::FinishInstead(const ZoneJob& job) {
  const bool holds_slot = job.kind == ZoneJob::Kind::kResetIfWritten && !job.can_wait;
  if (readers_ == nullptr || !holds_slot || !shared_.MayFinishInstead()) return false;
  shared_.mutex.Unlock();
  const bool finished = readers_->IsRead(job.zone) &&
                        RunZoneJob(shared_.device, {.zone = job.zone, .kind = ZoneJob::Kind::kFinish}).ok;
  shared_.mutex.Lock();
  if (!finished) return false;
  shared_.pool.phases().PutOffReset(job);
  shared_.Announce();
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
