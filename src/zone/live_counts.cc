#include "zone/live_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "zone/zone_states.h"

namespace zenfs {

void LiveCounts::Adopt(const Extent& extent, Lifetime lifetime) {
  const ZoneId zone = parts_.setup.geometry.ZoneOf(extent.place);
  if (!parts_.table.Has(zone)) return;
  parts_.table.Change(zone, [&](ZoneState& z) {
    z.live += OccupiedBytes(extent, parts_.setup.geometry.block_size);
    if (extent.place.value < z.first_adopted) {
      z.first_adopted = extent.place.value;
      z.lifetime = lifetime;
    }
  });
}

void LiveCounts::Add(std::span<const Extent> extents) {
  for (const Extent& extent : extents) {
    const ZoneId zone = parts_.setup.geometry.ZoneOf(extent.place);
    if (!parts_.table.Has(zone)) continue;
    const std::uint64_t bytes = OccupiedBytes(extent, parts_.setup.geometry.block_size);
    const bool settles = parts_.table[zone].uncommitted != 0 && parts_.table[zone].uncommitted <= bytes;
    parts_.table.Change(zone, [&](ZoneState& z) {
      z.live += bytes;
      // An extent that is committed again, longer, counts in full here, so `bytes` may exceed the uncommitted ones.
      z.uncommitted -= std::min(bytes, z.uncommitted);
    });
    if (settles) parts_.reclaim.NoteChange();
  }
}

void LiveCounts::Remove(std::span<const Extent> extents) {
  if (!extents.empty()) parts_.reclaim.NoteChange();
  for (const Extent& extent : extents) {
    const ZoneId zone = parts_.setup.geometry.ZoneOf(extent.place);
    if (!parts_.table.Has(zone)) continue;
    const std::uint64_t bytes = OccupiedBytes(extent, parts_.setup.geometry.block_size);
    if (bytes > parts_.table[zone].live) Distrust(zone, bytes);
    parts_.table.Change(zone, [&](ZoneState& z) { z.live -= std::min(bytes, z.live); });
    phases_.Settle(zone);
  }
  ZENFS_ASSERT(parts_.Sound());
}

// More bytes were removed than were live, so the live bytes of the zone are unknown and it is never reset. Damaged
// metadata may cause this, so it is an error, not a failed assertion.
void LiveCounts::Distrust(ZoneId zone, std::uint64_t bytes) {
  const std::uint64_t live = parts_.table[zone].live;
  parts_.table.Change(zone, [](ZoneState& z) { z.distrusted = true; });
  health_.Update(Fail(
      Error(Code::kCorruption,
            fmt::format(
                "zone {}: {} bytes were deleted where only {} were counted as live; nothing more is written",
                zone.value, bytes, live))
          .Advise("unmount, run zenfs check, and report this if it finds no damage")));
}

void LiveCounts::Pin(ZoneId zone) {
  parts_.table.Change(zone, [](ZoneState& z) { ++z.pins; });
}

bool LiveCounts::Unpin(ZoneId zone) {
  const ZoneState& z = parts_.table[zone];
  ZENFS_ASSERT(z.pins != 0);
  // The end of a read in a zone with live data, for example by reclaim itself, must not void the verdict.
  const bool changes = z.pins == 1 && (z.live == 0 || z.uncommitted != 0);
  parts_.table.Change(zone, [](ZoneState& s) {
    --s.pins;
    if (s.pins == 0) s.uncommitted = 0;  // nobody can commit it any more
  });
  if (changes) parts_.reclaim.NoteChange();
  const bool last = z.pins == 0;
  if (last) phases_.Settle(zone);
  ZENFS_ASSERT(parts_.Sound());
  return last;
}

}  // namespace zenfs
