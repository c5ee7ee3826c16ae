#include "backends/emulator/emulator_geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/bytes.h"
#include "base/short_bytes.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kMaxAppend = 1u << 20;
constexpr std::uint64_t kMaxDeviceSize = std::uint64_t{1} << 56;  // 64 PiB; keeps every sum within 63 bits
// Ten times the zones of the largest drives. An open device needs about 24 bytes of memory per
// zone, and a small file can claim any number of zones.
constexpr std::uint32_t kMaxZones = 1u << 20;

std::unexpected<Error> Bad(std::string text) { return Fail(Code::kInvalidArgument, std::move(text)); }

Status ValidateRandomArea(const EmulatorGeometry& g) {
  if (g.random_area == 0) {
    if (g.random_unit == 0 && g.random_zones == 0) return {};
    return Bad("a random unit or a number of zones without a random write area");
  }
  if (g.random_unit == 0 || !IsMultiple(g.random_unit, g.block_size)) {
    return Bad(fmt::format("random unit {} is not a multiple of the block size {}", ShortBytes(g.random_unit),
                           g.block_size));
  }
  if (!IsMultiple(g.random_area, g.random_unit)) {
    return Bad(fmt::format("random area {} is not a multiple of the random unit {}",
                           ShortBytes(g.random_area), ShortBytes(g.random_unit)));
  }
  if (g.random_area > g.capacity()) {
    return Bad(fmt::format("random area {} is above the capacity of a zone, {}", ShortBytes(g.random_area),
                           ShortBytes(g.capacity())));
  }
  if (g.random_zones == 0) return Bad("a random area for 0 zones: at least one zone must be able to have it");
  return {};
}

}  // namespace

Status Validate(const EmulatorGeometry& g) {
  if (g.block_size < 512 || g.block_size > 65536 || !std::has_single_bit(g.block_size)) {
    return Bad(fmt::format("block size {} is not a power of two from 512 to 65536", g.block_size));
  }
  if (g.zones == 0 || g.zones > kMaxZones) {
    return Bad(fmt::format("{} zones: an emulated device has 1 to {}", g.zones, kMaxZones));
  }
  if (g.zone_size == 0 || !IsMultiple(g.zone_size, g.block_size)) {
    return Bad(fmt::format("zone size {} is not a multiple of the block size {}", g.zone_size, g.block_size));
  }
  if (g.zone_size > kMaxDeviceSize / g.zones) {
    return Bad(fmt::format("{} zones of {} are more than the 64 PiB that can be emulated", g.zones,
                           ShortBytes(g.zone_size)));
  }
  if (g.zone_capacity > g.zone_size) {
    return Bad(fmt::format("zone capacity {} is above the zone size {}", ShortBytes(g.zone_capacity),
                           ShortBytes(g.zone_size)));
  }
  if (!IsMultiple(g.zone_capacity, g.block_size)) {
    return Bad(fmt::format("zone capacity {} is not a multiple of the block size {}", g.zone_capacity,
                           g.block_size));
  }
  if (g.conventional >= g.zones) {
    return Bad(
        fmt::format("{} conventional zones of {} leave no zone to write in order", g.conventional, g.zones));
  }
  if (g.max_active != 0 && (g.max_open == 0 || g.max_open > g.max_active)) {
    return Bad(fmt::format("max-open {} is above max-active {}: every open zone is active (0 means no limit)",
                           g.max_open == 0 ? "unlimited" : fmt::to_string(g.max_open), g.max_active));
  }
  return ValidateRandomArea(g);
}

Geometry ToDeviceGeometry(const EmulatorGeometry& g, bool volatile_cache, bool loses_unflushed) {
  return Geometry{.block_size = g.block_size,
                  .zone_size = g.zone_size,
                  .zone_count = g.zones,
                  .max_open = g.max_open,
                  .max_active = g.max_active,
                  .max_append_bytes = std::min(kMaxAppend, g.capacity()),
                  .max_copy_bytes = g.max_copy_bytes,
                  .random_area_bytes = g.random_area,
                  .random_area_unit = g.random_unit,
                  .random_area_zones = g.random_zones,
                  .volatile_cache = volatile_cache,
                  .keeps_unflushed = !loses_unflushed};
}

}  // namespace zenfs
