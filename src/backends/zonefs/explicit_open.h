// Whether a zonefs was mounted with the option explicit-open, which /proc/mounts does not show.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "backends/zonefs/zone_files.h"

namespace zenfs {

// Tells the number of active zone files; zonefs_limits.h.
using ActiveCount = std::function<std::optional<std::uint32_t>()>;

// Opens an empty zone for writing and sees whether zonefs counts it as active, which it does only if the open file is
// an open zone. The zone is empty and closed again afterwards. Nothing where it can't be told: no count, no empty zone,
// `max_active` zones active already (0: no limit).
[[nodiscard]] std::optional<bool> IsExplicitOpen(const ZoneFiles& files, const ActiveCount& active,
                                                 std::uint32_t max_active);

}  // namespace zenfs
