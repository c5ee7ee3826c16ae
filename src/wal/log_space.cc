#include "wal/log_space.h"

#include "wal/wal_recovery.h"

namespace zenfs {

LogSpace::LogSpace(const Deps& deps)
    : device_(*deps.device),
      manager_(*deps.zones),
      zones_(*deps.device, *deps.zones, deps.volume, deps.zones->log_group()),
      supply_({.zones = deps.zones,
               .log_zones = &zones_,
               .allocations = deps.allocations,
               .ready_target = deps.ready_target}),
      writer_({.device = deps.device,
               .zones = deps.zones,
               .log_zones = &zones_,
               .supply = &supply_,
               .epoch = deps.epoch,
               .space_wait = deps.space_wait,
               .sending = deps.sending,
               .depth = deps.depth}),
      sync_area_({.device = deps.device,
                  .log_zones = &zones_,
                  .supply = &supply_,
                  .allocations = deps.allocations,
                  .enabled = deps.sync_blocks && deps.device->geometry().random_area_bytes >=
                                                     2 * deps.device->geometry().block_size}) {}

void LogSpace::Adopt(const LogZone& zone, const ZoneInfo& info) {
  const bool syncs = zone.sync_bytes != 0 || info.random_area;
  const bool writable = !syncs && (info.condition == ZoneCondition::kEmpty || IsActive(info.condition));
  // Below a write pointer are ordinary frames: the device has made the zone full. They are live until their files die.
  if (syncs && info.WrittenBytes() == 0) old_sync_zones_.push_back(manager_.Pin(info.id));
  zones_.Add(zone, info.capacity, info.WrittenBytes(), writable);
}

void LogSpace::ResetSyncZones() {
  std::erase_if(old_sync_zones_, [this](const ZonePin& pin) { return device_.Reset(pin.zone()).ok(); });
}

void LogSpace::FinishSpares() {
  const Geometry& geometry = device_.geometry();
  if ((geometry.log_zones != 0 ? geometry.log_max_active : geometry.max_active) == 0) return;
  for (const ZoneId zone : zones_.CloseSpares()) {
    IgnoreError(device_.Finish(zone));  // else it keeps its slot until it is released
    zones_.EndRelease(zone, false);
  }
}

}  // namespace zenfs
