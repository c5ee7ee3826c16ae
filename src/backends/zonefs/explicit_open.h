// Finds out whether a zonefs was mounted with the option explicit-open, which /proc/mounts does not
// show.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "backends/zonefs/zone_files.h"

namespace zenfs {

// Returns the number of active zone files (zonefs_limits.h).
using ActiveCount = std::function<std::optional<std::uint32_t>()>;

// Opens an empty zone for writing and checks whether zonefs counts it as active; it does so only
// with explicit-open. The zone is empty and closed again on return. Returns nothing if the test is
// impossible: no count, no empty zone, or `max_active` zones are active already (0: no limit).
[[nodiscard]] std::optional<bool> IsExplicitOpen(const ZoneFiles& files, const ActiveCount& active,
                                                 std::uint32_t max_active);

}  // namespace zenfs
