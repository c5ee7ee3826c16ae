// Counts and times the reads, writes, appends, flushes, resets and finishes of a device, including queued ones. A queued
// command is timed from Submit to Reap. Other calls are forwarded without measuring.
//
// Threads: as the device.
#pragma once

#include <memory>

#include "device/zoned_device.h"
#include "metrics/metrics.h"

namespace zenfs {

// `metrics` must outlive the device and its queues.
[[nodiscard]] std::unique_ptr<ZonedDevice> MeterDevice(std::unique_ptr<ZonedDevice> device, Metrics& metrics);

}  // namespace zenfs
