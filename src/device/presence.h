// Tells a device that is gone from a damaged one, for callers that continue after failed reads. zonefs and some drivers
// still report the zones of an unplugged disk, and then every byte looks damaged.
#pragma once

#include "base/status.h"
#include "device/zoned_device.h"

namespace zenfs {

// Reads the first block of up to 16 zones that hold data, until a read succeeds. Returns OK if no zone holds data. Errors:
// kIo if no read succeeded; those of a report. Threads: any.
[[nodiscard]] Status CheckPresence(ZonedDevice& device);

// For the end of a scan; reads nothing. Error: kIo if the device is gone until it is opened again (ZonedDevice::IsGone), so that the
// scan may not have seen all. Threads: any.
[[nodiscard]] Status CheckNotGone(const ZonedDevice& device);

}  // namespace zenfs
