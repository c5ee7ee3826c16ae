// One run of the simulator: production code on a simulated device, from mkfs through several
// crashes.
//
// After each crash, several images that the crash may leave are checked independently: the volume
// mounts, shows what the models allow, passes the check, accepts writes, and keeps everything
// through another power loss (crash/verify.h). The run continues with one of the images.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plan.h"

namespace zenfs {

struct Outcome {
  std::string failure;         // empty: all is well
  std::string history;         // after a failure: the calls of the clients
  std::uint64_t crashes = 0;   // images that were checked
  std::uint64_t commands = 0;  // of the device
  std::uint64_t faults = 0;
  std::uint64_t out_of_space = 0;  // clients that ended with "no space"
  std::uint64_t fingerprint = 0;
  std::vector<StepId> steps;  // steps that were executed
  std::uint64_t last_round_commands = 0;
  std::vector<SimScheduler::StuckThread> threads;  // after a deadlock
};

// On a deadlock, calls `on_stuck` with the outcome so far and the stuck threads; it must not
// return.
[[nodiscard]] Outcome RunPlan(const Plan& plan, const Selection& selection,
                              const std::function<void(const Outcome&, const std::string&)>& on_stuck);

}  // namespace zenfs
