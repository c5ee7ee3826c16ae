// The headroom for copies, promised room, and the verdicts that end a wait with kNoSpace.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <deque>

#include "zone/zone_pool_bench.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kHeadroom = PoolBench::kBlocksAZone * PoolBench::kBlock;

// Reclaim pins the zones that it reads. If this voided its own verdict, it would search again without a pause.
TEST(ZoneHeadroomTest, AVerdictHoldsUntilRoomOrLivenessChanges) {
  PoolBench bench(3, {.data = 4, .open_data = 4}, 0, kHeadroom);
  ZonePool::Claim a;
  const Extent live = bench.Write(a, Lifetime::kShort, 16);
  const Extent dies = bench.Write(a, Lifetime::kShort, 16);
  bench.pool.WaitsForReclaim(true);
  const auto need = bench.pool.NeedOfReclaim();
  ASSERT_TRUE(need);
  bench.pool.SetVerdict({.version = need->version, .urgency = need->urgency});
  EXPECT_FALSE(bench.pool.NeedOfReclaim());
  bench.pool.Pin(PoolBench::ZoneAt(live));
  bench.pool.Unpin(PoolBench::ZoneAt(live));
  EXPECT_FALSE(bench.pool.NeedOfReclaim());
  EXPECT_EQ(bench.pool.AfterReclaim(WritePurpose::kData).outcome, ZonePool::Outcome::kNoSpace);
  bench.pool.Pin(PoolBench::ZoneAt(dies));
  bench.pool.RemoveLive({{dies}});
  EXPECT_EQ(bench.pool.AfterReclaim(WritePurpose::kData).outcome, ZonePool::Outcome::kWaitForReclaim);
  const auto again = bench.pool.NeedOfReclaim();
  ASSERT_TRUE(again);
  bench.pool.SetVerdict({.version = again->version, .urgency = again->urgency, .pending = true});
  EXPECT_EQ(bench.pool.AfterReclaim(WritePurpose::kData).outcome, ZonePool::Outcome::kWaitForReclaim);
  bench.pool.Unpin(PoolBench::ZoneAt(dies));
  EXPECT_TRUE(bench.pool.NeedOfReclaim()) << "the last pin was dropped, so the zone can be reset";
  bench.pool.WaitsForReclaim(false);
}

// A partly written write that waits prevents the reset of its zone, in which all other data may be dead.
TEST(ZoneHeadroomTest, AWriteIsGrantedNothingUntilThereIsRoomForAllOfIt) {
  PoolBench bench(3, {.data = 4, .open_data = 4}, 0, kHeadroom);
  ZonePool::Claim filler, a, b;
  bench.Write(filler, Lifetime::kShort, 16);
  bench.Write(filler, Lifetime::kShort, 13);  // three blocks are left beside the headroom
  bench.pool.WaitsForReclaim(true);
  const auto take = [&](ZonePool::Claim& claim, std::uint64_t blocks) {
    return bench.pool.TakeForData(claim, Lifetime::kShort, WritePurpose::kData, SteadyTime{},
                                  blocks * PoolBench::kBlock);
  };
  EXPECT_EQ(take(a, 4).outcome, ZonePool::Outcome::kWaitForReclaim);
  const ZonePool::Taken taken = take(b, 2);
  ASSERT_EQ(taken.outcome, ZonePool::Outcome::kTaken);
  EXPECT_EQ(taken.room, 2 * PoolBench::kBlock);
  bench.pool.EndWriter(taken.zone);
  const auto need = bench.pool.NeedOfReclaim();
  ASSERT_TRUE(need);
  bench.pool.SetVerdict({.version = need->version, .urgency = need->urgency});
  EXPECT_EQ(take(a, 4).room, 3 * PoolBench::kBlock) << "no more room will come, so the rest is used";
  bench.pool.WaitsForReclaim(false);
}

// The first zone has too little room for the whole write, and another writer asks before the second zone is taken.
TEST(ZoneHeadroomTest, PromisedRoomIsNotGrantedToOthers) {
  PoolBench bench(4, {.data = 4, .open_data = 4}, 0, kHeadroom);
  ZonePool::Claim filler, a, b;
  bench.Write(filler, Lifetime::kShort, 16);
  bench.Write(filler, Lifetime::kShort, 14);
  const auto take = [&](ZonePool::Claim& claim, std::uint64_t blocks) {
    return bench.pool.TakeForData(claim, Lifetime::kShort, WritePurpose::kData, SteadyTime{},
                                  blocks * PoolBench::kBlock);
  };
  bench.pool.Unclaim(filler);
  ZonePool::Taken taken = take(a, 10);
  ASSERT_EQ(taken.outcome, ZonePool::Outcome::kTaken);
  ASSERT_EQ(taken.room, 2 * PoolBench::kBlock);
  bench.pool.Wrote(taken.zone, taken.room);
  bench.pool.EndWriter(taken.zone);
  EXPECT_EQ(take(b, 9).outcome, ZonePool::Outcome::kWaitForReclaim) << "18 blocks less the 10 promised";
  taken = take(a, 8);
  ASSERT_EQ(taken.outcome, ZonePool::Outcome::kTaken);
  EXPECT_EQ(taken.room, 8 * PoolBench::kBlock);
  bench.pool.EndWriter(taken.zone);
  bench.pool.Unclaim(a);
  EXPECT_EQ(bench.pool.Check(), std::vector<std::string>{});
}

// A failed zone takes promised room away. The writer that has the promise must not wait for itself.
TEST(ZoneHeadroomTest, AWriterDoesNotWaitForItsOwnPromise) {
  PoolBench bench(4, {.data = 4, .open_data = 4}, 0, kHeadroom);
  ZonePool::Claim filler, a;
  bench.Write(filler, Lifetime::kShort, 16);
  bench.Write(filler, Lifetime::kShort, 14);
  bench.pool.Unclaim(filler);
  const auto take = [&](std::uint64_t blocks) {
    return bench.pool.TakeForData(a, Lifetime::kShort, WritePurpose::kData, SteadyTime{},
                                  blocks * PoolBench::kBlock);
  };
  const ZonePool::Taken taken = take(16);
  ASSERT_EQ(taken.room, 2 * PoolBench::kBlock);
  bench.pool.Wrote(taken.zone, taken.room);
  bench.pool.EndWriter(taken.zone);
  bench.pool.AddLive({{{0, DeviceOffset(taken.zone.value * kHeadroom + taken.written), taken.room}}});
  bench.pool.Unpin(taken.zone);
  ZonePool::Claim copies;  // takes one of the two empty zones, which then fails
  ZoneInfo failed;
  const ZonePool::Taken lost =
      bench.pool.TakeForData(copies, Lifetime::kShort, WritePurpose::kReclaim, SteadyTime{});
  ASSERT_EQ(lost.outcome, ZonePool::Outcome::kTaken);
  failed.id = lost.zone;
  failed.condition = ZoneCondition::kReadOnly;
  IgnoreError(Result<Code>(bench.pool.WriteFailed(lost.zone, Code::kIo, failed, SteadyTime{})));
  bench.pool.EndWriter(lost.zone);
  bench.RunJobs();
  bench.pool.WaitsForReclaim(true);
  const auto need = bench.pool.NeedOfReclaim();
  ASSERT_TRUE(need);
  bench.pool.SetVerdict({.version = need->version, .urgency = need->urgency});
  EXPECT_EQ(take(14).outcome, ZonePool::Outcome::kNoSpace);
  bench.pool.WaitsForReclaim(false);
}

// A data file, a log and the collector take and return zones in random order.
class RandomTakers {
 public:
  RandomTakers(std::uint32_t zones, std::uint32_t slots, std::uint32_t reserve)
      : bench_(zones, {.data = slots, .open_data = slots}, reserve, kHeadroom) {}

  void Step() {
    switch (*rc::gen::inRange(0, 7)) {
      case 0: Kill(); break;
      case 1: bench_.RunJobs(); break;
      case 2: ReturnLogZone(); break;
      case 3: TakeForLog(); break;
      case 4: Write(WritePurpose::kReclaim); break;
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
  void ReturnLogZone() {
    if (log_.empty()) return;
    bench_.pool.ReturnLogZone(log_.front());
    log_.pop_front();
  }
  void TakeForLog() {
    const ZonePool::Taken taken = bench_.pool.TakeForLog(false);
    if (taken.outcome != ZonePool::Outcome::kTaken) return;
    log_.push_back(taken.zone);
    RC_ASSERT(bench_.pool.RoomForCopies() >= kHeadroom);
  }
  void Write(WritePurpose purpose) {
    ZonePool::Claim& claim = purpose == WritePurpose::kData ? data_ : copies_;
    const ZonePool::Taken taken =
        bench_.pool.TakeForData(claim, Lifetime(*rc::gen::inRange(0, kLifetimeCount)), purpose, SteadyTime{},
                                PoolBench::kBlock * *rc::gen::inRange<std::uint64_t>(0, 24));
    if (taken.outcome != ZonePool::Outcome::kTaken) return;
    if (purpose == WritePurpose::kData) RC_ASSERT(bench_.pool.RoomForCopies() >= kHeadroom);
    const std::uint64_t blocks = *rc::gen::inRange<std::uint64_t>(1, PoolBench::kBlocksAZone + 1);
    const std::uint64_t bytes = std::min(taken.room, blocks * PoolBench::kBlock);
    live_.push_back({0, DeviceOffset(taken.zone.value * kHeadroom + taken.written), bytes});
    bench_.pool.Wrote(taken.zone, bytes);
    bench_.pool.EndWriter(taken.zone);
    bench_.pool.AddLive({{live_.back()}});
    bench_.pool.Unpin(taken.zone);
  }

  PoolBench bench_;
  ZonePool::Claim data_, copies_;
  std::deque<Extent> live_;
  std::deque<ZoneId> log_;
};

TEST(ZoneHeadroomTest, NeitherDataNorTheLogIsGrantedTheHeadroom) {
  EXPECT_TRUE(rc::check([] {
    RandomTakers takers(*rc::gen::inRange<std::uint32_t>(4, 12), *rc::gen::inRange<std::uint32_t>(1, 5),
                        *rc::gen::inRange<std::uint32_t>(0, 3));
    for (int step = *rc::gen::inRange(10, 150); step > 0; --step) takers.Step();
  }));
}

}  // namespace
}  // namespace zenfs
