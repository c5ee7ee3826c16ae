#include "wal/log_space.h"

namespace zenfs {

LogSpace::LogSpace(const Env& env)
    : device_(*env.device),
      zones_(*env.device, *env.zones, env.volume),
      supply_({.zones = env.zones,
               .log_zones = &zones_,
               .reservations = env.reservations,
               .ready_target = env.reserve_target}),
      writer_({.device = env.device,
               .zones = env.zones,
               .log_zones = &zones_,
               .supply = &supply_,
               .epoch = env.epoch,
               .space_wait = env.space_wait}) {}

void LogSpace::Adopt(const LogZone& zone, const ZoneInfo& info) {
  const bool writable = info.condition == ZoneCondition::kEmpty || IsActive(info.condition);
  zones_.Add(zone, info.capacity, info.WrittenBytes(), writable);
}

void LogSpace::FinishSpares() {
  if (device_.geometry().max_active == 0) return;
  // One that can't be finished keeps its slot until it is dead.
  for (const ZoneId zone : zones_.CloseSpares()) IgnoreError(device_.Finish(zone));
}

}  // namespace zenfs
