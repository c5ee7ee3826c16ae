#include "backends/block/zone_facts.h"

namespace zenfs {

ZoneFacts::ZoneFacts(std::span<const ReportedZone> zones) : zones_(std::make_unique<Entry[]>(zones.size())) {
  for (std::size_t i = 0; i < zones.size(); ++i) {
    zones_[i].length = zones[i].length;
    zones_[i].conventional = zones[i].info.type == ZoneType::kConventional;
    zones_[i].capacity = zones[i].info.capacity;
    zones_[i].pointer = zones[i].info.WrittenBytes();
    zones_[i].random_area = zones[i].info.random_area;
  }
}

}  // namespace zenfs
