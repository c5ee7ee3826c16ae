#include "status_variables.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/printable.h"
#include "metrics/metrics_snapshot.h"

namespace zenfs::myrocks {

namespace {

// The values that the rows point to. A thread has one, because the server reads them after the call that filled them.
struct Figures {
  std::string device;
  std::string health;
  std::uint64_t zones = 0, zones_open = 0, zones_active = 0, zones_empty = 0, zones_full = 0;
  std::uint64_t total_bytes = 0, free_bytes = 0, live_bytes = 0, garbage_bytes = 0;
  std::uint64_t file_written_bytes = 0, device_written_bytes = 0, reclaimed_bytes = 0;
  double write_amplification = 0;
  std::uint64_t device_writes = 0, wal_syncs = 0;
  double sync_latency_median = 0, sync_latency_p99 = 0, sync_latency_max = 0;  // microseconds
  std::vector<st_mysql_show_var> rows;
};

bool MayBeOpen(ZonePhase phase) {
  return phase == ZonePhase::kActive || phase == ZonePhase::kLog || phase == ZonePhase::kMetadata;
}

// ZenFS closes no zone explicitly, so an active zone is an open one as long as the device closes none by itself. A device
// whose limit of open zones is lower does that; then no more than the limit are open.
void CountZones(const Volume& volume, Figures& figures) {
  for (const ZoneStatus& zone : volume.Zones()) {
    ++figures.zones;
    if (zone.phase == ZonePhase::kEmpty) ++figures.zones_empty;
    if (zone.phase == ZonePhase::kFull) ++figures.zones_full;
    if (MayBeOpen(zone.phase) && zone.written > 0 && zone.written < zone.capacity) ++figures.zones_active;
  }
  const std::uint64_t limit = volume.info().geometry.max_open;
  figures.zones_open = limit == 0 ? figures.zones_active : std::min(figures.zones_active, limit);
}

void SumWrites(const WriteCounters& written, Figures& figures) {
  figures.file_written_bytes = written.plain_data + written.log_data;
  figures.device_written_bytes = figures.file_written_bytes + written.log_padding + written.metadata +
                                 written.cleaned + written.reclaimed;
  figures.reclaimed_bytes = written.reclaimed;
  if (figures.file_written_bytes > 0)
    figures.write_amplification =
        static_cast<double>(figures.device_written_bytes) / static_cast<double>(figures.file_written_bytes);
}

void ReadMetrics(ByteView metrics_page, Figures& figures) {
  const Result<MetricsSnapshot> metrics = DecodeMetrics(metrics_page);
  if (!metrics) return;  // a read-only mount counts nothing
  const OperationFigures& syncs = (*metrics)[Operation::kWalSync];
  const auto microseconds = [](std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; };
  figures.wal_syncs = syncs.count;
  figures.device_writes = (*metrics)[Operation::kZoneWrite].count + (*metrics)[Operation::kZoneAppend].count;
  figures.sync_latency_median = microseconds(syncs.latency.Quantile(0.5));
  figures.sync_latency_p99 = microseconds(syncs.latency.Quantile(0.99));
  figures.sync_latency_max = microseconds(syncs.latency.max);
}

Figures FiguresOf(const Volume& volume) {
  Figures figures;
  figures.device = Printable(volume.info().device_name);
  const Status health = volume.health();
  figures.health = health.ok() ? "OK" : Printable(health.error().ToString());
  CountZones(volume, figures);
  const SpaceReport space = volume.Space();
  figures.total_bytes = space.total;
  figures.free_bytes = space.free;
  figures.live_bytes = space.live;
  figures.garbage_bytes = space.garbage;
  const VolumeCounters counters = volume.counters();
  SumWrites(counters.written, figures);
  ReadMetrics(counters.metrics_page, figures);
  return figures;
}

void FillRows(Figures& of) {
  const auto number = [](const char* name, std::uint64_t& value) {
    return st_mysql_show_var{name, &value, SHOW_ULONGLONG};
  };
  const auto fraction = [](const char* name, double& value) {
    return st_mysql_show_var{name, &value, SHOW_DOUBLE};
  };
  const auto text = [](const char* name, std::string& value) {
    return st_mysql_show_var{name, value.data(), SHOW_CHAR};
  };
  of.rows = {
      text("device", of.device),
      number("device_writes", of.device_writes),
      number("device_written_bytes", of.device_written_bytes),
      number("file_written_bytes", of.file_written_bytes),
      number("free_bytes", of.free_bytes),
      number("garbage_bytes", of.garbage_bytes),
      text("health", of.health),
      number("live_bytes", of.live_bytes),
      number("reclaimed_bytes", of.reclaimed_bytes),
      fraction("sync_latency_max_us", of.sync_latency_max),
      fraction("sync_latency_median_us", of.sync_latency_median),
      fraction("sync_latency_p99_us", of.sync_latency_p99),
      number("total_bytes", of.total_bytes),
      number("wal_syncs", of.wal_syncs),
      fraction("write_amplification", of.write_amplification),
      number("zones", of.zones),
      number("zones_active", of.zones_active),
      number("zones_empty", of.zones_empty),
      number("zones_full", of.zones_full),
      number("zones_open", of.zones_open),
      {},  // the end
  };
}

Figures& OfThisThread() {
  thread_local Figures figures;
  return figures;
}

void Show(Figures& figures, st_mysql_show_var& shown) {
  shown.type = SHOW_ARRAY;
  shown.value = figures.rows.data();
}

}  // namespace

void ShowVolume(const Volume& volume, st_mysql_show_var& shown) {
  Figures& figures = OfThisThread();
  figures = FiguresOf(volume);
  FillRows(figures);
  Show(figures, shown);
}

void ShowNothing(st_mysql_show_var& shown) {
  Figures& figures = OfThisThread();
  figures.rows = {st_mysql_show_var{}};
  Show(figures, shown);
}

}  // namespace zenfs::myrocks
