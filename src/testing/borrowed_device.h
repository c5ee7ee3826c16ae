// Lends a device to an object that wants to own one. The test keeps the device and can mount it
// several times.
#pragma once

#include <cstdint>
#include <memory>

#include "device/zoned_device.h"

namespace zenfs {

// Forwards everything to `device`, which must outlive the result and all its queues.
[[nodiscard]] std::unique_ptr<ZonedDevice> Borrow(ZonedDevice& device);
// The same, with these limits of open and active zones in the geometry.
[[nodiscard]] std::unique_ptr<ZonedDevice> BorrowWithSlots(ZonedDevice& device, std::uint32_t max_open,
                                                           std::uint32_t max_active);

}  // namespace zenfs
