// Wraps a device, validates its geometry and its zone reports, and checks that each append landed inside its zone. A
// contradiction is an error whose text names both values. Every device is mounted through this wrapper.
#pragma once

#include <memory>

#include "device/zoned_device.h"

namespace zenfs {

// Errors: kInvalidArgument if `device` is not a usable zoned device: it has no zones, the block size is not a power of two
// in [512, 65536], the zone size is not a multiple of it, or the first zone report contradicts the geometry (a capacity
// above the zone size, zones that do not follow one another). Later contradictions are kCorruption.
[[nodiscard]] Result<std::unique_ptr<ZonedDevice>> CheckDevice(std::unique_ptr<ZonedDevice> device);

}  // namespace zenfs
