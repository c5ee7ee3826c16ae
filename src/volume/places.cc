#include "volume/places.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace zenfs {

bool LiesInOneZone(const Extent& extent, const Geometry& geometry) {
  if (extent.place.value >= geometry.size_bytes()) return false;
  if (!IsMultiple(extent.place.value, geometry.block_size)) return false;
  const std::uint64_t in_zone = extent.place - geometry.ZoneStart(geometry.ZoneOf(extent.place));
  return extent.length <= geometry.zone_size - in_zone;
}

Status CheckPlaces(const State& state, const Geometry& geometry, const std::string& device) {
  constexpr std::string_view kAdvice = "run zenfs check, and restore from a backup";
  for (const auto& [id, zone] : state.log_zones()) {
    if (id.value < geometry.zone_count) continue;
    return Fail(
        Code::kCorruption,
        fmt::format("{}: the metadata log reserves zone {} for the log, and the device has {} zones; {}",
                    device, id.value, geometry.zone_count, kAdvice));
  }
  for (const auto& [id, record] : state.files()) {
    for (const Extent& extent : record->extents) {
      if (LiesInOneZone(extent, geometry)) continue;
      return Fail(
          Code::kCorruption,
          fmt::format("{}: the metadata log has {} bytes of file {} at device byte {}, which is not within "
                      "one zone; {}",
                      device, extent.length, id.value, extent.place.value, kAdvice));
    }
  }
  return {};
}

}  // namespace zenfs
