// Draws the zones of a volume as an SVG image that stands alone: no scripts, fonts or files from elsewhere; readable on a
// light and on a dark background; each zone tells about itself when it is pointed at. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "zone/zone_manager.h"

namespace zenfs {

// `title` and `subtitle` are any text.
[[nodiscard]] std::string ZonesAsSvg(std::span<const ZoneStatus> zones, std::string_view title,
                                     std::string_view subtitle);

}  // namespace zenfs
