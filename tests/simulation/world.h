// One run of the simulator: production code on a simulated device, from mkfs through crash after crash.
//
// After each crash several pictures of what may be left are looked at, each by itself: the volume mounts, shows what the
// models allow, passes the check, takes writes, and keeps all of it through another loss of power (crash/verify.h). The
// run then goes on with one of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plan.h"

namespace zenfs {

struct Outcome {
  std::string failure;         // empty: all is well
  std::string history;         // of a failure: what the clients did
  std::uint64_t crashes = 0;   // pictures that were looked at
  std::uint64_t commands = 0;  // of the device
  std::uint64_t faults = 0;
  std::uint64_t out_of_space = 0;  // clients that ended for want of space
  std::uint64_t fingerprint = 0;
  std::vector<StepId> steps;  // that were carried out
  std::uint64_t last_round_commands = 0;
  std::vector<SimScheduler::StuckThread> threads;  // of a deadlock
};

// `on_stuck` is called for a deadlock, with the outcome so far and where it happened, and must not return.
[[nodiscard]] Outcome RunPlan(const Plan& plan, const Selection& selection,
                              const std::function<void(const Outcome&, const std::string&)>& on_stuck);

}  // namespace zenfs
