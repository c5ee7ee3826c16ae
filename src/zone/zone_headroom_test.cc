// The headroom for copies, promised room, and the verdicts that end a wait with kNoSpace.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <deque>

#include "zone/zone_pool_test_rig.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kHeadroom = PoolBench::kBlocksAZone * PoolBench::kBlock;

// Reclaim pins the zones that it reads. If this voided its own verdict, it would search again without a pause.
TEST(ZoneHeadroomTest, AVerdictHoldsUntilRoomOrLivenessChanges) {
  PoolBench bench(3, {.data = 4, .open_data = 4}, 0, kHeadroom);
  ClaimState a;
  const Extent live = bench.Write(a, Lifetime::kShort, 16);
  const Extent dies = bench.Write(a, Lifetime::kShort, 16);
  bench.pool.demand().WaitsForReclaim(AllocationOutcome::kWaitForReclaim, true);
  const auto need = bench.pool.demand().Need();
  ASSERT_TRUE(need);
  bench.pool.demand().SetVerdict({.version = need->version, .urgency = need->urgency});
  EXPECT_FALSE(bench.pool.demand().Need());
  bench.pool.Pin(PoolBench::ZoneAt(live));
  bench.pool.Unpin(PoolBench::ZoneAt(live));
  EXPECT_FALSE(bench.pool.demand().Need());
  EXPECT_EQ(bench.pool.demand().AfterReclaim(WritePurpose::kData), AllocationOutcome::kNoSpace);
  bench.pool.Pin(PoolBench::ZoneAt(dies));
  bench.pool.RemoveLive({{dies}});
  EXPECT_EQ(bench.pool.demand().AfterReclaim(WritePurpose::kData), AllocationOutcome::kWaitForReclaim);
  const auto again = bench.pool.demand().Need();
  ASSERT_TRUE(again);
  bench.pool.demand().SetVerdict({.version = again->version, .urgency = again->urgency, .pending = true});
  EXPECT_EQ(bench.pool.demand().AfterReclaim(WritePurpose::kData), AllocationOutcome::kWaitForReclaim);
  bench.pool.Unpin(PoolBench::ZoneAt(dies));
  EXPECT_TRUE(bench.pool.demand().Need()) << "the last pin was dropped, so the zone can be reset";
  bench.pool.demand().WaitsForReclaim(AllocationOutcome::kWaitForReclaim, false);
}

// What a mount recovered can be moved only after that.
TEST(ZoneHeadroomTest, AVerdictFromBeforeTheEndOfTheMountDoesNotHold) {
  PoolBench bench(3, {.data = 4, .open_data = 4}, 0, kHeadroom);
  ClaimState claim;
  for (int zone = 0; zone < 2; ++zone) bench.Write(claim, Lifetime::kShort, 16);
  bench.pool.demand().WaitsForReclaim(AllocationOutcome::kWaitForReclaim, true);
  const auto need = bench.pool.demand().Need();
  ASSERT_TRUE(need);
  bench.pool.demand().SetVerdict({.version = need->version, .urgency = need->urgency});
  bench.pool.demand().TidyData();
  EXPECT_EQ(bench.pool.demand().AfterReclaim(WritePurpose::kData), AllocationOutcome::kWaitForReclaim);
  EXPECT_TRUE(bench.pool.demand().Need());
  bench.pool.demand().WaitsForReclaim(AllocationOutcome::kWaitForReclaim, false);
}

// Zones of 32 blocks, of which one is less than a twentieth.
TEST(ZoneHeadroomTest, AZoneThatIsNearlyDeadIsEmptiedOnceTheMountIsComplete) {
  Geometry geometry = PoolBench::GeometryOf(8);
  geometry.zone_size *= 2;
  PoolBench bench(geometry, {.data = 4, .open_data = 4}, {}, geometry.zone_size);
  ClaimState claim;
  const ZoneAllocation taken = bench.Take(claim, Lifetime::kShort);
  ASSERT_EQ(taken.outcome, AllocationOutcome::kAllocated);
  bench.pool.Wrote(taken.zone, geometry.zone_size);
  bench.pool.ReleaseWriter(taken.zone);
  const DeviceOffset start = geometry.ZoneStart(taken.zone);
  const Extent stays{0, start, PoolBench::kBlock};
  const Extent dies{0, start + PoolBench::kBlock, geometry.zone_size - PoolBench::kBlock};
  bench.pool.AddLive({{stays, dies}});
  bench.pool.Unpin(taken.zone);
  ReclaimDemand& demand = bench.pool.demand();
  bench.pool.RemoveLive({{dies}});
  EXPECT_FALSE(demand.Need()) << "the mount may need the room";
  demand.TidyData();
  const auto need = demand.Need();
  ASSERT_TRUE(need);
  EXPECT_EQ(need->urgency, ReclaimUrgency::kTidy);
  bench.pool.AddLive({{dies}});
  EXPECT_FALSE(demand.Need());
}

TEST(ZoneHeadroomTest, AVerdictOnALowNeedHoldsForItsTime) {
  PoolBench bench(7, {.data = 4, .open_data = 4}, 0, kHeadroom);
  ClaimState full, a, b;
  for (int i = 0; i < 4; ++i) bench.Write(full, Lifetime::kShort, 16);
  bench.Write(a, Lifetime::kShort, 1);
  bench.Write(b, Lifetime::kLong, 1);
  ReclaimDemand& demand = bench.pool.demand();
  const auto need = demand.Need();
  ASSERT_TRUE(need);
  ASSERT_EQ(need->urgency, ReclaimUrgency::kLow) << "one zone is empty";
  const auto answer = [&](SteadyTime until) {
    demand.SetVerdict({.version = need->version, .urgency = need->urgency, .until = until});
  };
  answer(SteadyTime::max());
  demand.NoteChange();
  EXPECT_FALSE(demand.Need()) << "its time is not over";
  demand.WaitsForReclaim(AllocationOutcome::kWaitForReclaim, true);
  EXPECT_TRUE(demand.Need()) << "a writer waits";
  demand.WaitsForReclaim(AllocationOutcome::kWaitForReclaim, false);
  answer(SteadyTime::min());
  EXPECT_TRUE(demand.Need()) << "its time is over, and something has changed";
}

// A partly written write that waits prevents the reset of its zone, in which all other data may be dead.
TEST(ZoneHeadroomTest, AWriteIsGrantedNothingUntilThereIsRoomForAllOfIt) {
  PoolBench bench(3, {.data = 4, .open_data = 4}, 0, kHeadroom);
  ClaimState filler, a, b;
  bench.Write(filler, Lifetime::kShort, 16);
  bench.Write(filler, Lifetime::kShort, 13);  // three blocks are left beside the headroom
  bench.pool.demand().WaitsForReclaim(AllocationOutcome::kWaitForReclaim, true);
  const auto take = [&](ClaimState& claim, std::uint64_t blocks) {
    return bench.pool.AllocateData(claim, Lifetime::kShort, WritePurpose::kData, SteadyTime{},
                                   blocks * PoolBench::kBlock);
  };
  EXPECT_EQ(take(a, 4).outcome, AllocationOutcome::kWaitForReclaim);
  const ZoneAllocation taken = take(b, 2);
  ASSERT_EQ(taken.outcome, AllocationOutcome::kAllocated);
  EXPECT_EQ(taken.room, 2 * PoolBench::kBlock);
  bench.pool.ReleaseWriter(taken.zone);
  const auto need = bench.pool.demand().Need();
  ASSERT_TRUE(need);
  bench.pool.demand().SetVerdict({.version = need->version, .urgency = need->urgency});
  EXPECT_EQ(take(a, 4).room, 3 * PoolBench::kBlock) << "no more room will come, so the rest is used";
  bench.pool.demand().WaitsForReclaim(AllocationOutcome::kWaitForReclaim, false);
}

// The first zone has too little room for the whole write, and another writer asks before the second zone is taken.
TEST(ZoneHeadroomTest, PromisedRoomIsNotGrantedToOthers) {
  PoolBench bench(4, {.data = 4, .open_data = 4}, 0, kHeadroom);
  ClaimState filler, a, b;
  bench.Write(filler, Lifetime::kShort, 16);
  bench.Write(filler, Lifetime::kShort, 14);
  const auto take = [&](ClaimState& claim, std::uint64_t blocks) {
    return bench.pool.AllocateData(claim, Lifetime::kShort, WritePurpose::kData, SteadyTime{},
                                   blocks * PoolBench::kBlock);
  };
  bench.pool.ReleaseClaim(filler);
  ZoneAllocation taken = take(a, 10);
  ASSERT_EQ(taken.outcome, AllocationOutcome::kAllocated);
  ASSERT_EQ(taken.room, 2 * PoolBench::kBlock);
  bench.pool.Wrote(taken.zone, taken.room);
  bench.pool.ReleaseWriter(taken.zone);
  EXPECT_EQ(take(b, 9).outcome, AllocationOutcome::kWaitForReclaim) << "18 blocks less the 10 promised";
  taken = take(a, 8);
  ASSERT_EQ(taken.outcome, AllocationOutcome::kAllocated);
  EXPECT_EQ(taken.room, 8 * PoolBench::kBlock);
  bench.pool.ReleaseWriter(taken.zone);
  bench.pool.ReleaseClaim(a);
  EXPECT_EQ(bench.pool.Check(), std::vector<std::string>{});
}

// On few slots the collector writes while data may not. A write that then runs into its deadline failed with "no zone
// became available in time", although the device was full.
TEST(ZoneHeadroomTest, DataWithoutRoomWaitsForRoomAlsoWhileTheCollectorWrites) {
  PoolBench bench(3, {.data = 2, .open_data = 1, .switch_and_reclaim_share = true}, 0, kHeadroom);
  ClaimState data, copies, other;
  bench.Write(data, Lifetime::kShort, 14);
  const ZoneAllocation copy =
      bench.pool.AllocateData(copies, Lifetime::kShort, WritePurpose::kReclaim, SteadyTime{});
  ASSERT_EQ(copy.outcome, AllocationOutcome::kAllocated);
  EXPECT_EQ(bench.Take(other, Lifetime::kShort).outcome, AllocationOutcome::kWait) << "there is room";
  bench.pool.ReleaseWriter(copy.zone);
  bench.Write(data, Lifetime::kShort, 2);
  bench.Write(data, Lifetime::kShort, 16);
  ASSERT_EQ(bench.pool.AllocateData(copies, Lifetime::kShort, WritePurpose::kReclaim, SteadyTime{}).outcome,
            AllocationOutcome::kAllocated);
  EXPECT_EQ(bench.Take(other, Lifetime::kShort).outcome, AllocationOutcome::kWaitForReclaim);
}

// The same, for a write that was promised room which a failed zone then took away.
TEST(ZoneHeadroomTest, DataThatLostItsPromisedRoomKeepsNoPromiseWhileTheCollectorWrites) {
  PoolBench bench(4, {.data = 3, .open_data = 1, .switch_and_reclaim_share = true}, 0, kHeadroom);
  ClaimState filler, data, fails, copies;
  bench.Write(filler, Lifetime::kShort, 16);
  bench.Write(filler, Lifetime::kShort, 14);
  bench.pool.ReleaseClaim(filler);
  const ZoneAllocation taken =
      bench.pool.AllocateData(data, Lifetime::kShort, WritePurpose::kData, SteadyTime{}, kHeadroom);
  ASSERT_EQ(taken.room, 2 * PoolBench::kBlock);
  bench.pool.Wrote(taken.zone, taken.room);
  bench.pool.ReleaseWriter(taken.zone);
  ASSERT_EQ(data.promised, 14 * PoolBench::kBlock);
  const ZoneAllocation lost =
      bench.pool.AllocateData(fails, Lifetime::kShort, WritePurpose::kReclaim, SteadyTime{});
  ASSERT_EQ(lost.outcome, AllocationOutcome::kAllocated);
  ZoneInfo failed;
  failed.id = lost.zone;
  failed.condition = ZoneCondition::kReadOnly;
  IgnoreError(Result<Code>(bench.pool.WriteFailed(lost.zone, Code::kIo, failed, SteadyTime{})));
  bench.pool.ReleaseWriter(lost.zone);
  bench.RunJobs();
  ASSERT_EQ(bench.pool.AllocateData(copies, Lifetime::kShort, WritePurpose::kReclaim, SteadyTime{}).outcome,
            AllocationOutcome::kAllocated);
  EXPECT_EQ(bench.Take(data, Lifetime::kShort).outcome, AllocationOutcome::kWaitForReclaim);
  EXPECT_EQ(bench.pool.account().promised(), 0u);
}

// A failed zone takes promised room away. The writer that has the promise must not wait for itself.
TEST(ZoneHeadroomTest, AWriterDoesNotWaitForItsOwnPromise) {
  PoolBench bench(4, {.data = 4, .open_data = 4}, 0, kHeadroom);
  ClaimState filler, a;
  bench.Write(filler, Lifetime::kShort, 16);
  bench.Write(filler, Lifetime::kShort, 14);
  bench.pool.ReleaseClaim(filler);
  const auto take = [&](std::uint64_t blocks) {
    return bench.pool.AllocateData(a, Lifetime::kShort, WritePurpose::kData, SteadyTime{},
                                   blocks * PoolBench::kBlock);
  };
  const ZoneAllocation taken = take(16);
  ASSERT_EQ(taken.room, 2 * PoolBench::kBlock);
  bench.pool.Wrote(taken.zone, taken.room);
  bench.pool.ReleaseWriter(taken.zone);
  bench.pool.AddLive({{{0, DeviceOffset(taken.zone.value * kHeadroom + taken.written), taken.room}}});
  bench.pool.Unpin(taken.zone);
  ClaimState copies;  // takes one of the two empty zones, which then fails
  ZoneInfo failed;
  const ZoneAllocation lost =
      bench.pool.AllocateData(copies, Lifetime::kShort, WritePurpose::kReclaim, SteadyTime{});
  ASSERT_EQ(lost.outcome, AllocationOutcome::kAllocated);
  failed.id = lost.zone;
  failed.condition = ZoneCondition::kReadOnly;
  IgnoreError(Result<Code>(bench.pool.WriteFailed(lost.zone, Code::kIo, failed, SteadyTime{})));
  bench.pool.ReleaseWriter(lost.zone);
  bench.RunJobs();
  bench.pool.demand().WaitsForReclaim(AllocationOutcome::kWaitForReclaim, true);
  const auto need = bench.pool.demand().Need();
  ASSERT_TRUE(need);
  bench.pool.demand().SetVerdict({.version = need->version, .urgency = need->urgency});
  EXPECT_EQ(take(14).outcome, AllocationOutcome::kNoSpace);
  bench.pool.demand().WaitsForReclaim(AllocationOutcome::kWaitForReclaim, false);
}

// The headroom, and a log that needs two zones and can do without the second one.
class YieldTest : public testing::Test {
 protected:
  YieldTest() {
    EXPECT_EQ(bench_.pool.AllocateLogZone(LogZonePurpose::kNow).outcome, AllocationOutcome::kAllocated);
    for (int zone = 0; zone < 3; ++zone) live_.push_back(bench_.Write(claim_, Lifetime::kShort, 16));
    EXPECT_EQ(Take().outcome, AllocationOutcome::kWaitForReclaim) << "one zone is headroom, one the log's";
  }
  ZoneAllocation Take() { return bench_.Take(claim_, Lifetime::kShort); }
  void Delete(std::size_t zone) {
    bench_.pool.RemoveLive({{live_[zone]}});
    bench_.RunJobs();
  }

  PoolBench bench_{
      PoolBench::GeometryOf(6), {.data = 4, .open_data = 4}, {.needs = 2, .least = 1}, kHeadroom};
  ClaimState claim_;
  std::vector<Extent> live_;
};

TEST_F(YieldTest, DataGetsTheSecondZoneOfTheLogOnceItIsYielded) {
  EXPECT_EQ(bench_.pool.Space().free, kHeadroom) << "it was offered from the beginning";
  EXPECT_TRUE(bench_.pool.ReduceLogShare());
  EXPECT_FALSE(bench_.pool.ReduceLogShare()) << "there is no third one";
  bench_.Write(claim_, Lifetime::kShort, 8);
  bench_.Write(claim_, Lifetime::kShort, 8);
  EXPECT_EQ(bench_.pool.Space().free, 0u);
  EXPECT_EQ(Take().outcome, AllocationOutcome::kWaitForReclaim) << "the headroom stays";
  EXPECT_EQ(bench_.pool.account().ForCopies(), kHeadroom);
}

TEST_F(YieldTest, TheLogTakesWhatIsYieldedOnlyIfItNeedsIt) {
  EXPECT_TRUE(bench_.pool.ReduceLogShare());
  EXPECT_EQ(bench_.pool.AllocateLogZone(LogZonePurpose::kAhead).outcome, AllocationOutcome::kWait);
  EXPECT_EQ(bench_.pool.AllocateLogZone(LogZonePurpose::kNow).outcome, AllocationOutcome::kAllocated);
}

// Otherwise many writers of data could take each zone that is freed, and a sync would never get one.
TEST_F(YieldTest, DataLeavesAZoneToALogThatWaits) {
  EXPECT_TRUE(bench_.pool.ReduceLogShare());
  bench_.pool.LogWaits(true);
  EXPECT_EQ(Take().outcome, AllocationOutcome::kWaitForReclaim);
  bench_.pool.LogWaits(false);
  EXPECT_EQ(Take().outcome, AllocationOutcome::kAllocated);
}

TEST_F(YieldTest, TheLogGetsItsShareBackOnceDataHasAZoneBesides) {
  EXPECT_TRUE(bench_.pool.ReduceLogShare());
  bench_.Write(claim_, Lifetime::kShort, 16);
  Delete(0);
  EXPECT_TRUE(bench_.pool.empty().log_share_reduced()) << "the freed zone is data's";
  Delete(1);
  EXPECT_FALSE(bench_.pool.empty().log_share_reduced());
  EXPECT_EQ(bench_.pool.AllocateLogZone(LogZonePurpose::kAhead).outcome, AllocationOutcome::kAllocated);
}

// A data file, a log and the collector take and return zones in random order.
class RandomTakers {
 public:
  RandomTakers(std::uint32_t zones, std::uint32_t slots, EmptyZones::LogShare log)
      : bench_(PoolBench::GeometryOf(zones), {.data = slots, .open_data = slots}, log, kHeadroom) {}

  void Step() {
    switch (*rc::gen::inRange(0, 8)) {
      case 0: Kill(); break;
      case 1: bench_.RunJobs(); break;
      case 2: ReleaseLogZone(); break;
      case 3: TakeForLog(); break;
      case 4: Write(WritePurpose::kReclaim); break;
      case 5: bench_.pool.ReduceLogShare(); break;
      default: Write(WritePurpose::kData);
    }
    RC_ASSERT(bench_.pool.Check() == std::vector<std::string>{});
  }

 private:
  void Kill() {
    if (live_.empty()) return;
    bench_.pool.RemoveLive({{live_.front()}});
    live_.pop_front();
  }
  void ReleaseLogZone() {
    if (log_.empty()) return;
    bench_.pool.ReleaseLogZone(log_.front());
    log_.pop_front();
  }
  void TakeForLog() {
    const ZoneAllocation taken = bench_.pool.AllocateLogZone(LogZonePurpose::kNow);
    if (taken.outcome != AllocationOutcome::kAllocated) return;
    log_.push_back(taken.zone);
    RC_ASSERT(bench_.pool.account().ForCopies() >= kHeadroom);
  }
  void Write(WritePurpose purpose) {
    ClaimState& claim = purpose == WritePurpose::kData ? data_ : copies_;
    const ZoneAllocation taken =
        bench_.pool.AllocateData(claim, Lifetime(*rc::gen::inRange(0, kLifetimeCount)), purpose, SteadyTime{},
                                 PoolBench::kBlock * *rc::gen::inRange<std::uint64_t>(0, 24));
    if (taken.outcome != AllocationOutcome::kAllocated) return;
    if (purpose == WritePurpose::kData) RC_ASSERT(bench_.pool.account().ForCopies() >= kHeadroom);
    const std::uint64_t blocks = *rc::gen::inRange<std::uint64_t>(1, PoolBench::kBlocksAZone + 1);
    const std::uint64_t bytes = std::min(taken.room, blocks * PoolBench::kBlock);
    live_.push_back({0, DeviceOffset(taken.zone.value * kHeadroom + taken.written), bytes});
    bench_.pool.Wrote(taken.zone, bytes);
    bench_.pool.ReleaseWriter(taken.zone);
    bench_.pool.AddLive({{live_.back()}});
    bench_.pool.Unpin(taken.zone);
  }

  PoolBench bench_;
  ClaimState data_, copies_;
  std::deque<Extent> live_;
  std::deque<ZoneId> log_;
};

TEST(ZoneHeadroomTest, NeitherDataNorTheLogIsGrantedTheHeadroom) {
  EXPECT_TRUE(rc::check([] {
    const auto needs = *rc::gen::inRange<std::uint32_t>(0, 3);
    RandomTakers takers(*rc::gen::inRange<std::uint32_t>(4, 12), *rc::gen::inRange<std::uint32_t>(1, 5),
                        {.needs = needs, .least = *rc::gen::inRange<std::uint32_t>(0, needs + 1)});
    for (int step = *rc::gen::inRange(10, 150); step > 0; --step) takers.Step();
  }));
}

}  // namespace
}  // namespace zenfs
