#include "zone/spread.h"

#include <algorithm>

#include "base/bytes.h"

namespace zenfs {
namespace {

// Drives of large zones have 14 active ones, or 128 open ones (disks); those of small zones have 384 of 96 MiB.
constexpr std::uint32_t kManyActive = 128;
constexpr std::uint64_t kSmallZone = 128 << 20;
// As many as such a drive writes at once. Flushes of a fast host fill all of its bandwidth.
constexpr std::uint32_t kZones = 40;
// Eight groups of zones, one for each lifetime and writer, find slots; and they are a small part of the device.
constexpr std::uint32_t kGroups = 8;
constexpr std::uint32_t kLeastGroupsOfDevice = 24;

// A database writes its log once and its data more often, so fewer zones are enough. A volume keeps three groups from
// data: that which the log writes, the next one, and the headroom.
constexpr std::uint32_t kLogZones = 16;
constexpr std::uint32_t kLeastLogGroupsOfDevice = 64;
constexpr std::uint32_t kLeastLogGroupsOfSlots = 8;

constexpr std::uint64_t kUnit = 128 << 10;
constexpr std::uint64_t kLeastTurns = 16;  // in which a zone is filled

}  // namespace

std::uint64_t SpreadUnit(const Geometry& geometry) {
  const std::uint64_t turn = RoundDown(geometry.zone_size / kLeastTurns, std::uint64_t{geometry.block_size});
  return std::clamp<std::uint64_t>(turn, geometry.block_size, kUnit);
}

bool HasManySmallZones(const Geometry& geometry) {
  return geometry.max_active >= kManyActive && geometry.zone_size <= kSmallZone;
}

std::uint32_t DefaultSpread(const Geometry& geometry, const SlotPlan& plan) {
  if (!HasManySmallZones(geometry)) return 1;
  return std::max(1U, std::min({kZones, plan.data / kGroups, geometry.main_zones() / kLeastGroupsOfDevice}));
}

std::uint32_t LogGroup(const Geometry& geometry) {
  if (!HasManySmallZones(geometry) || geometry.log_zones != 0) return 1;
  const std::uint32_t slots =
      geometry.max_open == 0 ? geometry.max_active : std::min(geometry.max_open, geometry.max_active);
  return std::max(1U, std::min({kLogZones, geometry.main_zones() / kLeastLogGroupsOfDevice,
                                slots / kLeastLogGroupsOfSlots}));
}

}  // namespace zenfs
