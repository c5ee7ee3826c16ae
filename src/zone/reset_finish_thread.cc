// The background thread of ZoneManager, which executes all resets and finishes of data zones, one at a time, outside the lock.
//
// A drive resets a zone with the bandwidth of its writes: a ZN540 loses a third of it at 30 resets a second. So while data is
// written, resets that can wait have pauses in between.
//
// A zone that a reader of this host uses (ZoneReaders) rests for kRest before its reset, so that the reader can go on
// reading a file that was deleted. It rests only while nothing could need it: no writer waits, and as many zones are empty as
// the collector wants. The others are reset at once.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/sync_point.h"
#include "zone/reset_finish_queue.h"
#include "zone/zone_manager.h"

namespace zenfs {
namespace {

constexpr std::chrono::milliseconds kResetPause{200};
constexpr std::chrono::seconds kAskAgain{1};  // whether a reader still uses a zone

}  // namespace

void ZoneManager::RunResets() {
  MutexLock lock(mutex_);
  while (!stopped_) {
    if (Pause() || Rest()) continue;
    const std::optional<ZoneJob> job = pool_.NextJob();
    if (!job) {
      // NextJob may have cancelled jobs, which waiters and DrainResets must see.
      if (waiters_ != 0) changed_.NotifyAll();
      work_.Wait(mutex_);
      continue;
    }
    if (FinishInstead(*job)) continue;
    lock.Unlock();
    if (readers_ != nullptr && job->kind != ZoneJob::Kind::kFinish) readers_->NoteReset(job->zone);
    const ZoneJobOutcome outcome = RunZoneJob(device_, *job);
    lock.Lock();
    next_reset_ = SteadyNow() + kResetPause;
    pool_.JobDone(*job, outcome);
    Announce();
  }
}

bool ZoneManager::Pause() {
  if (!ResetsCanWait() || SteadyNow() >= next_reset_) return false;
  SyncPoint::Reach("ZoneManager::Pause");
  resets_pause_ = true;
  static_cast<void>(work_.WaitUntil(mutex_, Deadline::After(next_reset_ - SteadyNow())));
  resets_pause_ = false;
  return true;
}

bool ZoneManager::Rest() {
  ResetQueue& jobs = pool_.jobs();
  if (readers_ == nullptr || !MayRest()) return false;
  const SteadyTime now = SteadyNow();
  if (!jobs.FindDue(now)) {
    SyncPoint::Reach("ZoneManager::Rest:rests");
    resets_rest_ = jobs.pushed();
    static_cast<void>(work_.WaitUntil(mutex_, Deadline::After(jobs.NextDue() - now)));
    resets_rest_.reset();
    return true;
  }
  const ZoneJob job = jobs.Front();
  if (now >= job.queued + kRest) return false;
  mutex_.Unlock();
  const bool read = readers_->IsRead(job.zone);
  mutex_.Lock();
  if (!read) return false;
  // Only this thread removes jobs, except StopResets.
  if (jobs.empty() || !jobs.can_wait() || jobs.Front().zone != job.zone) return true;
  jobs.PutOff(std::min(now + kAskAgain, job.queued + kRest));
  return true;
}

bool ZoneManager::FinishInstead(const ZoneJob& job) {
  const bool holds_slot = job.kind == ZoneJob::Kind::kResetIfWritten && !job.can_wait;
  if (readers_ == nullptr || !holds_slot || !MayFinishInstead()) return false;
  mutex_.Unlock();
  const bool finished = readers_->IsRead(job.zone) &&
                        RunZoneJob(device_, {.zone = job.zone, .kind = ZoneJob::Kind::kFinish}).ok;
  mutex_.Lock();
  if (!finished) return false;
  pool_.PutOffReset(job);
  Announce();
  return true;
}

bool ZoneManager::ResetsCanWait() const { return waiters_ == 0 && !stopped_ && pool_.ResetsCanWait(); }

bool ZoneManager::MayFinishInstead() const { return waiters_ == 0 && !stopped_ && pool_.HasRoomToRest(); }

bool ZoneManager::MayRest() const {
  const ResetQueue& jobs = pool_.jobs();
  return !jobs.empty() && jobs.can_wait() && MayFinishInstead();
}

void ZoneManager::StopResets() {
  MutexLock lock(mutex_);
  pool_.StopResets();
  Announce();
}

Status ZoneManager::DrainResets(Deadline deadline) {
  if (setup_.read_only) return {};
  MutexLock lock(mutex_);
  pool_.ResetUnusedActives();
  ++waiters_;
  AnnounceJobs();
  bool in_time = true;
  while (in_time && !stopped_ && !pool_.jobs().idle()) in_time = changed_.WaitUntil(mutex_, deadline);
  --waiters_;
  if (pool_.jobs().idle()) return {};
  if (stopped_) return Stopped();
  return Fail(Code::kTimedOut,
              fmt::format("{}: zones are still being reset or finished at the deadline", device_.name()));
}

}  // namespace zenfs
