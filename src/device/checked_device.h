// Holds a device to its word (design rule 12): wraps another device, validates its geometry and reports, and
// checks that an append landed inside its zone. What contradicts itself is refused with both values in the
// message. Everything that mounts a device mounts it through this.
#pragma once

#include <memory>

#include "device/zoned_device.h"

namespace zenfs {

// Errors: kInvalidArgument if `device` is not usable as a zoned device at all: no zones, a zone size that is
// not a multiple of the block size, a block size that is not a power of two in [512, 65536], a capacity above
// the zone size, zones that do not follow one another.
[[nodiscard]] Result<std::unique_ptr<ZonedDevice>> CheckDevice(std::unique_ptr<ZonedDevice> device);

}  // namespace zenfs
