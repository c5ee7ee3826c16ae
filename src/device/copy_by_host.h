// A Copy for devices that exist only in this process or its files.
#pragma once

#include <cstdint>

#include "device/zoned_device.h"

namespace zenfs {

// Checks the request, then reads and writes: the same effects, errors and outcomes as those of both.
// kNotSupported if device.geometry().max_copy_bytes is 0.
[[nodiscard]] Status CopyByHost(ZonedDevice& device, DeviceOffset from, DeviceOffset to,
                                std::uint64_t length);

}  // namespace zenfs
