// Who may use how many of the device's open and active zones: a pure function of its limits (design rule 7).
//
//   limit (max_active; max_open for open_data)     metadata  roll  log  reclaim   data
//   none                                           own       own   own  own       kUnlimitedDataSlots
//   6 or more                                      own       own   own  own       limit - 4
//   5                                              own       shared one    own    2
//   4                                              own       shared one    own    1
//   3                                              own       own   log and data share one
//   2                                              shared    -     log and data share one
//   below 2                                        refused
//
// "shared" with a limit of 2: the old metadata zone is finished before the next one is opened.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "device/geometry.h"

namespace zenfs {

inline constexpr std::uint32_t kUnlimitedDataSlots = 32;

struct SlotPlan {
  std::uint32_t data = 0;         // zones that plain files may keep active at once
  std::uint32_t open_data = 0;    // of these, being written at the same moment
  bool log_carries_data = false;  // plain data goes into log zones as frames
  bool roll_and_reclaim_share = false;
  bool finish_metadata_before_roll = false;

  // Copies of live data may keep one zone more active, and one more open, than data.
  bool reclaim_has_slot() const { return data != 0 && !roll_and_reclaim_share; }

  friend bool operator==(const SlotPlan&, const SlotPlan&) = default;
};

// Errors: kNotSupported when a limit is below 2, with the limit and the reason.
[[nodiscard]] Result<SlotPlan> PlanSlots(const Geometry& geometry);

}  // namespace zenfs
