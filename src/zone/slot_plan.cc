#include "zone/slot_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace zenfs {
namespace {

// The lower of two limits; 0 means no limit.
std::uint32_t Lower(std::uint32_t a, std::uint32_t b) {
  if (a == 0) return b;
  if (b == 0) return a;
  return std::min(a, b);
}

std::uint32_t DataShare(std::uint32_t limit, std::uint32_t kept) {
  return limit == 0 ? kUnlimitedDataSlots : limit - kept;
}

}  // namespace

Result<SlotPlan> PlanSlots(const Geometry& geometry, std::string_view device) {
  const std::uint32_t limit = Lower(geometry.max_open, geometry.max_active);
  if (limit != 0 && limit < kFewestSlots) {
    return Fail(Code::kNotSupported,
                fmt::format("{}: the device allows {} open and {} active zones at once (0: no limit), and "
                            "ZenFS needs at least {} of each",
                            device, geometry.max_open, geometry.max_active, kFewestSlots));
  }
  SlotPlan plan;
  plan.switch_and_reclaim_share = limit == 4 || limit == 5;
  plan.sync_zone = geometry.random_area_bytes != 0 && (limit == 0 || limit > kFewestSlots + 2);
  const std::uint32_t kept = (plan.switch_and_reclaim_share ? 3 : 4) + (plan.sync_zone ? 1 : 0);
  plan.data = DataShare(geometry.max_active == 0 ? geometry.max_open : geometry.max_active, kept);
  plan.open_data = std::min(plan.data, DataShare(geometry.max_open, kept));
  return plan;
}

}  // namespace zenfs
