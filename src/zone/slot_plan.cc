#include "zone/slot_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace zenfs {
namespace {

// 0 stands for "no limit".
std::uint32_t Lower(std::uint32_t a, std::uint32_t b) {
  if (a == 0) return b;
  if (b == 0) return a;
  return std::min(a, b);
}

std::uint32_t DataShare(std::uint32_t limit, std::uint32_t kept) {
  return limit == 0 ? kUnlimitedDataSlots : limit - kept;
}

}  // namespace

Result<SlotPlan> PlanSlots(const Geometry& geometry) {
  const std::uint32_t limit = Lower(geometry.max_open, geometry.max_active);
  if (limit == 1) {
    return Fail(
        Code::kNotSupported,
        fmt::format("the device allows {} open and {} active zones at once (0: no limit); at least 2 of "
                    "each are needed, one for metadata and one for data",
                    geometry.max_open, geometry.max_active));
  }
  SlotPlan plan;
  if (limit == 2 || limit == 3) {
    plan.log_carries_data = true;
    plan.finish_metadata_before_roll = limit == 2;
    plan.roll_and_reclaim_share = true;
    return plan;
  }
  plan.roll_and_reclaim_share = limit == 4 || limit == 5;
  const std::uint32_t kept = plan.roll_and_reclaim_share ? 3 : 4;
  plan.data = DataShare(geometry.max_active == 0 ? geometry.max_open : geometry.max_active, kept);
  plan.open_data = std::min(plan.data, DataShare(geometry.max_open, kept));
  return plan;
}

}  // namespace zenfs
