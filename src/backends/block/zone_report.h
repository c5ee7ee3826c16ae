// Reports longer than the kernel gives in one call.
#pragma once

#include <vector>

#include "backends/block/zone_control.h"
#include "base/status.h"

namespace zenfs {

// Exactly `count` zones of `zone_size` from `first` on. Errors: kIo and its like with the errno; kCorruption if the
// device reports fewer.
[[nodiscard]] Result<std::vector<ReportedZone>> ReportZones(ZoneControl& control, const std::string& device,
                                                            std::uint64_t zone_size, ZoneId first,
                                                            std::uint32_t count);

}  // namespace zenfs
