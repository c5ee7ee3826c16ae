// Waiting with microsecond precision, for emulated latencies.
#pragma once

#include "base/clock.h"

namespace zenfs {

// Returns at `when` or as soon after it as the host can, never before: sleeps until shortly before, then spins. Sleeps
// of a thread that has waited here end within microseconds from then on (SharpenSleep).
void WaitPrecisely(SteadyTime when);

}  // namespace zenfs
