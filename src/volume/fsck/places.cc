#include "volume/fsck/places.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/saturating.h"
#include "file/extent_checksum.h"

namespace zenfs {

bool LiesInOneZone(const Extent& extent, const Geometry& geometry) {
  if (extent.place.value >= geometry.size_bytes()) return false;
  if (!IsMultiple(extent.place.value, geometry.block_size)) return false;
  const std::uint64_t in_zone = extent.place - geometry.ZoneStart(geometry.ZoneOf(extent.place));
  return extent.length <= geometry.zone_size - in_zone;
}

bool StandsOnDevice(ZonedDevice& device, std::span<const ZoneInfo> report, const Extent& extent) {
  const Geometry& geometry = device.geometry();
  if (!LiesInOneZone(extent, geometry)) return false;
  const ZoneId zone = geometry.ZoneOf(extent.place);
  const std::uint64_t in_zone = extent.place - geometry.ZoneStart(zone);
  if (report[zone.value].WrittenBytes() < in_zone + extent.length) return false;
  return !geometry.volatile_cache || FitsChecksum(device, extent);
}

Status SumOfExtents::Add(std::span<const Extent> extents, const Geometry& geometry) {
  for (const Extent& extent : extents) bytes_ = SaturatingSum(bytes_, extent.length);
  if (bytes_ <= geometry.size_bytes()) return {};
  return Fail(Code::kCorruption, "extents that were flushed and not synced have more bytes than the device");
}

bool CanBeLogZone(ZoneId zone, std::span<const ZoneInfo> report, std::span<const ZoneId> metadata_zones) {
  return zone.value < report.size() && report[zone.value].type == ZoneType::kSequentialRequired &&
         std::ranges::find(metadata_zones, zone) == metadata_zones.end();
}

Status CheckPlaces(const State& state, const KnownZones& zones, const std::string& device) {
  constexpr std::string_view kAdvice = "run zenfs check, and restore from a backup";
  const Geometry& geometry = zones.geometry;
  for (const auto& [id, zone] : state.log_zones()) {
    if (CanBeLogZone(id, zones.report, zones.metadata_zones)) continue;
    const std::string why = id.value < geometry.zone_count
                                ? "which can't be a log zone"
                                : fmt::format("but the device has only {} zones", geometry.zone_count);
    return Fail(Code::kCorruption, fmt::format("{}: the metadata log allocates zone {} to the log, {}; {}",
                                               device, id.value, why, kAdvice));
  }
  for (const auto& [id, record] : state.files()) {
    for (const Extent& extent : record->extents) {
      const bool possible = LiesInOneZone(extent, geometry);
      const auto& metadata = zones.metadata_zones;
      if (possible && std::ranges::find(metadata, geometry.ZoneOf(extent.place)) == metadata.end()) continue;
      return Fail(
          Code::kCorruption,
          fmt::format("{}: the metadata log has {} bytes of file {} at device byte {}, which is {}; {}",
                      device, extent.length, id.value, extent.place.value,
                      possible ? "in a metadata zone" : "not within one zone", kAdvice));
    }
  }
  return {};
}

}  // namespace zenfs
