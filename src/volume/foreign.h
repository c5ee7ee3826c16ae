// Tells what else a device may hold, so that mkfs can refuse by name.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "device/zoned_device.h"

namespace zenfs {

// "an ext4 file system", "data in 12 zones", ...; nothing when the device is blank. What can't be read does
// not count. `report` covers all zones.
[[nodiscard]] std::optional<std::string> FindForeignContent(ZonedDevice& device,
                                                            std::span<const ZoneInfo> report);

}  // namespace zenfs
