#include "zone/zone_job_queue.h"

#include <algorithm>

namespace zenfs {

void ZoneJobQueue::Push(const ZoneJob& job) {
  ZENFS_ASSERT(!resets_stopped_ || job.kind == ZoneJob::Kind::kFinish);
  (job.can_wait ? patient_ : pressing_).push_back(job);
  ++pushed_;
}

bool ZoneJobQueue::FindDue(SteadyTime now) {
  const auto due = std::ranges::find_if(patient_, [now](const ZoneJob& job) { return job.ask_at <= now; });
  if (due == patient_.end()) return false;
  const ZoneJob job = *due;
  patient_.erase(due);
  patient_.push_front(job);
  return true;
}

SteadyTime ZoneJobQueue::NextDue() const { return std::ranges::min(patient_, {}, &ZoneJob::ask_at).ask_at; }

void ZoneJobQueue::PutOff(SteadyTime ask_at) {
  patient_.push_back(patient_.front());
  patient_.pop_front();
  patient_.back().ask_at = ask_at;
}

ZoneJob ZoneJobQueue::Pop() {
  ZENFS_ASSERT(!empty());
  std::deque<ZoneJob>& jobs = pressing_.empty() ? patient_ : pressing_;
  const ZoneJob job = jobs.front();
  jobs.pop_front();
  return job;
}

void ZoneJobQueue::Begin() {
  ZENFS_ASSERT(!running_);
  running_ = true;
}

void ZoneJobQueue::End() {
  ZENFS_ASSERT(running_);
  running_ = false;
}

std::vector<ZoneId> ZoneJobQueue::StopResets() {
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

}  // namespace zenfs
