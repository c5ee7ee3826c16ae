// Recognizes other contents of a device, so that mkfs can refuse it and name the contents.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "device/zoned_device.h"

namespace zenfs {

// "an XFS file system", "data of an unknown kind in 12 zones", ...; nothing if the device is blank. Ignores blocks that can't
// be read. `report` covers all zones.
[[nodiscard]] std::optional<std::string> FindForeignContent(ZonedDevice& device,
                                                            std::span<const ZoneInfo> report);

}  // namespace zenfs
