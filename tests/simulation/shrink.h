// Finds a smaller part of a failing plan that still fails, possibly for another reason.
//
// Each try runs in its own process, so that a crash, a sanitizer report and a hang are failures
// like any other.
//
// Threads: one.
#pragma once

#include <chrono>

#include "plan.h"
#include "world.h"

namespace zenfs {

// Runs the plan in a child process. Returns the failure, or how the child died; empty if all is
// well.
[[nodiscard]] std::string FailureOf(const Plan& plan, const Selection& selection);

// `failing` fails. `steps` and the number of commands are those of its run.
[[nodiscard]] Selection Shrink(const Plan& plan, const Selection& failing, const std::vector<StepId>& steps,
                               std::uint64_t commands, std::chrono::seconds time);

}  // namespace zenfs
