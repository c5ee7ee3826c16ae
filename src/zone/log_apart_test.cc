// Two joined devices: the log has zones and slots of its own.
#include <gtest/gtest.h>

#include "zone/zone_pool_test_rig.h"

namespace zenfs::log_apart_test {
namespace {

constexpr std::uint64_t kZone = PoolBench::kBlocksAZone * PoolBench::kBlock;
constexpr std::uint32_t kMainZones = 4;

Geometry Joined(std::uint32_t log_zones, std::uint32_t log_max_active = 4) {
  Geometry geometry = PoolBench::GeometryOf(kMainZones + log_zones);
  geometry.log_zones = log_zones;
  geometry.log_max_active = geometry.log_max_open = log_max_active;
  return geometry;
}

class LogApart : public testing::Test {
 protected:
  AllocationOutcome TakeForLog(bool borrow = false) {
    const ZoneAllocation taken =
        pool().AllocateLogZone(borrow ? LogZonePurpose::kMount : LogZonePurpose::kNow);
    if (taken.outcome == AllocationOutcome::kAllocated) taken_.push_back(taken.zone);
    return taken.outcome;
  }
  void FillMain() {
    ClaimState claim;
    for (std::uint32_t i = 0; i + 1 < kMainZones; ++i)
      written_.push_back(bench_.Write(claim, Lifetime::kLong, 16));
  }
  void Answer(VictimZones victims) {
    const auto need = pool().demand().Need();
    ASSERT_TRUE(need);
    ASSERT_EQ(need->victims, victims);
    ASSERT_EQ(need->urgency, ReclaimUrgency::kUrgent);
    pool().demand().SetVerdict({.version = need->version,
                                .urgency = need->urgency,
                                .victims = victims,
                                .lacks_room = victims == VictimZones::kLog});
  }
  ZonePool& pool() { return bench_.pool; }

  PoolBench bench_{Joined(4), {.data = 4, .open_data = 4}, {}, kZone};
  std::vector<ZoneId> taken_;
  std::vector<Extent> written_;
};

TEST_F(LogApart, TheLogAndDataTakeOnlyZonesOfTheirOwn) {
  FillMain();
  ClaimState claim;
  EXPECT_EQ(bench_.Take(claim, Lifetime::kLong).outcome, AllocationOutcome::kWaitForReclaim)
      << "the empty zones of the log are not for data";
  ASSERT_EQ(TakeForLog(), AllocationOutcome::kAllocated);
  EXPECT_GE(taken_.front().value, kMainZones);
}

TEST_F(LogApart, TheLastEmptyZoneIsKeptForAMount) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(TakeForLog(), AllocationOutcome::kAllocated);
  EXPECT_EQ(TakeForLog(), AllocationOutcome::kWaitForLogReclaim);
  EXPECT_EQ(TakeForLog(true), AllocationOutcome::kAllocated);
}

TEST_F(LogApart, AReturnedZoneIsTheLogsAgain) {
  const std::uint64_t free = pool().Space().free;
  ASSERT_EQ(TakeForLog(), AllocationOutcome::kAllocated);
  pool().ReleaseLogZone(taken_.front());
  bench_.RunJobs();
  EXPECT_EQ(pool().Space().free, free);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(TakeForLog(), AllocationOutcome::kAllocated);
}

TEST_F(LogApart, SpaceCountsAllZonesOfTheLogForTheLog) {
  const SpaceReport before = pool().Space();
  EXPECT_EQ(before.log, 4 * kZone);
  EXPECT_EQ(before.log_limit, 4 * kZone);
  ASSERT_EQ(TakeForLog(), AllocationOutcome::kAllocated);
  EXPECT_EQ(pool().Space().log, 4 * kZone);
  EXPECT_EQ(pool().Space().total, 8 * kZone);
}

TEST_F(LogApart, ZonesInTransitHoldSlotsOfTheLogsDeviceOnly) {
  PoolBench bench(Joined(8, 4), {.data = 4, .open_data = 4}, {}, kZone);
  for (int i = 0; i < 5; ++i) {
    const ZoneAllocation taken = bench.pool.AllocateLogZone(LogZonePurpose::kNow);
    ASSERT_EQ(taken.outcome, AllocationOutcome::kAllocated) << i;
    bench.pool.Pin(taken.zone);
    bench.pool.ReleaseLogZone(taken.zone);  // a reader pins it, so it must be finished first
    EXPECT_EQ(bench.pool.slots().used(), 0U);
    if (bench.pool.log_slots().exceeded()) break;
  }
  EXPECT_EQ(bench.pool.AllocateLogZone(LogZonePurpose::kNow).outcome, AllocationOutcome::kWait)
      << "for a finish";
  bench.RunJobs();
  EXPECT_EQ(bench.pool.AllocateLogZone(LogZonePurpose::kNow).outcome, AllocationOutcome::kAllocated);
}

TEST_F(LogApart, AWaitingLogAsksForLogVictimsAndLeavesTheHeadroomWhole) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(TakeForLog(), AllocationOutcome::kAllocated);
  pool().demand().WaitsForReclaim(AllocationOutcome::kWaitForLogReclaim, true);
  const auto need = pool().demand().Need();
  ASSERT_TRUE(need);
  EXPECT_EQ(need->urgency, ReclaimUrgency::kUrgent);
  EXPECT_EQ(need->victims, VictimZones::kLog);
  EXPECT_EQ(need->room, (kMainZones - 1) * kZone);
  pool().demand().WaitsForReclaim(AllocationOutcome::kWaitForLogReclaim, false);
}

TEST_F(LogApart, TheLogHasNoSpaceOnlyIfDataCannotMakeRoomForItsFrames) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(TakeForLog(), AllocationOutcome::kAllocated);
  FillMain();
  pool().demand().WaitsForReclaim(AllocationOutcome::kWaitForLogReclaim, true);
  Answer(VictimZones::kLog);
  EXPECT_EQ(TakeForLog(), AllocationOutcome::kWaitForLogReclaim) << "data has not been searched";
  Answer(VictimZones::kData);
  EXPECT_EQ(TakeForLog(), AllocationOutcome::kNoSpace);
  pool().RemoveLive({{written_.front()}});
  EXPECT_EQ(TakeForLog(), AllocationOutcome::kWaitForLogReclaim) << "a zone of data died";
  pool().demand().WaitsForReclaim(AllocationOutcome::kWaitForLogReclaim, false);
}

TEST_F(LogApart, DataThatWaitsComesBeforeALogThatIsOnlyAhead) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(TakeForLog(), AllocationOutcome::kAllocated);
  ASSERT_EQ(pool().demand().Need()->victims, VictimZones::kLog) << "one empty zone is left";
  FillMain();
  pool().demand().WaitsForReclaim(AllocationOutcome::kWaitForReclaim, true);
  EXPECT_EQ(pool().demand().Need()->victims, VictimZones::kData);
  pool().demand().WaitsForReclaim(AllocationOutcome::kWaitForLogReclaim, true);
  EXPECT_EQ(pool().demand().Need()->victims, VictimZones::kLog) << "both wait";
  pool().demand().WaitsForReclaim(AllocationOutcome::kWaitForLogReclaim, false);
  pool().demand().WaitsForReclaim(AllocationOutcome::kWaitForReclaim, false);
}

TEST_F(LogApart, WaitingDataAsksForDataVictims) {
  FillMain();
  pool().demand().WaitsForReclaim(AllocationOutcome::kWaitForReclaim, true);
  Answer(VictimZones::kData);
  ClaimState claim;
  EXPECT_EQ(bench_.Take(claim, Lifetime::kLong).outcome, AllocationOutcome::kNoSpace);
  pool().demand().WaitsForReclaim(AllocationOutcome::kWaitForReclaim, false);
}

TEST_F(LogApart, TidyingAsksForLogVictims) {
  pool().demand().AskToTidy();
  const auto need = pool().demand().Need();
  ASSERT_TRUE(need);
  EXPECT_EQ(need->urgency, ReclaimUrgency::kTidy);
  EXPECT_EQ(need->victims, VictimZones::kLog);
}

}  // namespace
}  // namespace zenfs::log_apart_test
