// Two joined devices: the log has zones and slots of its own.
#include <gtest/gtest.h>

#include "zone/zone_pool_bench.h"

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
  TakeOutcome TakeForLog(bool borrow = false) {
    const TakenZone taken = pool().log().Take(borrow ? LogLoan::kBorrow : LogLoan::kNow);
    if (taken.outcome == TakeOutcome::kTaken) taken_.push_back(taken.zone);
    return taken.outcome;
  }
  void FillMain() {
    ClaimState claim;
    for (std::uint32_t i = 0; i + 1 < kMainZones; ++i)
      written_.push_back(bench_.Write(claim, Lifetime::kLong, 16));
  }
  void Answer(VictimZones victims) {
    const auto need = pool().reclaim().Need();
    ASSERT_TRUE(need);
    ASSERT_EQ(need->victims, victims);
    ASSERT_EQ(need->urgency, ReclaimUrgency::kUrgent);
    pool().reclaim().SetVerdict({.version = need->version,
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
  EXPECT_EQ(bench_.Take(claim, Lifetime::kLong).outcome, TakeOutcome::kWaitForReclaim)
      << "the empty zones of the log are not for data";
  ASSERT_EQ(TakeForLog(), TakeOutcome::kTaken);
  EXPECT_GE(taken_.front().value, kMainZones);
}

TEST_F(LogApart, TheLastEmptyZoneIsKeptForAMount) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(TakeForLog(), TakeOutcome::kTaken);
  EXPECT_EQ(TakeForLog(), TakeOutcome::kWaitForLogReclaim);
  EXPECT_EQ(TakeForLog(true), TakeOutcome::kTaken);
}

TEST_F(LogApart, AReturnedZoneIsTheLogsAgain) {
  const std::uint64_t free = pool().Space().free;
  ASSERT_EQ(TakeForLog(), TakeOutcome::kTaken);
  pool().log().Return(taken_.front());
  bench_.RunJobs();
  EXPECT_EQ(pool().Space().free, free);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(TakeForLog(), TakeOutcome::kTaken);
}

TEST_F(LogApart, SpaceCountsAllZonesOfTheLogForTheLog) {
  const SpaceReport before = pool().Space();
  EXPECT_EQ(before.log, 4 * kZone);
  EXPECT_EQ(before.log_limit, 4 * kZone);
  ASSERT_EQ(TakeForLog(), TakeOutcome::kTaken);
  EXPECT_EQ(pool().Space().log, 4 * kZone);
  EXPECT_EQ(pool().Space().total, 8 * kZone);
}

TEST_F(LogApart, ZonesInTransitHoldSlotsOfTheLogsDeviceOnly) {
  PoolBench bench(Joined(8, 4), {.data = 4, .open_data = 4}, {}, kZone);
  for (int i = 0; i < 5; ++i) {
    const TakenZone taken = bench.pool.log().Take(LogLoan::kNow);
    ASSERT_EQ(taken.outcome, TakeOutcome::kTaken) << i;
    bench.pool.live().Pin(taken.zone);
    bench.pool.log().Return(taken.zone);  // a reader pins it, so it must be finished first
    EXPECT_EQ(bench.pool.state().slots.used(), 0U);
    if (bench.pool.state().log_slots.exceeded()) break;
  }
  EXPECT_EQ(bench.pool.log().Take(LogLoan::kNow).outcome, TakeOutcome::kWait) << "for a finish";
  bench.RunJobs();
  EXPECT_EQ(bench.pool.log().Take(LogLoan::kNow).outcome, TakeOutcome::kTaken);
}

TEST_F(LogApart, AWaitingLogAsksForLogVictimsAndLeavesTheHeadroomWhole) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(TakeForLog(), TakeOutcome::kTaken);
  pool().reclaim().WaitsForReclaim(TakeOutcome::kWaitForLogReclaim, true);
  const auto need = pool().reclaim().Need();
  ASSERT_TRUE(need);
  EXPECT_EQ(need->urgency, ReclaimUrgency::kUrgent);
  EXPECT_EQ(need->victims, VictimZones::kLog);
  EXPECT_EQ(need->room, (kMainZones - 1) * kZone);
  pool().reclaim().WaitsForReclaim(TakeOutcome::kWaitForLogReclaim, false);
}

TEST_F(LogApart, TheLogHasNoSpaceOnlyIfDataCannotMakeRoomForItsFrames) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(TakeForLog(), TakeOutcome::kTaken);
  FillMain();
  pool().reclaim().WaitsForReclaim(TakeOutcome::kWaitForLogReclaim, true);
  Answer(VictimZones::kLog);
  EXPECT_EQ(TakeForLog(), TakeOutcome::kWaitForLogReclaim) << "data has not been searched";
  Answer(VictimZones::kData);
  EXPECT_EQ(TakeForLog(), TakeOutcome::kNoSpace);
  pool().live().Remove({{written_.front()}});
  EXPECT_EQ(TakeForLog(), TakeOutcome::kWaitForLogReclaim) << "a zone of data died";
  pool().reclaim().WaitsForReclaim(TakeOutcome::kWaitForLogReclaim, false);
}

TEST_F(LogApart, DataThatWaitsComesBeforeALogThatIsOnlyAhead) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(TakeForLog(), TakeOutcome::kTaken);
  ASSERT_EQ(pool().reclaim().Need()->victims, VictimZones::kLog) << "one empty zone is left";
  FillMain();
  pool().reclaim().WaitsForReclaim(TakeOutcome::kWaitForReclaim, true);
  EXPECT_EQ(pool().reclaim().Need()->victims, VictimZones::kData);
  pool().reclaim().WaitsForReclaim(TakeOutcome::kWaitForLogReclaim, true);
  EXPECT_EQ(pool().reclaim().Need()->victims, VictimZones::kLog) << "both wait";
  pool().reclaim().WaitsForReclaim(TakeOutcome::kWaitForLogReclaim, false);
  pool().reclaim().WaitsForReclaim(TakeOutcome::kWaitForReclaim, false);
}

TEST_F(LogApart, WaitingDataAsksForDataVictims) {
  FillMain();
  pool().reclaim().WaitsForReclaim(TakeOutcome::kWaitForReclaim, true);
  Answer(VictimZones::kData);
  ClaimState claim;
  EXPECT_EQ(bench_.Take(claim, Lifetime::kLong).outcome, TakeOutcome::kNoSpace);
  pool().reclaim().WaitsForReclaim(TakeOutcome::kWaitForReclaim, false);
}

TEST_F(LogApart, TidyingAsksForLogVictims) {
  pool().reclaim().AskToTidy();
  const auto need = pool().reclaim().Need();
  ASSERT_TRUE(need);
  EXPECT_EQ(need->urgency, ReclaimUrgency::kTidy);
  EXPECT_EQ(need->victims, VictimZones::kLog);
}

}  // namespace
}  // namespace zenfs::log_apart_test
