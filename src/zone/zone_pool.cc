#include "zone/zone_pool.h"

#include <algorithm>

namespace zenfs {

ZonePool::ZonePool(const ZonePoolSetup& setup, std::span<const ZoneInfo> report,
                   std::span<const ZoneId> metadata_zones)
    : parts_(setup, report.size()) {
  phases_.AdoptReport(report, metadata_zones);
}

SpaceReport ZonePool::Space() const {
  const ZoneTable::Totals& sum = parts_.table.totals();
  SpaceReport report;
  report.metadata = sum.metadata;
  report.live = sum.live;
  report.garbage = sum.garbage;
  report.lost = sum.lost;
  // The reserve is counted in mean capacities, because the device may have changed the capacity of some zones.
  const EmptyZones& empty = parts_.empty;
  const std::size_t spare = empty.all_after_resets() - empty.size_after_resets();
  const std::size_t kept = spare + std::min(empty.size_after_resets(), empty.least_kept_for_log());
  const std::uint64_t kept_bytes = parts_.room.MeanZone() * kept;
  report.log = sum.log + kept_bytes + sum.log_pool;
  const std::uint64_t room = sum.room + (sum.pool - kept_bytes);
  report.reclaim = std::min(room, parts_.setup.headroom);
  report.free = room - report.reclaim;
  report.total = report.metadata + report.log + report.reclaim + report.live + report.garbage + report.free +
                 report.lost;
  report.log_limit = parts_.log_apart() ? report.log : report.total;
  return report;
}

ZoneStatus ZonePool::Zone(ZoneId zone) const {
  const ZoneState& z = parts_.table[zone];
  return {.id = zone,
          .phase = z.phase,
          .lifetime = z.lifetime,
          .capacity = z.capacity,
          .written = z.written,
          .live = z.live,
          .uncommitted = z.uncommitted,
          .age = phases_.filled() - z.filled,
          .pins = z.pins,
          .incarnation = z.incarnation};
}

std::vector<ZoneStatus> ZonePool::Zones() const {
  std::vector<ZoneStatus> zones;
  zones.reserve(parts_.table.size());
  for (std::uint32_t i = 0; i < parts_.table.size(); ++i) zones.push_back(Zone(ZoneId(i)));
  return zones;
}

}  // namespace zenfs
