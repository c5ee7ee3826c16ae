// Reports of more zones than the kernel returns in one call.
#pragma once

#include <vector>

#include "backends/block/zone_control.h"
#include "base/status.h"

namespace zenfs {

// Returns exactly `count` zones of `zone_size` bytes from `first` on. Errors: by the errno, such as
// kIo; kCorruption if the device reports fewer zones.
[[nodiscard]] Result<std::vector<ReportedZone>> ReportZones(ZoneControl& control, const std::string& device,
                                                            std::uint64_t zone_size, ZoneId first,
                                                            std::uint32_t count);

}  // namespace zenfs
