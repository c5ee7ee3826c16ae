// Lends a device to something that wants to own one: the test keeps the device, and mounts it again and
// again.
#pragma once

#include <cstdint>
#include <memory>

#include "device/zoned_device.h"

namespace zenfs {

// Passes everything on to `device`, which must outlive the result and all its queues.
[[nodiscard]] std::unique_ptr<ZonedDevice> Borrow(ZonedDevice& device);
// The same, but the geometry of the result has these limits of open and active zones.
[[nodiscard]] std::unique_ptr<ZonedDevice> BorrowWithSlots(ZonedDevice& device, std::uint32_t max_open,
                                                           std::uint32_t max_active);

}  // namespace zenfs
