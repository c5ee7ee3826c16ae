// The queue of zone operations: resets and finishes in the order of their requests, one running at a time.
//
// Invariants
//   at most one job runs
//   after StopResets no reset is queued
//
// Threads: not thread-safe; the owner locks. Errors: none.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "base/assert.h"
#include "zone/zone_job.h"

namespace zenfs {

class ZoneJobQueue {
 public:
  bool empty() const { return jobs_.empty(); }
  // True if all queued jobs can wait.
  bool can_wait() const { return pressing_ == 0; }
  // True if no job is queued or running.
  bool idle() const { return jobs_.empty() && !running_; }
  // Precondition: no reset after StopResets.
  void Push(const ZoneJob& job);
  // Removes the first job, which the caller either begins or discards. Precondition: !empty().
  ZoneJob Pop();
  void Begin();
  void End();

  bool resets_stopped() const { return resets_stopped_; }
  // Removes all queued resets and returns their zones. A running reset still ends.
  std::vector<ZoneId> StopResets();

 private:
  std::deque<ZoneJob> jobs_;
  std::size_t pressing_ = 0;  // queued jobs that can't wait
  bool running_ = false;
  bool resets_stopped_ = false;
};

}  // namespace zenfs
