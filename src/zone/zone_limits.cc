#include "zone/zone_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "zone/spread.h"

namespace zenfs {
namespace {

// Of a second device: the current log zone, the sync zone, and one that a mount needs or that waits for a finish.
constexpr std::uint32_t kFewestForSyncZone = 3;

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

Result<SlotPlan> PlanSlots(const Geometry& geometry, std::string_view device, std::uint32_t metadata_copies) {
  const std::uint32_t limit = Lower(geometry.max_open, geometry.max_active);
  if (limit != 0 && limit < kFewestSlots) {
    return Fail(Code::kNotSupported,
                fmt::format("{}: the device allows {} open and {} active zones at once (0: no limit), and "
                            "ZenFS needs at least {} of each",
                            device, geometry.max_open, geometry.max_active, kFewestSlots));
  }
  const bool log_apart = geometry.log_zones != 0;
  const std::uint32_t shares =
      limit + (log_apart ? 1 : 0);  // with the log's, which needs none if it is apart
  SlotPlan plan;
  plan.switch_and_reclaim_share = limit != 0 && shares < kFewestSlots + 2;
  const std::uint32_t second_copy = 2 * (metadata_copies - 1);  // its current zone, and that of a log switch
  const std::uint32_t log_limit = Lower(geometry.log_max_open, geometry.log_max_active);
  const bool has_sync_slot = log_apart ? log_limit == 0 || log_limit >= kFewestForSyncZone
                                       : limit == 0 || limit > kFewestSlots + 2 + second_copy;
  plan.sync_zone = geometry.random_area_bytes != 0 && has_sync_slot;
  const std::uint32_t kept = (plan.switch_and_reclaim_share ? 3 : 4) + second_copy - (log_apart ? 1 : 0) +
                             (plan.sync_zone && !log_apart ? 1 : 0) + (LogGroup(geometry) - 1);
  plan.data = DataShare(geometry.max_active == 0 ? geometry.max_open : geometry.max_active, kept);
  plan.open_data = std::min(plan.data, DataShare(geometry.max_open, kept));
  return plan;
}

SlotPlan PlanReturnedLogSlots(const Geometry& geometry) {
  const std::uint32_t limit = Lower(geometry.log_max_open, geometry.log_max_active);
  const std::uint32_t written =
      geometry.random_area_bytes != 0 ? 2 : 1;  // the current zone, and that of sync blocks
  SlotPlan plan;
  plan.data = limit == 0 ? kUnlimitedDataSlots : limit - std::min(limit, written);
  plan.switch_and_reclaim_share = true;  // no slot for copies
  return plan;
}

void SlotBudget::Hold(ZoneState& state) {
  if (!state.holds_slot) ++used_;
  state.holds_slot = true;
}

void SlotBudget::Release(ZoneState& state) {
  ZENFS_ASSERT(!state.holds_slot || used_ != 0);
  if (state.holds_slot) --used_;
  state.holds_slot = false;
}

void SlotBudget::BeginWriter() {
  ++writers_;
  ZENFS_ASSERT(writers_ <= plan_.open_data + Extra(WritePurpose::kReclaim));
}

void SlotBudget::ReleaseWriter() {
  ZENFS_ASSERT(writers_ != 0);
  --writers_;
}

}  // namespace zenfs
