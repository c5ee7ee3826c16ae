// Another device, seen read-only: reads and reports go through, everything that would change it fails with
// kReadOnly. Does not own the device, which must outlive it. Threads: as the device.
#pragma once

#include <memory>

#include "device/zoned_device.h"

namespace zenfs {

[[nodiscard]] std::unique_ptr<ZonedDevice> MakeReadOnlyView(ZonedDevice& device);

}  // namespace zenfs
