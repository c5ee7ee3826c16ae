// Draws the zones of a volume as a self-contained SVG image, without scripts, fonts or external
// files. It is readable on light and dark backgrounds; each zone has a tooltip. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "zone/zone_manager.h"

namespace zenfs {

// `title` and `subtitle` may be any text.
[[nodiscard]] std::string ZonesAsSvg(std::span<const ZoneStatus> zones, std::string_view title,
                                     std::string_view subtitle);

}  // namespace zenfs
