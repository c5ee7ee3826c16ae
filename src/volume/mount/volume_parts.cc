#include "volume/mount/volume_parts.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/assert.h"
#include "base/file_size_limit.h"
#include "base/output_file.h"
#include "metrics/metrics_page.h"
#include "zone/extent_sink.h"

namespace zenfs {
namespace {

Status CheckReplaceable(int fd, const std::string& path) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return FailErrno(errno, fmt::format("{}: stat failed", path));
  if (info.st_size == 0) return {};
  std::uint64_t magic = 0;
  if (pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic == kMetricsMagic) return {};
  return Fail(Code::kExists, fmt::format("{}: exists and does not hold metrics; name a new file", path));
}

// Enough for the resets of some hundred zones. The next mount makes the remaining ones.
constexpr std::chrono::seconds kLastResets{1};

}  // namespace

Status WriteMetricsFile(const std::string& path, ByteView page) {
  ZENFS_ASSIGN_OR_RETURN(const UniqueFd fd, OpenOutput(path, OutputUse::kOverwrite));
  ZENFS_RETURN_IF_ERROR(CheckReplaceable(fd.get(), path));
  const NoFileSizeSignal no_signal;
  for (std::size_t done = 0; done < page.size();) {
    const ByteView rest = page.subspan(done);
    const ssize_t written = pwrite(fd.get(), rest.data(), rest.size(), static_cast<off_t>(done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return FailErrno(written == 0 ? EIO : errno, fmt::format("{}: can't be written", path));
    done += static_cast<std::size_t>(written);
  }
  if (ftruncate(fd.get(), static_cast<off_t>(page.size())) != 0) {
    return FailErrno(errno, fmt::format("{}: can't be truncated", path));
  }
  return {};
}

MountedDevice::MountedDevice(std::unique_ptr<ZonedDevice> unmetered, Superblock its_superblock,
                             const MountOptions& asked)
    : superblock(std::move(its_superblock)),
      options(asked),
      device(MeterDevice(std::move(unmetered), metrics)),
      reads(std::make_unique<ReadPool>(*device)),
      geometry(device->geometry()),
      name(device->name()),
      notices(device->notices()) {}

Status MountedDevice::KeepMetrics() const {
  if (options.metrics_file.empty()) return {};
  const Status written = WriteMetricsFile(options.metrics_file, metrics.page());
  return written.ok() ? Status() : Fail(written.error().With(name + ": option metrics_file"));
}

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
           .space_wait = device.options.space_wait,
           .sending = device.options.wal,
           .depth = device.options.wal_depth,
           .sync_blocks = base.sync_blocks && device.options.sync_blocks}),
      effects(catalog, *zones, files, logs, log, trace.get()),
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
      names({.catalog = catalog,
             .commits = commits,
             .files = files,
             .logs = logs,
             .factory = factory,
             .metrics = device.metrics,
             .trace = trace.get()},
            state.next_id()) {
  ZENFS_ASSERT(base.spread > 0);
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
