// Threads of production code in a fuzz target are simulated (testing/sim_scheduler.h): they start
// fast and run in the same order each time.
#pragma once

#include <functional>

namespace zenfs {

// Runs `body` as the first simulated thread, one thread at a time, in virtual time. A deadlock ends
// the process.
void RunSimulated(const std::function<void()>& body);

}  // namespace zenfs
