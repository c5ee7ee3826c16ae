#include "volume/volume_space.h"

#include <algorithm>

#include "base/assert.h"
#include "metalog/metazones.h"
#include "wal/log_zones.h"
#include "zone/zone_states.h"

namespace zenfs {
namespace {

// A zone that was reset after `state` was read still counts with its former extents.
void CoverExtents(const Geometry& geometry, const State& state, std::vector<ZoneInfo>& report) {
  for (const auto& [id, record] : state.files()) {
    for (const Extent& extent : record->extents) {
      const ZoneId zone = geometry.ZoneOf(extent.place);
      if (zone.value >= report.size()) continue;
      ZoneInfo& info = report[zone.value];
      const std::uint64_t end = extent.place - info.start + RoundUp(extent.length, geometry.block_size);
      const bool movable = info.condition == ZoneCondition::kEmpty || IsActive(info.condition);
      if (!movable || end <= info.WrittenBytes() || end > info.capacity) continue;
      info.condition = end == info.capacity ? ZoneCondition::kFull : ZoneCondition::kClosed;
      info.write_pointer = info.start + end;
    }
  }
}

std::uint64_t PaddingOf(const State& state, std::uint32_t block_size) {
  std::uint64_t padding = 0;
  for (const auto& [id, record] : state.files()) {
    for (const Extent& extent : record->extents) padding += OccupiedBytes(extent, block_size) - extent.length;
  }
  return padding;
}

void CountLogsAndMetadata(const std::map<ZoneId, std::uint64_t>& frame_bytes, LiveZones& out) {
  for (ZoneStatus& zone : out.zones) {
    if (zone.phase == ZonePhase::kMetadata) {
      zone.live = zone.written;
      out.space.metadata_used += zone.written;
    } else if (zone.phase == ZonePhase::kLog) {
      const auto found = frame_bytes.find(zone.id);
      const std::uint64_t frames = found == frame_bytes.end() ? 0 : found->second;
      // The frames were counted before the report. A zone that was reset in between holds none of them.
      zone.live = std::min(frames, zone.written);
      out.space.log_used += zone.live;
      out.space.log_garbage += zone.written - zone.live;
    }
  }
}

std::uint64_t SpareOfLog(const State& state, std::span<const ZoneStatus> zones, std::uint32_t group) {
  std::vector<LogZoneStatus> log;
  for (const auto& [id, allocated] : state.log_zones()) {
    const ZoneStatus& zone = zones[id.value];
    const bool writable =
        zone.phase == ZonePhase::kLog && allocated.sync_bytes == 0 && zone.written < zone.capacity;
    log.push_back({.zone = id,
                   .generation = allocated.generation,
                   .capacity = zone.capacity,
                   .written = zone.written,
                   .writable = writable});
  }
  return SpareBytes(log, group);
}

}  // namespace

Result<std::unique_ptr<ZoneManager>> AccountZones(ZonedDevice& device, const SlotPlan& plan,
                                                  std::vector<ZoneInfo> report, ZoneManager::Options options,
                                                  const State& state) {
  ZENFS_ASSERT(report.size() == device.geometry().zone_count);
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<ZoneManager> zones,
                         ZoneManager::Create(device, plan, std::move(report), std::move(options)));
  for (const auto& [id, zone] : state.log_zones()) zones->AdoptLogZone(id);
  for (const auto& [id, record] : state.files()) {
    for (const Extent& extent : record->extents) zones->AdoptExtent(extent, record->lifetime);
  }
  return zones;
}

Result<LiveZones> AccountLiveZones(ZonedDevice& device, const Superblock& superblock, const State& state,
                                   const std::vector<ZoneId>& metadata_zones,
                                   const std::map<ZoneId, std::uint64_t>& frame_bytes) {
  const Geometry& geometry = device.geometry();
  ZENFS_ASSIGN_OR_RETURN(const SlotPlan plan,
                         PlanSlots(geometry, device.name(), CopiesOf(superblock, geometry)));
  ZENFS_ASSIGN_OR_RETURN(std::vector<ZoneInfo> report, ReportAll(device));
  CoverExtents(geometry, state, report);
  ZoneManager::Options options = SpaceOptions(geometry, metadata_zones);
  options.read_only = true;
  const std::uint32_t log_group = options.log.group;
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<ZoneManager> zones,
                         AccountZones(device, plan, std::move(report), std::move(options), state));
  ZENFS_RETURN_IF_ERROR(zones->Start());
  LiveZones out{.zones = zones->Zones(), .space = zones->Space()};
  CountLogsAndMetadata(frame_bytes, out);
  if (geometry.log_zones == 0) out.space.CountSpareOfLog(SpareOfLog(state, out.zones, log_group));
  out.space.padding = std::min(PaddingOf(state, geometry.block_size), out.space.live);
  return out;
}

}  // namespace zenfs
