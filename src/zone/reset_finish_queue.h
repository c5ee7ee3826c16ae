// Resets and finishes of zones, which are slow: each is a job, and one runs at a time on the thread of ZoneManager
// (zone/zone_manager.h).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "device/zoned_device.h"

namespace zenfs {

struct ZoneJob {
  enum class Kind : std::uint8_t {
    kReset,
    kResetIfWritten,  // for zones from the log, which may be empty
    kFinish,          // ends the active state of the zone; does nothing if the zone is not active
  };
  ZoneId zone;
  Kind kind = Kind::kReset;
  bool can_wait = false;  // a reset that frees no slot and no log zone
  // Of a job that can wait: when it was queued, and when to ask again whether a reader uses the zone.
  SteadyTime queued{};
  SteadyTime ask_at{};
};

struct ZoneJobOutcome {
  bool ok = false;               // after a reset: the zone is empty; after a finish: it is not active
  std::optional<ZoneInfo> info;  // the zone report after the job; empty if the report failed
  bool refused = false;          // finish only: the device is busy, the zone is intact
};

// The report of one zone; empty if it failed.
[[nodiscard]] std::optional<ZoneInfo> ReportOne(ZonedDevice& device, ZoneId zone);

// Sends the commands of one job. A failure is part of the outcome, not an error, because no caller waits for this zone.
[[nodiscard]] ZoneJobOutcome RunZoneJob(ZonedDevice& device, const ZoneJob& job);

// The queue of the jobs. Those that can't wait come first, and each kind in the order of its requests.
//
// Invariants
//   at most one job runs
//   after StopResets no reset is queued
//
// Threads: not thread-safe; the owner locks. Errors: none.
class ResetQueue {
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
