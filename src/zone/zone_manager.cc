#include "zone/zone_manager.h"

#include <fmt/format.h>

#include <algorithm>

namespace zenfs {

Result<std::unique_ptr<ZoneManager>> ZoneManager::Create(ZonedDevice& device, const SlotPlan& plan,
                                                         std::vector<ZoneInfo> report, Options options) {
  const Geometry& geometry = device.geometry();
  if (report.size() != geometry.zone_count) {
    return Fail(Code::kInvalidArgument, fmt::format("{}: the zone report covers {} of {} zones",
                                                    device.name(), report.size(), geometry.zone_count));
  }
  for (std::uint32_t i = 0; i < report.size(); ++i) {
    if (report[i].id != ZoneId(i) || report[i].capacity > geometry.zone_size) {
      return Fail(
          Code::kInvalidArgument,
          fmt::format("{}: entry {} of the zone report is zone {} with a capacity of {} bytes (zone size {})",
                      device.name(), i, report[i].id.value, report[i].capacity, geometry.zone_size));
    }
  }
  std::uint64_t largest = 0;
  for (const ZoneInfo& zone : report) {
    if (zone.type != ZoneType::kSequentialRequired || geometry.OnLogDevice(zone.id)) continue;
    largest = std::max(largest, zone.capacity);
  }
  const ZonePoolSetup setup{.geometry = geometry,
                            .plan = plan,
                            .log = options.log,
                            .headroom = options.headroom * largest,
                            .read_only = options.read_only,
                            .reclaims = options.reclaims,
                            .placement = options.placement};
  return std::unique_ptr<ZoneManager>(new ZoneManager(device, setup, report, options.metadata_zones));
}

ZoneManager::ZoneManager(ZonedDevice& device, const ZonePoolSetup& setup, std::span<const ZoneInfo> report,
                         std::span<const ZoneId> metadata_zones)
    : shared_(device, setup, report, metadata_zones) {}

ZoneManager::~ZoneManager() { Stop(); }

void ZoneManager::AdoptLogZone(ZoneId zone) {
  MutexLock lock(shared_.mutex);
  shared_.pool.log().Adopt(zone);
}

void ZoneManager::AdoptExtent(const Extent& extent, Lifetime lifetime) {
  MutexLock lock(shared_.mutex);
  shared_.pool.live().Adopt(extent, lifetime);
}

Status ZoneManager::Start() {
  MutexLock lock(shared_.mutex);  // the new thread waits for it until the zones are started
  if (!shared_.setup.read_only) ZENFS_RETURN_IF_ERROR(operations_.Start());
  shared_.pool.phases().Start();
  return {};
}

void ZoneManager::Stop() {
  shared_.Stop();
  operations_.Join();
}

Result<ZoneWriter> ZoneManager::AcquireData(ZoneClaim& claim, Lifetime lifetime, Deadline deadline,
                                            WritePurpose purpose, std::uint64_t wanted, std::uint64_t most) {
  if (shared_.setup.read_only)
    return Fail(Code::kReadOnly, fmt::format("{} is mounted read-only", shared_.device.name()));
  MutexLock lock(shared_.mutex);
  while (!shared_.stopped) {
    ZENFS_RETURN_IF_ERROR(shared_.pool.live().health());
    claim.shared_ = &shared_;
    const TakenZone taken =
        shared_.pool.data().Take(claim.held_, lifetime, purpose, SteadyNow(), wanted, most);
    shared_.AnnounceJobs();
    if (taken.outcome == TakeOutcome::kTaken) return WriterOf(taken);
    ZENFS_RETURN_IF_ERROR(shared_.WaitFor(taken, deadline));
  }
  return shared_.Stopped();
}

ZoneWriter ZoneManager::TryAcquireData(ZoneClaim& claim, Lifetime lifetime, WritePurpose purpose,
                                       std::uint64_t length) {
  ZoneWriter writer;
  {
    MutexLock lock(shared_.mutex);
    if (shared_.setup.read_only || shared_.stopped || !shared_.pool.live().health().ok()) return {};
    claim.shared_ = &shared_;
    const TakenZone taken =
        shared_.pool.data().Take(claim.held_, lifetime, purpose, SteadyNow(), length, length);
    shared_.AnnounceJobs();
    if (taken.outcome == TakeOutcome::kTaken) writer = WriterOf(taken);
  }
  return writer.room() < length ? ZoneWriter() : std::move(writer);
}

ZoneWriter ZoneManager::WriterOf(const TakenZone& taken) {
  ZoneWriter writer;
  writer.shared_ = &shared_;
  writer.zone_ = taken.zone;
  writer.place_ = shared_.setup.geometry.ZoneStart(taken.zone) + taken.written;
  writer.room_ = taken.room;
  return writer;
}

Result<ZoneId> ZoneManager::LendLogZone(Deadline deadline, LogLoan loan) {
  if (shared_.setup.read_only)
    return Fail(Code::kReadOnly, fmt::format("{} is mounted read-only", shared_.device.name()));
  MutexLock lock(shared_.mutex);
  while (!shared_.stopped) {
    ZENFS_RETURN_IF_ERROR(shared_.pool.live().health());
    const TakenZone taken = shared_.pool.log().Take(loan);
    shared_.AnnounceJobs();
    if (taken.outcome == TakeOutcome::kTaken) return taken.zone;
    const bool may_come = taken.outcome != TakeOutcome::kNoSpace;
    if (may_come && deadline.Passed()) {
      return Fail(Code::kTimedOut,
                  fmt::format("{}: no zone for the log became free in time", shared_.device.name()));
    }
    if (loan != LogLoan::kAhead) shared_.pool.log().Waits(true);
    const Status waited = shared_.WaitFor(taken, deadline);
    if (loan != LogLoan::kAhead) shared_.pool.log().Waits(false);
    ZENFS_RETURN_IF_ERROR(waited);
  }
  return shared_.Stopped();
}

std::vector<ZoneId> ZoneManager::LendMoreLogZones() {
  MutexLock lock(shared_.mutex);
  if (shared_.stopped || !shared_.setup.reclaims) return {};
  return shared_.pool.log().TakeMore(log_group() - 1);
}

void ZoneManager::ReturnLogZone(ZoneId zone) {
  MutexLock lock(shared_.mutex);
  shared_.pool.log().Return(zone);
  shared_.Announce();
}

std::vector<ZoneInfo> ZoneManager::TakeForMetadata(std::size_t count) {
  std::vector<ZoneInfo> zones;
  MutexLock lock(shared_.mutex);
  if (shared_.setup.read_only || shared_.stopped) return zones;
  for (const ZoneId zone : shared_.pool.phases().TakeForMetadata(count))
    zones.push_back({.id = zone, .capacity = shared_.pool.state().table[zone].capacity});
  return zones;
}

void ZoneManager::ReturnFromMetadata(std::span<const ZoneId> zones) {
  MutexLock lock(shared_.mutex);
  for (const ZoneId zone : zones) shared_.pool.phases().ReturnFromMetadata(zone);
  shared_.Announce();
}

void ZoneManager::AddLive(std::span<const Extent> extents) {
  MutexLock lock(shared_.mutex);
  shared_.pool.live().Add(extents);
}

bool ZoneManager::RemoveLive(std::span<const Extent> extents) {
  MutexLock lock(shared_.mutex);
  shared_.pool.live().Remove(extents);
  shared_.Announce();
  return shared_.pool.live().health().ok();
}

ZonePin ZoneManager::Pin(ZoneId zone) {
  if (zone.value >= shared_.setup.geometry.zone_count) return {};
  MutexLock lock(shared_.mutex);
  shared_.pool.live().Pin(zone);
  return ZonePin(&shared_, zone);
}

Status ZoneManager::health() const {
  MutexLock lock(shared_.mutex);
  return shared_.pool.live().health();
}

SpaceReport ZoneManager::Space() const {
  MutexLock lock(shared_.mutex);
  return shared_.pool.Space();
}

ZoneStatus ZoneManager::Zone(ZoneId zone) const {
  MutexLock lock(shared_.mutex);
  return shared_.pool.Zone(zone);
}

std::vector<ZoneStatus> ZoneManager::Zones() const {
  MutexLock lock(shared_.mutex);
  return shared_.pool.Zones();
}

std::vector<std::string> ZoneManager::Check() const {
  MutexLock lock(shared_.mutex);
  return shared_.pool.state().Check();
}

std::uint64_t ZoneManager::table_visits() const {
  MutexLock lock(shared_.mutex);
  return shared_.pool.state().table.visits();
}

}  // namespace zenfs
