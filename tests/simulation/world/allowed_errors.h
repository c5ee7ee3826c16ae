// The errors that a caller may get for the device's faults, after docs/internals/faults.md. The
// caller itself knows whether the device is full.
#pragma once

#include "base/status.h"
#include "world/sim_device.h"

namespace zenfs {

[[nodiscard]] bool MayFailWith(const SimFaults& faults, Code code);
// For a call that only reads.
[[nodiscard]] bool MayReadFailWith(const SimFaults& faults, Code code);
[[nodiscard]] bool MayMountFailWith(const SimFaults& faults, Code code);

}  // namespace zenfs
