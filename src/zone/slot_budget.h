// Counts the slots of data in use against the plan: active zones, and zones being written.
//
// Invariants
//   holds_slot is true for exactly used() zones
//   writers() is at most plan.open_data, and one more if copies have their own slot
// used() may exceed the plan: an earlier mount left more zones active, or zones came back from the log.
//
// Threads: not thread-safe; the owner locks. Units: zones. Errors: none.
#pragma once

#include <cstdint>

#include "base/assert.h"
#include "zone/reclaim_need.h"
#include "zone/slot_plan.h"
#include "zone/zone_table.h"

namespace zenfs {

class SlotBudget {
 public:
  explicit SlotBudget(const SlotPlan& plan) : plan_(plan) {}

  // --- active zones ---
  std::uint32_t used() const { return used_; }
  // True if a write for `purpose` may activate one more zone.
  bool MayActivate(WritePurpose purpose) const { return used_ < plan_.data + Extra(purpose); }
  // True if more zones hold a slot than the plan allows for data and copies together.
  bool exceeded() const { return used_ > plan_.data + Extra(WritePurpose::kReclaim); }
  // Both calls may be repeated. Call them inside ZoneTable::Change.
  void Hold(ZoneState& state);
  void Free(ZoneState& state);

  // --- zones being written ---
  std::uint32_t writers() const { return writers_; }
  bool MayWrite(WritePurpose purpose) const { return writers_ < plan_.open_data + Extra(purpose); }
  void BeginWriter();
  void EndWriter();

 private:
  // The slot that only copies may use.
  std::uint32_t Extra(WritePurpose purpose) const {
    return purpose == WritePurpose::kReclaim && plan_.reclaim_has_slot() ? 1 : 0;
  }

  const SlotPlan plan_;
  std::uint32_t used_ = 0;
  std::uint32_t writers_ = 0;
};

}  // namespace zenfs
