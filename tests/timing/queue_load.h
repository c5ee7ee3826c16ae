// Reads, writes or appends kept in flight through one queue, by one thread, with writes beside them.
#pragma once

#include "device/zoned_device.h"
#include "experiment.h"

namespace zenfs {

// What completes in the first moments is not counted, nor what is in flight at the end.
[[nodiscard]] Result<LoadOutcome> RunQueueLoad(ZonedDevice& device, const Load& load, double seconds);

}  // namespace zenfs
