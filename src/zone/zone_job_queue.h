// The queue of zone operations: resets and finishes, one running at a time. Those that can't wait come first, and each kind
// in the order of its requests.
//
// Invariants
//   at most one job runs
//   after StopResets no reset is queued
//
// Threads: not thread-safe; the owner locks. Errors: none.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/assert.h"
#include "zone/zone_job.h"

namespace zenfs {

class ZoneJobQueue {
 public:
  bool empty() const { return pressing_.empty() && patient_.empty(); }
  // True if all queued jobs can wait.
  bool can_wait() const { return pressing_.empty(); }
  // True if no job is queued or running.
  bool idle() const { return empty() && !running_; }
  // Precondition: no reset after StopResets.
  void Push(const ZoneJob& job);
  // --- jobs that can wait; precondition: can_wait() && !empty() ---
  // Moves the first one with ask_at <= now to the front and returns true. Returns false if there is none.
  bool FindDue(SteadyTime now);
  SteadyTime NextDue() const;  // the earliest ask_at
  const ZoneJob& Front() const { return patient_.front(); }
  // Moves the first one to the back; it is due again at `ask_at`.
  void PutOff(SteadyTime ask_at);
  // Number of jobs pushed so far.
  std::uint64_t pushed() const { return pushed_; }

  // Removes the first job, which the caller either begins or discards. Precondition: !empty().
  ZoneJob Pop();
  void Begin();
  void End();

  bool resets_stopped() const { return resets_stopped_; }
  // Removes all queued resets and returns their zones. A running reset still ends.
  std::vector<ZoneId> StopResets();

 private:
  std::deque<ZoneJob> pressing_;
  std::deque<ZoneJob> patient_;  // resets that can wait
  std::uint64_t pushed_ = 0;
  bool running_ = false;
  bool resets_stopped_ = false;
};

}  // namespace zenfs
