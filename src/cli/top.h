// The screen of `zenfs top`. Pure.
#pragma once

#include <cstddef>
#include <span>

#include "cli/console.h"
#include "cli/styled_text.h"
#include "cli/volume_watch.h"

namespace zenfs {

// The volume with the number `shown` in detail, then a line for each of them if there are several. With 24 rows of 80 columns, one of
// them for keys, all details can be seen; with more rows more operations, with more columns more figures of each.
[[nodiscard]] StyledText TopPage(std::span<const WatchedVolume> volumes, std::size_t shown,
                                 const Terminal& terminal, int rows);

}  // namespace zenfs
