// Flushes the device, and detects writes that an earlier failed flush may have lost. Internal to metalog/.
//
// Threads: functions on values, no state.
#pragma once

#include "base/status.h"
#include "device/flush_mark.h"
#include "device/zoned_device.h"

namespace zenfs {

// Does nothing if the device has no volatile cache. Errors: the device's.
[[nodiscard]] Status FlushDevice(ZonedDevice& device);

// Makes writes since `mark` durable. Errors: the device's; kIo if a flush failed since `mark`, so writes may be lost.
[[nodiscard]] Status FlushWrittenSince(ZonedDevice& device, FlushMark mark);

}  // namespace zenfs
