#include "zone/reset_finish_queue.h"

#include <algorithm>

#include "base/sync_point.h"

namespace zenfs {
namespace {

bool IsEmpty(const std::optional<ZoneInfo>& info) { return info && info->condition == ZoneCondition::kEmpty; }

}  // namespace

void ResetQueue::Push(const ZoneJob& job) {
  ZENFS_ASSERT(!resets_stopped_ || job.kind == ZoneJob::Kind::kFinish);
  (job.can_wait ? patient_ : pressing_).push_back(job);
  ++pushed_;
}

bool ResetQueue::FindDue(SteadyTime now) {
  const auto due = std::ranges::find_if(patient_, [now](const ZoneJob& job) { return job.ask_at <= now; });
  if (due == patient_.end()) return false;
  const ZoneJob job = *due;
  patient_.erase(due);
  patient_.push_front(job);
  return true;
}

SteadyTime ResetQueue::NextDue() const { return std::ranges::min(patient_, {}, &ZoneJob::ask_at).ask_at; }

void ResetQueue::PutOff(SteadyTime ask_at) {
  patient_.push_back(patient_.front());
  patient_.pop_front();
  patient_.back().ask_at = ask_at;
}

ZoneJob ResetQueue::Pop() {
  ZENFS_ASSERT(!empty());
  std::deque<ZoneJob>& jobs = pressing_.empty() ? patient_ : pressing_;
  const ZoneJob job = jobs.front();
  jobs.pop_front();
  return job;
}

void ResetQueue::Begin() {
  ZENFS_ASSERT(!running_);
  running_ = true;
}

void ResetQueue::End() {
  ZENFS_ASSERT(running_);
  running_ = false;
}

std::vector<ZoneId> ResetQueue::StopResets() {
  resets_stopped_ = true;
  std::vector<ZoneId> zones;
  for (std::deque<ZoneJob>* jobs : {&pressing_, &patient_}) {
    std::erase_if(*jobs, [&](const ZoneJob& job) {
      if (job.kind == ZoneJob::Kind::kFinish) return false;
      zones.push_back(job.zone);
      return true;
    });
  }
  return zones;
}

std::optional<ZoneInfo> ReportOne(ZonedDevice& device, ZoneId zone) {
  const Result<ZoneInfo> report = device.ReportZone(zone);
  return report ? std::optional(*report) : std::nullopt;
}

ZoneJobOutcome RunZoneJob(ZonedDevice& device, const ZoneJob& job) {
  ZoneJobOutcome outcome;
  if (job.kind == ZoneJob::Kind::kFinish) {
    SyncPoint::Reach("RunZoneJob:finish");
    outcome.info = ReportOne(device, job.zone);
    outcome.ok = outcome.info && !IsActive(outcome.info->condition);
    if (outcome.ok) return outcome;
    const Status finished = device.Finish(job.zone);
    outcome.ok = finished.ok();
    outcome.refused = !finished.ok() && finished.error().code() == Code::kBusy;
    outcome.info = ReportOne(device, job.zone);
    return outcome;
  }
  SyncPoint::Reach("RunZoneJob:reset");
  if (job.kind == ZoneJob::Kind::kResetIfWritten) {
    outcome.info = ReportOne(device, job.zone);
    outcome.ok = IsEmpty(outcome.info);
    if (outcome.ok) return outcome;
  }
  const bool sent = device.Reset(job.zone).ok();
  // The report decides: a reset may change the capacity (device assumption 4), and a failed reset may have been
  // carried out (device assumption 5).
  outcome.info = ReportOne(device, job.zone);
  outcome.ok = IsEmpty(outcome.info) && (sent || outcome.info->capacity != 0);
  // The zone is not written again. If it stayed active, it would take a slot from all others until the unmount.
  if (!outcome.ok && outcome.info && IsActive(outcome.info->condition)) {
    IgnoreError(device.Finish(job.zone));
    outcome.info = ReportOne(device, job.zone);
  }
  return outcome;
}

}  // namespace zenfs
