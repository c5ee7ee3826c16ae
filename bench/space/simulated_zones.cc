#include "simulated_zones.h"

#include <fmt/format.h>

#include "zone/zone_manager.h"

namespace zenfs::space {
namespace {

// Devices with more zones are searched by VictimIndex. Smaller ones are searched as ZenFS does it.
constexpr std::size_t kSearchedWhole = 256;

Geometry GeometryOf(const TraceDevice& device) {
  Geometry geometry;
  geometry.block_size = device.block_size;
  geometry.zone_size = device.zone_size;
  geometry.zone_count = device.zones;
  geometry.max_open = device.max_open;
  geometry.max_active = device.max_active;
  return geometry;
}

}  // namespace

Result<std::unique_ptr<SimulatedZones>> SimulatedZones::Create(const TraceDevice& device,
                                                               const PlacementPolicy& placement) {
  const Geometry geometry = GeometryOf(device);
  if (device.zones < device.metadata_zones + kFewestZonesForHeadroom) {
    return Fail(Code::kInvalidArgument,
                fmt::format("a device of {} zones is too small; it needs {} besides {} for metadata",
                            device.zones, kFewestZonesForHeadroom, device.metadata_zones));
  }
  ZENFS_ASSIGN_OR_RETURN(const SlotPlan plan, PlanSlots(geometry, "the simulated device"));
  std::vector<ZoneId> metadata_zones;
  for (std::uint32_t i = 0; i < device.metadata_zones; ++i) metadata_zones.push_back(ZoneId(i));
  std::vector<ZoneInfo> report(device.zones);
  for (std::uint32_t i = 0; i < device.zones; ++i) {
    report[i].id = ZoneId(i);
    report[i].start = report[i].write_pointer = geometry.ZoneStart(ZoneId(i));
    report[i].capacity = device.zone_capacity;
  }
  const ZoneManager::Options space = SpaceOptions(geometry, metadata_zones);
  const ZonePool::Setup setup{.geometry = geometry,
                              .plan = plan,
                              .log = space.log,
                              .headroom = device.zone_capacity,
                              .reclaims = true,
                              .placement = &placement};
  return std::unique_ptr<SimulatedZones>(new SimulatedZones(setup, device, report, metadata_zones));
}

SimulatedZones::SimulatedZones(const ZonePool::Setup& setup, const TraceDevice& device,
                               const std::vector<ZoneInfo>& report, const std::vector<ZoneId>& metadata_zones)
    : geometry_(setup.geometry),
      capacity_(device.zone_capacity),
      pool_(setup, report, metadata_zones),
      index_(device.zones) {
  pool_.Start();
}

std::uint64_t SimulatedZones::data_capacity() const {
  const SpaceReport space = pool_.Space();
  return space.total - space.metadata - space.log - space.reclaim;
}

SimulatedZones::Written SimulatedZones::Write(ClaimState& claim, Lifetime lifetime, WritePurpose purpose,
                                              std::uint64_t bytes) {
  constexpr int kTries = 3;
  ZoneAllocation taken;
  for (int i = 0; i < kTries; ++i) {
    taken = pool_.AllocateData(claim, lifetime, purpose, SteadyTime(), bytes);
    RunJobs();
    if (taken.outcome != AllocationOutcome::kWait)
      break;  // it waits for a reset or a finish, which is done now
  }
  if (taken.outcome != AllocationOutcome::kAllocated) return {taken.outcome, {}};
  const Extent extent{0, geometry_.ZoneStart(taken.zone) + taken.written, std::min(taken.room, bytes)};
  if (pool_.table().Peek(taken.zone).lifetime != lifetime) counts_.mixed_bytes += extent.length;
  placed_bytes_ += extent.length;
  pool_.Wrote(taken.zone, extent.length);
  pool_.ReleaseWriter(taken.zone);
  pool_.AddLive({&extent, 1});
  pool_.Unpin(taken.zone);
  NoteChange(taken.zone);
  if (pool_.table().Peek(taken.zone).phase == ZonePhase::kFull) ++victims_version_;
  RunJobs();
  return {AllocationOutcome::kAllocated, extent};
}

void SimulatedZones::Remove(std::span<const Extent> extents) {
  if (!extents.empty()) ++victims_version_;
  pool_.RemoveLive(extents);
  for (const Extent& extent : extents) NoteChange(ZoneOf(extent));
  RunJobs();
}

ZoneAllocation SimulatedZones::AllocateLogZone() {
  const ZoneAllocation taken = pool_.AllocateLogZone(LogZonePurpose::kNow);
  RunJobs();
  return taken;
}

void SimulatedZones::ReleaseLogZone(ZoneId zone) {
  pool_.ReleaseLogZone(zone);
  RunJobs();
}

bool SimulatedZones::Finish(ZoneId zone) {
  const std::uint64_t room = pool_.table().Peek(zone).room();
  if (!pool_.FinishActive(zone)) return false;
  counts_.finish_bytes += room;
  ++victims_version_;
  RunJobs();
  NoteChange(zone);
  return true;
}

void SimulatedZones::RunJobs() {
  while (const auto job = pool_.NextJob()) {
    const ZoneState& zone = pool_.table().Peek(job->zone);
    if (job->kind != ZoneJob::Kind::kFinish) ++counts_.resets;
    if (job->kind == ZoneJob::Kind::kReset) counts_.freed_bytes += zone.written;
    ZoneInfo info;
    info.id = job->zone;
    info.capacity = capacity_;
    info.condition = job->kind == ZoneJob::Kind::kFinish ? ZoneCondition::kFull : ZoneCondition::kEmpty;
    pool_.JobDone(*job, {.ok = true, .info = info});
    NoteChange(job->zone);
  }
}

std::vector<ZoneStatus> SimulatedZones::VictimCandidates() const {
  if (pool_.table().size() <= kSearchedWhole) return pool_.Zones();
  std::vector<ZoneId> zones = pool_.active();
  index_.AppendCandidates(zones);
  std::vector<ZoneStatus> candidates;
  candidates.reserve(zones.size());
  for (const ZoneId zone : zones) candidates.push_back(pool_.Zone(zone));
  return candidates;
}

}  // namespace zenfs::space
