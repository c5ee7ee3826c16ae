// Makes writes durable, and fails if an earlier flush may have lost them. Internal to metalog/.
//
// Threads: functions on values, no state.
#pragma once

#include "base/status.h"
#include "device/flush_mark.h"
#include "device/zoned_device.h"

namespace zenfs {

// Nothing is sent to a device without a volatile cache. Errors: the device's.
[[nodiscard]] Status FlushDevice(ZonedDevice& device);

// Makes durable what was written since `mark`. Errors: the device's; kIo if a flush failed since, which may have lost it.
[[nodiscard]] Status FlushWrittenSince(ZonedDevice& device, FlushMark mark);

}  // namespace zenfs
