#include "zone/zone_job_queue.h"

namespace zenfs {

void ZoneJobQueue::Push(const ZoneJob& job) {
  ZENFS_ASSERT(!resets_stopped_ || job.kind == ZoneJob::Kind::kFinish);
  (job.can_wait ? patient_ : pressing_).push_back(job);
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
