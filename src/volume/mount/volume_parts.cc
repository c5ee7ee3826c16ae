#include "volume/mount/volume_parts.h"

#include "zone/extent_sink.h"

namespace zenfs {
namespace {

// Enough for the resets of some hundred zones. The next mount makes the remaining ones.
constexpr std::chrono::seconds kLastResets{1};

}  // namespace

VolumeParts::VolumeParts(MountedDevice& mounted, Base base, const State& state)
    : device(mounted),
      epoch(state.epoch() + 1),
      metalog(std::move(base.metalog)),
      zones(std::move(base.zones)),
      buffers(std::move(base.buffers)),
      trace(std::move(base.trace)),
      catalog(state),
      files(device.metrics, *buffers),
      commits(*metalog, *zones, device.metrics),
      log_zones(commits, state.next_generation()),
      log({.device = device.device.get(),
           .zones = zones.get(),
           .allocations = &log_zones,
           .volume = device.superblock.seed,
           .epoch = epoch,
           .reserve_target = base.log_reserve_target,
           .space_wait = device.options.space_wait,
           .sending = device.options.wal,
           .depth = device.options.wal_depth,
           .sync_blocks = base.sync_blocks && device.options.sync_blocks}),
      effects(catalog, *zones, files, logs, log, trace.get()),
      ids(state.next_id(), state.next_id() + IdAllocator::kBatch,
          [this](std::uint64_t next_id) { return commits.Commit({RaiseCounters{next_id, 0}}); }),
      accounting({.device = *device.device, .metalog = *metalog, .log = log, .written = written},
                 device.metrics),
      data_sink(*zones, WritePurpose::kData, base.spread, &written.plain),
      copy_sink(*zones, WritePurpose::kReclaim, base.spread, &written.reclaimed),
      // If the log has a device of its own, they take room as data does: their zone returns none of it to data, so they must
      // leave the headroom whole.
      log_copy_sink(*zones, device.geometry.log_zones == 0 ? WritePurpose::kReclaim : WritePurpose::kData,
                    base.spread),
      drain(logs),
      mover({.device = *device.device,
             .zones = *zones,
             .catalog = catalog,
             .commits = commits,
             .files = files,
             .logs = logs,
             .log = log,
             .sink = copy_sink,
             .log_sink = log_copy_sink,
             .written = written,
             .accounting = accounting,
             .device_copy = device.options.device_copy}),
      reclaimer(*zones, log, commits, mover),
      factory({.file = {.device = *device.device,
                        .catalog = catalog,
                        .commits = commits,
                        .logs = logs,
                        .drain = drain,
                        .accounting = accounting,
                        .metrics = device.metrics,
                        .trace = trace.get()},
               .reads = *device.reads,
               .zones = *zones,
               .sink = data_sink,
               .log = log,
               .buffers = *buffers,
               .written = written},
              device.options, epoch),
      opener({.catalog = catalog,
              .commits = commits,
              .ids = ids,
              .files = files,
              .factory = factory,
              .metrics = device.metrics,
              .trace = trace.get()}),
      names({.catalog = catalog, .commits = commits, .ids = ids, .files = files, .metrics = device.metrics}),
      view(catalog, files, logs),
      shutdown({.device = *device.device,
                .catalog = catalog,
                .commits = commits,
                .files = files,
                .logs = logs,
                .buffers = *buffers,
                .opener = opener}) {
  metalog->SetSink(&effects);
  zones->SetReaders(buffers.get());
}

SpaceReport VolumeParts::Space() const {
  SpaceReport space = zones->Space();
  const bool yields = device.geometry.log_zones == 0 && device.options.reclaim;
  if (yields) space.CountSpareOfLog(SpareBytes(log.zones().Zones(), zones->log_group()));
  return space;
}

void VolumeParts::StopMoving(bool finish_resets) {
  drain.Stop();
  mover.Stop();
  log.Stop();
  // So the zones of deleted files are free when a caller asks for the free space after the unmount.
  if (finish_resets) IgnoreError(zones->DrainResets(Deadline::After(kLastResets)));
  zones->Stop();
  reclaimer.Join();
}

void VolumeParts::Abandon() {
  buffers->Abandon();
  StopMoving(true);
  metalog->Stop();
  accounting.Publish();
  device.metrics.MoveHome();  // no thread counts any more
}

}  // namespace zenfs
