#include "cli/exported_gauges.h"

#include <algorithm>

#include "cli/device_option.h"
#include "cli/metrics_source.h"

namespace zenfs {
namespace {

constexpr ValueInfo kZoneGauges[] = {
    {"open_zones", "", "Zones that the device holds open"},
    {"active_zones", "", "Zones that count against the device's limit of active ones, open ones among them"},
    {"resetable_zones", "", "Zones without live data that wait for their reset"},
    {"free_space_bytes", "bytes", "What can still be written, resets that are pending included"},
    {"used_space_bytes", "bytes",
     "Data and logs of files as they stand on the device, with padding, and the metadata log"},
    {"reclaimable_space_bytes", "bytes", "Dead bytes in zones that also hold live ones, and in log zones"},
    {"reserved_space_bytes", "bytes",
     "Room that data does not get: what is left in metadata and log zones, and what reclaim needs"},
    {"lost_space_bytes", "bytes", "Space in offline, read-only and failed zones"},
    {"total_space_bytes", "bytes", "The sum of free, used, reclaimable, reserved and lost space"},
};
static_assert(std::size(kZoneGauges) == kZoneGaugeCount);

Status ReadZones(const DeviceUri& uri, VolumeReading& reading, std::string& shared_memory) {
  ZENFS_ASSIGN_OR_RETURN(NamedDevice named, OpenNamedDevice(uri, OpenMode::kReadOnly));
  reading.device = named.device->name();
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report,
                         named.device->Report(ZoneId(0), named.device->geometry().zone_count));
  ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume,
                         Volume::Mount(std::move(named.device), named.mount_options));
  const Superblock& superblock = volume->info().superblock;
  reading.uuid = superblock.uuid.ToString();
  reading.label = superblock.label;
  const std::vector<ZoneStatus> zones = volume->Zones();
  const SpaceReport space = volume->Space();
  const auto count = [](const auto& list, auto is) {
    return static_cast<std::uint64_t>(std::count_if(list.begin(), list.end(), is));
  };
  reading.zones = {count(report, [](const ZoneInfo& zone) { return IsOpen(zone.condition); }),
                   count(report, [](const ZoneInfo& zone) { return IsActive(zone.condition); }),
                   count(zones, [](const ZoneStatus& zone) { return zone.phase == ZonePhase::kDead; }),
                   space.free,
                   space.used(),
                   space.reclaimable(),
                   space.reserved(),
                   space.lost,
                   space.total};
  reading.readable = true;
  shared_memory = volume->shared_memory_path();
  return {};
}

// kNotFound: the program that counted has died.
Status ReadCounters(const std::string& shared_memory, VolumeReading& reading) {
  const auto metrics = ReadSharedMetrics(shared_memory, true);
  if (!metrics && metrics.error().code() == Code::kNotFound) return {};
  if (!metrics) return Fail(metrics.error().With(reading.device));
  reading.metrics = *metrics;
  reading.up = true;
  return {};
}

}  // namespace

std::span<const ValueInfo, kZoneGaugeCount> ZoneGauges() { return kZoneGauges; }

VolumeReading ReadVolume(const DeviceUri& uri) {
  VolumeReading reading{.device = uri.kind + ":" + uri.target};
  std::string shared_memory;
  Status status = ReadZones(uri, reading, shared_memory);
  if (status.ok() && !shared_memory.empty()) status = ReadCounters(shared_memory, reading);
  if (!status.ok()) reading.trouble = status.error();
  return reading;
}

}  // namespace zenfs
