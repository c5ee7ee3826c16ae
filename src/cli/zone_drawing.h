// Draws the zones of a volume, as text or as an image. Pure: the same input gives the same output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/styled_text.h"
#include "zone/zone_manager.h"

namespace zenfs {

// For a terminal or a plain file. Each zone is a bar: the live part first, then dead bytes, then the unwritten part. If the bars need
// more rows than `max_bar_rows`, each zone is one character. No line is longer than terminal.columns. Ends with a legend of the signs
// used.
[[nodiscard]] StyledText DrawZones(std::span<const ZoneStatus> zones, const Terminal& terminal,
                                   std::size_t max_bar_rows = 48);

// The zones with live data of one kind, and those without any.
struct ZoneGroup {
  StyledText sign;        // as DrawZones shows live data of the kind
  std::string_view name;  // "short", "log"
  std::size_t zones = 0;
  std::uint64_t live = 0;  // bytes, as the next ones
  std::uint64_t dead = 0;
  std::uint64_t unwritten = 0;
};
// Groups that have no zone are left out. The order is: lifetimes, log, metadata, zones that ZenFS does not use, empty zones.
[[nodiscard]] std::vector<ZoneGroup> GroupZones(std::span<const ZoneStatus> zones, const Terminal& terminal);

// Called with each part of the image, in order: a million zones have an image of 30 MB.
using SvgSink = std::function<void(std::string_view part)>;

// A self-contained SVG image, without scripts, fonts or external files. It is readable on light and dark backgrounds, in print, and for
// colour-blind people. Each cell has a tooltip; it is a zone or, with many, the sum of several with a small bar for each.
// `title` and `subtitle` may be any text.
void DrawZonesAsSvg(std::span<const ZoneStatus> zones, std::string_view title, std::string_view subtitle,
                    const SvgSink& write);

}  // namespace zenfs
