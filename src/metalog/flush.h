// What makes writes durable, told of flushes that failed meanwhile. Internal to metalog/.
//
// Threads: functions on values, no state.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "device/zoned_device.h"

namespace zenfs {

// Nothing is sent to a device without a volatile cache. Errors: the device's.
[[nodiscard]] Status FlushDevice(ZonedDevice& device);

// For what was written while the device had that many failed flushes (errors().failed_flushes, asked before the write;
// CommitOptions::kAnyFlushes: not asked). Errors: the device's; kIo if a flush failed since, which may have taken it.
[[nodiscard]] Status FlushWrittenSince(ZonedDevice& device, std::uint64_t failed_flushes);

}  // namespace zenfs
