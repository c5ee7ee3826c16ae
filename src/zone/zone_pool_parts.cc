#include "zone/zone_pool_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace zenfs {
namespace {

struct ZoneCounts {
  std::size_t active = 0, empty = 0, dead = 0, slots = 0, writers = 0;
  std::uint64_t granted = 0;  // bytes
};

// Of two devices that of the log has the spare (log_empty).
EmptyZones::LogShare ShareOf(const ZonePoolSetup& setup) {
  EmptyZones::LogShare share = setup.log;
  share.spare = setup.plan.sync_zone && setup.geometry.log_zones == 0 ? EmptyZones::kSpareForMount : 0;
  return share;
}

}  // namespace

ZonePoolParts::ZonePoolParts(const ZonePoolSetup& pool_setup, std::size_t zones)
    : setup(pool_setup),
      table(zones),
      slots(setup.plan),
      empty(ShareOf(setup)),
      log_slots(PlanReturnedLogSlots(setup.geometry)),
      room(table, empty, setup.geometry.block_size, setup.headroom),
      reclaim({.table = table,
               .empty = empty,
               .log_empty = log_apart() ? &log_empty : nullptr,
               .room = room,
               .jobs = jobs,
               .reclaims = setup.reclaims}) {}

std::vector<std::string> ZonePoolParts::Check() const {
  std::vector<std::string> broken;
  const auto expect = [&]<typename... Values>(bool holds, fmt::format_string<Values...> text,
                                              Values&&... values) {
    if (!holds) broken.push_back(fmt::format(text, std::forward<Values>(values)...));
  };
  ZoneCounts count;
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    const ZoneState& z = table.Peek(ZoneId(i));
    count.active += z.phase == ZonePhase::kActive;
    count.empty += z.phase == ZonePhase::kEmpty;
    count.dead += z.phase == ZonePhase::kDead;
    count.slots += z.holds_slot;
    count.writers += z.writer;
    count.granted += z.granted;
    const bool listed = std::ranges::find(active, ZoneId(i)) != active.end();
    expect(listed == (z.phase == ZonePhase::kActive), "zone {} is {} but {} in the list of active zones", i,
           PhaseName(z.phase), listed ? "is" : "is not");
    expect(z.phase != ZonePhase::kActive || setup.read_only || (z.holds_slot && z.room() != 0),
           "active zone {} has no slot or no room", i);
    expect(!z.holds_slot || z.phase == ZonePhase::kActive || z.job || z.from_log,
           "zone {} ({}) holds a slot without need", i, PhaseName(z.phase));
    expect(z.phase != ZonePhase::kDead || z.job, "dead zone {} has no reset queued", i);
    expect(z.phase != ZonePhase::kEmpty || (z.written == 0 && z.live == 0 && z.pins == 0),
           "empty zone {} is not empty", i);
    expect(z.phase != ZonePhase::kActive || !z.for_log || setup.read_only,
           "zone {} is the log's, but data writes it", i);
    expect(z.written <= z.capacity, "zone {} is written beyond its capacity", i);
  }
  expect(count.active == active.size(), "the list of active zones contains a zone twice");
  expect(count.empty == empty.all() + log_empty.all(), "the list of empty zones is wrong");
  expect(count.dead == empty.pending_resets() + log_empty.pending_resets(),
         "the count of pending resets is wrong");
  expect(count.slots == slots.used() + log_slots.used(), "the count of slots is wrong");
  expect(count.writers == slots.writers(), "the count of writers is wrong");
  expect(count.granted == room.granted(), "the sum of granted room is wrong");
  expect(room.promised() == 0 || setup.headroom != 0, "room is promised without a headroom");
  return broken;
}

bool ZonePoolParts::Sound() const {
  if (!started) return true;
  for (const ZoneId zone : active) {
    [[maybe_unused]] const ZoneState& z = table.Peek(zone);
    ZENFS_ASSERT(z.phase == ZonePhase::kActive);
    ZENFS_ASSERT(setup.read_only || (z.holds_slot && z.room() != 0));
    ZENFS_ASSERT(z.granted <= room.granted());
  }
  ZENFS_ASSERT(setup.read_only || active.size() <= slots.used());
  if (!std::has_single_bit(++sound_calls)) return true;
  const std::vector<std::string> broken = Check();
  if (!broken.empty()) FailAssertion("zone pool: " + broken.front() + "\n");
  return true;
}

}  // namespace zenfs
