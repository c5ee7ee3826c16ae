#include "backends/emulator/volatile_cache.h"

namespace zenfs {

void VolatileCache::Wrote(ZoneId zone, std::uint64_t written) {
  if (contains_[zone.value] || written == 0 || store_.LoadDurable(zone) == written) return;
  contains_[zone.value] = true;
  zones_.push_back(zone);
}

Status VolatileCache::Reset(ZoneId zone) {
  ++incarnations_[zone.value];
  return store_.SaveDurable(zone, 0);
}

std::vector<VolatileCache::Mark> VolatileCache::BeginFlush(const ZoneMachine& machine) const {
  std::vector<Mark> marks;
  marks.reserve(zones_.size());
  for (const ZoneId zone : zones_)
    marks.push_back({zone, machine.state(zone).written, incarnations_[zone.value]});
  return marks;
}

Status VolatileCache::EndFlush(std::span<const Mark> marks, const ZoneMachine& machine) {
  for (const Mark& mark : marks) {
    if (mark.incarnation != incarnations_[mark.zone.value]) continue;
    // A flush that began later may have completed first.
    if (mark.blocks <= store_.LoadDurable(mark.zone)) continue;
    ZENFS_RETURN_IF_ERROR(store_.SaveDurable(mark.zone, mark.blocks));
  }
  std::erase_if(zones_, [&](ZoneId zone) {
    if (store_.LoadDurable(zone) != machine.state(zone).written) return false;
    contains_[zone.value] = false;
    return true;
  });
  return {};
}

}  // namespace zenfs
