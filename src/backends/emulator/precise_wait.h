// Waiting with microsecond precision, for emulated latencies.
#pragma once

#include "base/clock.h"

namespace zenfs {

// Returns at `when` or as soon after it as the host can, never before: sleeps until shortly before,
// then spins. It calls SharpenSleep, so later sleeps of this thread end within microseconds, too.
void WaitPrecisely(SteadyTime when);

}  // namespace zenfs
