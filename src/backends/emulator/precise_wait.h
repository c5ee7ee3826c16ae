// Waiting with microsecond precision, for emulated latencies.
#pragma once

#include "base/clock.h"

namespace zenfs {

// Returns at `when` or as soon after it as the host can: sleeps until shortly before, then spins.
void WaitPrecisely(SteadyTime when);

}  // namespace zenfs
