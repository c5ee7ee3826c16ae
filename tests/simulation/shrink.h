// Finds a smaller piece of a failing plan that still fails, if not necessarily for the same reason.
//
// Each try runs in a process of its own, so that a crash, a sanitizer's report and a hang are failures like any other.
//
// Threads: one.
#pragma once

#include <chrono>

#include "plan.h"
#include "world.h"

namespace zenfs {

// The outcome of a run in a child process, as far as the failure goes: what it said, or how it died.
[[nodiscard]] std::string FailureOf(const Plan& plan, const Selection& selection);

// `failing` fails, and had these steps and so many commands in its last round.
[[nodiscard]] Selection Shrink(const Plan& plan, const Selection& failing, const std::vector<StepId>& steps,
                               std::uint64_t commands, std::chrono::seconds time);

}  // namespace zenfs
