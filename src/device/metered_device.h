// Counts and times the commands of a device: reads, writes, appends, flushes, resets, finishes, through queues too.
// A queued command is timed from Submit until it is reaped. Everything else goes through unmeasured.
//
// Threads: as the device.
#pragma once

#include <memory>

#include "device/zoned_device.h"
#include "metrics/metrics.h"

namespace zenfs {

// `metrics` outlives the device and its queues.
[[nodiscard]] std::unique_ptr<ZonedDevice> MeterDevice(std::unique_ptr<ZonedDevice> device, Metrics& metrics);

}  // namespace zenfs
