// Draws the zones of a volume as a self-contained SVG image, without scripts, fonts or external
// files. It is readable on light and dark backgrounds; each zone has a tooltip. Pure.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "zone/zone_manager.h"

namespace zenfs {

// Called with each part of the image, in order: a million zones have an image of 300 MB.
using SvgSink = std::function<void(std::string_view part)>;

// `title` and `subtitle` may be any text.
void DrawZonesAsSvg(std::span<const ZoneStatus> zones, std::string_view title, std::string_view subtitle,
                    const SvgSink& write);

}  // namespace zenfs
