// Test rig: a ZonePool with empty zones and without a device. RunJobs plays the device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "zone/zone_pool.h"

namespace zenfs {

struct PoolBench {
  static constexpr std::uint64_t kBlock = 4096;
  static constexpr std::uint64_t kBlocksAZone = 16;

  explicit PoolBench(std::uint32_t zones, SlotPlan plan, std::uint32_t log_needs = 0,
                     std::uint64_t headroom = 0)
      : PoolBench(GeometryOf(zones), plan, {.needs = log_needs, .least = log_needs}, headroom) {}
  PoolBench(const Geometry& geometry, SlotPlan plan, EmptyZones::LogShare log, std::uint64_t headroom)
      : pool(Make(geometry, plan, log, headroom)) {
    pool.Start();
  }
  static Geometry GeometryOf(std::uint32_t zones) {
    Geometry geometry;
    geometry.zone_size = kBlocksAZone * kBlock;
    geometry.zone_count = zones;
    return geometry;
  }
  static ZonePool Make(const Geometry& geometry, SlotPlan plan, EmptyZones::LogShare log,
                       std::uint64_t headroom) {
    std::vector<ZoneInfo> report;
    for (std::uint32_t i = 0; i < geometry.zone_count; ++i) {
      ZoneInfo info;
      info.id = ZoneId(i);
      info.start = info.write_pointer = geometry.ZoneStart(ZoneId(i));
      info.capacity = geometry.zone_size;
      report.push_back(info);
    }
    return ZonePool(
        {.geometry = geometry, .plan = plan, .log = log, .headroom = headroom, .reclaims = headroom != 0},
        report, {});
  }

  ZoneAllocation Take(ClaimState& claim, Lifetime lifetime) {
    return pool.AllocateData(claim, lifetime, WritePurpose::kData, SteadyTime{});
  }
  // Takes a zone, writes and commits up to `blocks` blocks, and returns the extent.
  Extent Write(ClaimState& claim, Lifetime lifetime, std::uint64_t blocks) {
    const ZoneAllocation taken = Take(claim, lifetime);
    EXPECT_EQ(taken.outcome, AllocationOutcome::kAllocated);
    const std::uint64_t bytes = std::min(taken.room, blocks * kBlock);
    const Extent extent{0, DeviceOffset(taken.zone.value * kBlocksAZone * kBlock + taken.written), bytes};
    pool.Wrote(taken.zone, bytes);
    pool.ReleaseWriter(taken.zone);
    pool.AddLive({{extent}});
    pool.Unpin(taken.zone);
    return extent;
  }
  void RunJobs(bool ok = true) {
    while (const auto job = pool.NextJob()) {
      ZoneInfo info;
      info.id = job->zone;
      info.capacity = kBlocksAZone * kBlock;
      info.condition = !ok                                   ? ZoneCondition::kReadOnly
                       : job->kind == ZoneJob::Kind::kFinish ? ZoneCondition::kFull
                                                             : ZoneCondition::kEmpty;
      pool.JobDone(*job, {ok, info});
    }
  }

  static ZoneId ZoneAt(const Extent& extent) {
    return ZoneId(static_cast<std::uint32_t>(extent.place.value / (kBlocksAZone * kBlock)));
  }

  ZonePool pool;
};

}  // namespace zenfs
