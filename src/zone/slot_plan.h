// Who may use how many of the device's open and active zones: a pure function of its limits (design rule 7).
//
//   limit (max_active; max_open for open_data)     metadata switch log  reclaim   data
//   none                                           own       own   own  own       kUnlimitedDataSlots
//   6 or more                                      own       own   own  own       limit - 4
//   5                                              own       shared one    own    2
//   4                                              own       shared one    own    1
//   below 4                                        refused
//
// No drive on the market has fewer than four: NVMe ZNS drives have 14 and more, SMR disks 128.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "device/geometry.h"

namespace zenfs {

inline constexpr std::uint32_t kFewestSlots = 4;
inline constexpr std::uint32_t kUnlimitedDataSlots = 32;

struct SlotPlan {
  std::uint32_t data = 0;       // zones that plain files may keep active at once
  std::uint32_t open_data = 0;  // of these, being written at the same moment
  bool switch_and_reclaim_share = false;

  // Copies of live data may keep one zone more active, and one more open, than data.
  bool reclaim_has_slot() const { return !switch_and_reclaim_share; }

  friend bool operator==(const SlotPlan&, const SlotPlan&) = default;
};

// Errors: kNotSupported if a limit is below kFewestSlots; the message has the limits, and `device` as its name.
[[nodiscard]] Result<SlotPlan> PlanSlots(const Geometry& geometry, std::string_view device);

}  // namespace zenfs
