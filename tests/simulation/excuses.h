// Which errors a caller may see for which faults of the device, by docs/faults.md. A full device is for the caller to know.
#pragma once

#include "base/status.h"
#include "testing/sim_device.h"

namespace zenfs {

[[nodiscard]] bool MayFailWith(const SimFaults& faults, Code code);

}  // namespace zenfs
