#include "zone/zone_pool.h"

#include <algorithm>

namespace zenfs {

ZonePool::ZonePool(const ZonePoolSetup& setup, std::span<const ZoneInfo> report,
                   std::span<const ZoneId> metadata_zones)
    : parts_(setup, report.size()) {
  phases_.AdoptReport(report, metadata_zones);
}

SpaceReport ZonePool::Space() const { return parts_.room.Report(parts_.log_apart()); }

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
