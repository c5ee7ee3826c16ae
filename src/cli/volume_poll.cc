#include "cli/volume_poll.h"

#include <fmt/format.h>

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

Status ReadZones(const DeviceUri& uri, bool zone_list, VolumeReading& reading, std::string& shared_memory) {
  ZENFS_ASSIGN_OR_RETURN(NamedDevice named, OpenNamedDevice(uri, OpenMode::kReadOnly));
  reading.device = named.device->name();
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report,
                         named.device->Report(ZoneId(0), named.device->geometry().zone_count));
  ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume,
                         Volume::Mount(std::move(named.device), named.mount_options));
  const Superblock& superblock = volume->info().superblock;
  reading.uuid = superblock.uuid.ToString();
  reading.label = superblock.label;
  std::vector<ZoneStatus> zones = volume->Zones();
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
  if (zone_list) reading.zone_list = std::move(zones);
  reading.geometry = volume->info().geometry;
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
  reading.metrics_time = SteadyNow();
  reading.up = true;
  return {};
}

Status ReadScrub(const std::string& scrub_results, VolumeReading& reading) {
  const auto result = ReadScrubResult(scrub_results, reading.uuid);
  if (!result) return Fail(result.error().With(reading.device));
  reading.scrub = *result;
  return {};
}

}  // namespace

std::span<const ValueInfo, kZoneGaugeCount> ZoneGauges() { return kZoneGauges; }

VolumeReading ReadVolume(const DeviceUri& uri, const VolumeDetails& details) {
  VolumeReading reading{.device = uri.kind + ":" + uri.target};
  std::string shared_memory;
  Status status = ReadZones(uri, details.zone_list, reading, shared_memory);
  if (status.ok() && !shared_memory.empty()) status = ReadCounters(shared_memory, reading);
  // Also if the counters could not be read.
  if (reading.readable && !details.scrub_results.empty()) {
    Status scrub = ReadScrub(details.scrub_results, reading);
    if (status.ok()) status = std::move(scrub);
  }
  if (!status.ok()) reading.trouble = status.error();
  return reading;
}

Result<std::unique_ptr<VolumePoll>> VolumePoll::Start(std::string device, Read read) {
  std::unique_ptr<VolumePoll> poll(new VolumePoll(std::move(device), std::move(read)));
  ZENFS_ASSIGN_OR_RETURN(poll->thread_, Thread::Start("zenfs-scrape", [p = poll.get()] { p->Run(); }));
  return poll;
}

VolumePoll::~VolumePoll() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.NotifyAll();
  thread_.Join();
}

std::uint64_t VolumePoll::Begin() {
  MutexLock lock(mutex_);
  if (begun_ == ended_) {
    ++begun_;
    changed_.NotifyAll();
  }
  return begun_;
}

VolumeReading VolumePoll::End(std::uint64_t number, Deadline deadline) {
  std::shared_ptr<const VolumeReading> reading;
  {
    MutexLock lock(mutex_);
    while (ended_ < number) {
      if (changed_.WaitUntil(mutex_, deadline) || ended_ >= number) continue;
      lock.Unlock();
      return Unread(Error(Code::kTimedOut, "the volume could not be read within the time of a scrape")
                        .Advise("see whether the device answers, or raise --timeout"));
    }
    reading = last_;
  }
  if (reading != nullptr) return *reading;
  return Unread(Error(Code::kNoSpace, "out of memory").Advise("raise the memory limit of this process"));
}

bool VolumePoll::busy() const {
  MutexLock lock(mutex_);
  return begun_ != ended_;
}

void VolumePoll::Run() noexcept {
  MutexLock lock(mutex_);
  for (;;) {
    while (!stop_ && begun_ == ended_) changed_.Wait(mutex_);
    if (begun_ == ended_) return;
    lock.Unlock();
    std::shared_ptr<const VolumeReading> reading;
    try {
      reading = std::make_shared<const VolumeReading>(read_());
    } catch (...) {  // only memory and libraries throw
    }
    lock.Lock();
    last_ = std::move(reading);
    ended_ = begun_;
    changed_.NotifyAll();
  }
}

VolumeReading VolumePoll::Unread(Error why) const {
  VolumeReading reading{.device = device_};
  reading.trouble = why.With(device_);
  return reading;
}

}  // namespace zenfs
