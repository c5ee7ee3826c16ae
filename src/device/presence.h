// Tells a device that is gone from one that is damaged, for those who go on behind reads that fail: a zonefs, and some
// drivers, go on reporting zones of a disk that was unplugged, and then each byte on it looks damaged.
#pragma once

#include "base/status.h"
#include "device/zoned_device.h"

namespace zenfs {

// Reads the front of zones that hold something, a few of them, until it can; OK also if none holds anything. Errors: kIo when
// none could be read; those of a report. Threads: any.
[[nodiscard]] Status CheckPresence(ZonedDevice& device);

}  // namespace zenfs
