// Threads of production code in a fuzz target: simulated ones (testing/sim_scheduler.h), which start fast and run in the
// same order each time.
#pragma once

#include <functional>

namespace zenfs {

// Runs `body` as the first of simulated threads, one at a time, in virtual time; a deadlock ends the process.
void RunSimulated(const std::function<void()>& body);

}  // namespace zenfs
