#include "zone/zone_job_queue.h"

namespace zenfs {

void ZoneJobQueue::Push(const ZoneJob& job) {
  ZENFS_ASSERT(!resets_stopped_ || job.kind == ZoneJob::Kind::kFinish);
  jobs_.push_back(job);
  pressing_ += job.can_wait ? 0 : 1;
}

ZoneJob ZoneJobQueue::Pop() {
  ZENFS_ASSERT(!jobs_.empty());
  const ZoneJob job = jobs_.front();
  jobs_.pop_front();
  pressing_ -= job.can_wait ? 0 : 1;
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
  std::erase_if(jobs_, [&](const ZoneJob& job) {
    if (job.kind == ZoneJob::Kind::kFinish) return false;
    zones.push_back(job.zone);
    pressing_ -= job.can_wait ? 0 : 1;
    return true;
  });
  return zones;
}

}  // namespace zenfs
