// Reports of the pool: the sums of space, the state of each zone, and a check of its invariants.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "zone/zone_pool.h"

namespace zenfs {

SpaceReport ZonePool::Space() const {
  const ZoneTable::Totals& sum = table_.totals();
  SpaceReport report;
  report.metadata = sum.metadata;
  report.live = sum.live;
  report.garbage = sum.garbage;
  report.lost = sum.lost;
  // The reserve is counted in mean capacities, because the device may have changed the capacity of some zones.
  const std::size_t pool_zones = empty_.size() + pending_resets_;
  const std::size_t kept = std::min<std::size_t>(pool_zones, KeptForLog());
  const std::uint64_t kept_bytes = pool_zones == 0 ? 0 : sum.pool / pool_zones * kept;
  report.log = sum.log + kept_bytes;
  const std::uint64_t room = sum.room + (sum.pool - kept_bytes);
  report.reclaim = std::min(room, setup_.headroom);
  report.free = room - report.reclaim;
  report.total = report.metadata + report.log + report.reclaim + report.live + report.garbage + report.free +
                 report.lost;
  return report;
}

ZoneStatus ZonePool::Zone(ZoneId zone) const {
  const ZoneState& z = table_[zone];
  return {.id = zone,
          .phase = z.phase,
          .lifetime = z.lifetime,
          .capacity = z.capacity,
          .written = z.written,
          .live = z.live,
          .uncommitted = z.uncommitted,
          .age = filled_ - z.filled,
          .pins = z.pins,
          .incarnation = z.incarnation};
}

std::vector<ZoneStatus> ZonePool::Zones() const {
  std::vector<ZoneStatus> zones;
  zones.reserve(table_.size());
  for (std::uint32_t i = 0; i < table_.size(); ++i) zones.push_back(Zone(ZoneId(i)));
  return zones;
}

std::vector<std::string> ZonePool::Check() const {
  std::vector<std::string> broken;
  const auto expect = [&]<typename... Values>(bool holds, fmt::format_string<Values...> text,
                                              Values&&... values) {
    if (!holds) broken.push_back(fmt::format(text, std::forward<Values>(values)...));
  };
  std::size_t active = 0, empty = 0, dead = 0, slots = 0, writers = 0;
  std::uint64_t granted = 0;
  for (std::uint32_t i = 0; i < table_.size(); ++i) {
    const ZoneState& z = table_.Peek(ZoneId(i));
    active += z.phase == ZonePhase::kActive;
    empty += z.phase == ZonePhase::kEmpty;
    dead += z.phase == ZonePhase::kDead;
    slots += z.holds_slot;
    writers += z.writer;
    granted += z.granted;
    const bool listed = std::ranges::find(active_, ZoneId(i)) != active_.end();
    expect(listed == (z.phase == ZonePhase::kActive), "zone {} is {} but {} in the list of active zones", i,
           PhaseName(z.phase), listed ? "is" : "is not");
    expect(z.phase != ZonePhase::kActive || setup_.read_only || (z.holds_slot && z.room() != 0),
           "active zone {} has no slot or no room", i);
    expect(!z.holds_slot || z.phase == ZonePhase::kActive || z.job || z.from_log,
           "zone {} ({}) holds a slot without need", i, PhaseName(z.phase));
    expect(z.phase != ZonePhase::kDead || z.job, "dead zone {} has no reset queued", i);
    expect(z.phase != ZonePhase::kEmpty || (z.written == 0 && z.live == 0 && z.pins == 0),
           "empty zone {} is not empty", i);
    expect(z.written <= z.capacity, "zone {} is written beyond its capacity", i);
  }
  expect(active == active_.size(), "the list of active zones contains a zone twice");
  expect(empty == empty_.size(), "the list of empty zones is wrong");
  expect(dead == pending_resets_, "the count of pending resets is wrong");
  expect(slots == slots_used_, "the count of slots is wrong");
  expect(writers == writers_, "the count of writers is wrong");
  expect(granted == granted_, "the sum of granted room is wrong");
  expect(promised_ == 0 || setup_.headroom != 0, "room is promised without a headroom");
  return broken;
}

bool ZonePool::Sound() const {
  if (!started_) return true;
  for (const ZoneId zone : active_) {
    [[maybe_unused]] const ZoneState& z = table_.Peek(zone);
    ZENFS_ASSERT(z.phase == ZonePhase::kActive);
    ZENFS_ASSERT(setup_.read_only || (z.holds_slot && z.room() != 0));
    ZENFS_ASSERT(z.granted <= granted_);
  }
  ZENFS_ASSERT(setup_.read_only || active_.size() <= slots_used_);
  if (!std::has_single_bit(++sound_calls_)) return true;
  const std::vector<std::string> broken = Check();
  if (!broken.empty()) FailAssertion("zone pool: " + broken.front() + "\n");
  return true;
}

}  // namespace zenfs
