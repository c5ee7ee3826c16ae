// Which errors a caller may see for which faults of the device, by docs/internals/faults.md. A full device is for the
// caller to know.
#pragma once

#include "base/status.h"
#include "world/sim_device.h"

namespace zenfs {

[[nodiscard]] bool MayFailWith(const SimFaults& faults, Code code);
// A call that only reads.
[[nodiscard]] bool MayReadFailWith(const SimFaults& faults, Code code);
[[nodiscard]] bool MayMountFailWith(const SimFaults& faults, Code code);

}  // namespace zenfs
