// A read-only view of a device: forwards reads and reports; every command that would change the device fails with
// kReadOnly. Does not own the device, which must outlive it. Threads: as the device.
#pragma once

#include <memory>

#include "device/zoned_device.h"

namespace zenfs {

[[nodiscard]] std::unique_ptr<ZonedDevice> MakeReadOnlyView(ZonedDevice& device);

}  // namespace zenfs
