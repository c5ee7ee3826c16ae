// What is known of every zone, found by its number in O(1), with sums over all zones kept up to date by each
// change, so that nobody ever walks the table at run time.
//
// Invariant: totals() is the sum of what each zone contributes in its present state.
//
// Threads: none of its own; the owner locks.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/assert.h"
#include "zone/space_report.h"

namespace zenfs {

struct ZoneState {
  std::uint64_t capacity = 0;
  std::uint64_t written = 0;  // bytes from the start of the zone
  std::uint64_t live = 0;     // by OccupiedBytes
  // Place of the first live byte seen at mount: the file there gave the zone its lifetime.
  std::uint64_t first_adopted = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t uncommitted =
      0;                      // written for files that may yet commit it: pinned, and neither live nor dead
  std::uint64_t filled = 0;   // the pool's count of filled zones when it was
  std::uint64_t granted = 0;  // what the zone's writer may still write, if it writes data
  std::uint32_t pins = 0;
  std::uint32_t claims = 0;
  std::uint32_t incarnation = 0;  // raised when the zone leaves use: older claims on it mean nothing
  ZonePhase phase = ZonePhase::kUnusable;
  Lifetime lifetime = Lifetime::kNotSet;
  bool writer = false;      // somebody holds its ZoneWriter
  bool holds_slot = false;  // counts against the device's active zones, on the budget of data
  bool job = false;         // a reset or finish is queued or running
  bool from_log = false;    // was lent to the log; how far it is written only the device knows
  bool distrusted = false;  // accounting contradicted itself: never reset in this mount

  std::uint64_t room() const { return written < capacity ? capacity - written : 0; }
  // Nothing can still read, write or name what is in it (design rule 6).
  bool Unused() const { return live == 0 && pins == 0 && !writer && !distrusted; }
};

class ZoneTable {
 public:
  struct Totals {
    std::uint64_t metadata = 0;
    std::uint64_t log = 0;
    std::uint64_t live = 0;
    std::uint64_t garbage = 0;
    std::uint64_t room = 0;  // in active zones
    std::uint64_t pool = 0;  // empty zones and those being reset
    std::uint64_t lost = 0;
    std::uint64_t pinned_dead =
        0;  // full zones with nothing live, and not all of it uncommitted, that a pin keeps from a reset
  };

  explicit ZoneTable(std::size_t count) : zones_(count) {}

  std::size_t size() const { return zones_.size(); }
  bool Has(ZoneId zone) const { return zone.value < zones_.size(); }
  const ZoneState& operator[](ZoneId zone) const {
    ++visits_;
    return zones_[zone.value];
  }
  // The same, not counted as a visit: for checks.
  const ZoneState& Peek(ZoneId zone) const { return zones_[zone.value]; }
  // Calls change(ZoneState&) and keeps the totals right.
  template <typename F>
  void Change(ZoneId zone, F&& change) {
    ++visits_;
    ZoneState& state = zones_[zone.value];
    Count(state, -1);
    change(state);
    ZENFS_ASSERT(state.written <= state.capacity);
    ZENFS_ASSERT(state.granted == 0 || state.writer);
    Count(state, +1);
  }
  const Totals& totals() const { return totals_; }
  // How often a zone was looked at or changed: what tests of cost count.
  std::uint64_t visits() const { return visits_; }

 private:
  void Count(const ZoneState& state, int sign);

  std::vector<ZoneState> zones_;
  Totals totals_;
  mutable std::uint64_t visits_ = 0;
};

}  // namespace zenfs
