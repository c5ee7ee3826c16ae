// How many empty zones the log keeps for itself: as many again as it has ready, so that syncs go on when the
// device is full of data. Devices with few zones can't afford two.
#pragma once

#include <cstdint>

#include "device/geometry.h"
#include "zone/slot_plan.h"

namespace zenfs {

inline constexpr std::uint32_t kFewZones = 16;

inline std::uint32_t LogReserve(const Geometry& geometry, std::size_t metadata_zones, const SlotPlan& plan) {
  const auto others = geometry.zone_count - static_cast<std::uint32_t>(metadata_zones);
  return plan.log_carries_data || others < kFewZones ? 1 : 2;
}

}  // namespace zenfs
