#include "wal/log_space.h"

namespace zenfs {

LogSpace::LogSpace(const Deps& deps)
    : device_(*deps.device),
      zones_(*deps.device, *deps.zones, deps.volume),
      supply_({.zones = deps.zones,
               .log_zones = &zones_,
               .allocations = deps.allocations,
               .ready_target = deps.reserve_target}),
      writer_({.device = deps.device,
               .zones = deps.zones,
               .log_zones = &zones_,
               .supply = &supply_,
               .epoch = deps.epoch,
               .space_wait = deps.space_wait,
               .sending = deps.sending,
               .depth = deps.depth}) {}

void LogSpace::Adopt(const LogZone& zone, const ZoneInfo& info) {
  const bool writable = info.condition == ZoneCondition::kEmpty || IsActive(info.condition);
  zones_.Add(zone, info.capacity, info.WrittenBytes(), writable);
}

void LogSpace::FinishSpares() {
  if (device_.geometry().max_active == 0) return;
  // A zone that cannot be finished keeps its slot until it is released.
  for (const ZoneId zone : zones_.CloseSpares()) IgnoreError(device_.Finish(zone));
}

}  // namespace zenfs
