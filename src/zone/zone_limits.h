// The device's limits of open and active zones. SlotPlan divides them among their users, by a pure function of the limits;
// SlotBudget counts the slots of data in use.
//
//   limit (max_active; max_open for open_data)     metadata switch log  reclaim   data
//   none                                           own       own   own  own       kUnlimitedDataSlots
//   6 or more                                      own       own   own  own       limit - 4
//   5                                              own       shared one    own    2
//   4                                              own       shared one    own    1
//   below 4                                        refused
//
// A volume with two copies of its metadata log (metalog/metazones.h) has two slots more for metadata and for the switch, and
// data has two less; it has them only if the limit is 8 or more.
//
// A log that is written to several zones in turns (LogGroup in zone/spread.h) has a slot for each: then data has less by so many.
//
// On a device with random write areas, and 7 or more zones, the log has a second one: then data has limit - 5.
//
// Of two joined devices (Geometry::log_zones) these are the limits of the main one. The log needs none of them: the limit
// counts as one more, and data has the log's share. There is no sync zone if the second device has fewer than three slots for
// log zones.
//
// No drive on the market allows fewer than four: NVMe ZNS drives allow 14 or more, SMR disks 128.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "base/status.h"
#include "device/geometry.h"
#include "zone/zone_allocation.h"
#include "zone/zone_states.h"

namespace zenfs {

inline constexpr std::uint32_t kFewestSlots = 4;
inline constexpr std::uint32_t kUnlimitedDataSlots = 32;

struct SlotPlan {
  std::uint32_t data = 0;       // zones that plain files may keep active at once
  std::uint32_t open_data = 0;  // zones of plain files that may be written at the same time
  bool switch_and_reclaim_share = false;
  bool sync_zone = false;  // the log may keep one more zone active, for sync blocks (wal/zrwa_sync_blocks.h)

  // True if copies of live data may keep one more zone active and open than `data` and `open_data`.
  bool reclaim_has_slot() const { return !switch_and_reclaim_share; }

  friend bool operator==(const SlotPlan&, const SlotPlan&) = default;
};

// Errors: kNotSupported if a limit is below kFewestSlots; the message contains the limits and `device`.
[[nodiscard]] Result<SlotPlan> PlanSlots(const Geometry& geometry, std::string_view device,
                                         std::uint32_t metadata_copies = 1);

// For the second of two joined devices: the slots of zones that came back from the log, as `data`. The zones that the log
// writes have the others.
[[nodiscard]] SlotPlan PlanReturnedLogSlots(const Geometry& geometry);

// Counts the slots of data in use against the plan: active zones, and zones being written.
//
// Invariants
//   holds_slot is true for exactly used() zones
//   writers() is at most plan.open_data, and one more if copies have their own slot
// used() may exceed the plan: an earlier mount left more zones active, or the log released zones.
//
// Threads: not thread-safe; the owner locks. Units: zones.
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
  void Release(ZoneState& state);

  // --- zones being written ---
  std::uint32_t writers() const { return writers_; }
  bool MayWrite(WritePurpose purpose) const { return writers_ < plan_.open_data + Extra(purpose); }
  void BeginWriter();
  void ReleaseWriter();

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
