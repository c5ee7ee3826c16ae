// Draws the zones of a volume for a terminal or a plain file. Pure: the same input gives the same
// text.
//
// Each zone is a bar: the live part first, then dead bytes, then the unwritten part. If there are
// too many zones, each is one character.
#pragma once

#include <span>
#include <string>

#include "cli/console.h"
#include "zone/zone_manager.h"

namespace zenfs {

// No line is longer than terminal.columns. Ends with a legend of the signs used.
[[nodiscard]] std::string DrawZones(std::span<const ZoneStatus> zones, const Terminal& terminal);

}  // namespace zenfs
