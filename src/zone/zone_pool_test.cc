#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "zone/zone_pool_bench.h"

namespace zenfs::zone_pool_test {
namespace {

constexpr std::uint64_t kBlock = PoolBench::kBlock;
constexpr std::uint64_t kBlocksAZone = PoolBench::kBlocksAZone;

ZoneId ZoneAt(const Extent& extent) { return PoolBench::ZoneAt(extent); }

TEST(ZonePoolTest, FilesOfOneLifetimeFillOneZoneAfterTheOther) {
  PoolBench bench(8, {.data = 4, .open_data = 4});
  ZonePool::Claim a, b;
  const ZoneId first = ZoneAt(bench.Write(a, Lifetime::kMedium, 4));
  bench.pool.Unclaim(a);
  EXPECT_EQ(ZoneAt(bench.Write(b, Lifetime::kMedium, 4)), first);
}

TEST(ZonePoolTest, EachLifetimeGetsItsOwnZoneWhileSlotsAreFree) {
  PoolBench bench(8, {.data = 3, .open_data = 3});
  ZonePool::Claim a, b, c;
  const ZoneId medium = ZoneAt(bench.Write(a, Lifetime::kMedium, 1));
  bench.pool.Unclaim(a);
  const ZoneId shorter = ZoneAt(bench.Write(b, Lifetime::kShort, 1));
  bench.pool.Unclaim(b);
  const ZoneId extreme = ZoneAt(bench.Write(c, Lifetime::kExtreme, 1));
  EXPECT_NE(medium, shorter);
  EXPECT_NE(extreme, medium);
  EXPECT_NE(extreme, shorter);
}

TEST(ZonePoolTest, ClaimedZoneIsNotSharedWhileSlotsAreFree) {
  PoolBench bench(8, {.data = 2, .open_data = 2});
  ZonePool::Claim a, b, c;
  const ZoneId first = ZoneAt(bench.Write(a, Lifetime::kMedium, 1));
  const ZoneId second = ZoneAt(bench.Write(b, Lifetime::kMedium, 1));
  EXPECT_NE(first, second);
  EXPECT_EQ(ZoneAt(bench.Write(a, Lifetime::kMedium, 1)), first);
  EXPECT_EQ(ZoneAt(bench.Write(b, Lifetime::kMedium, 1)), second);
  // The third file shares a zone, because no slot is free.
  const ZoneId third = ZoneAt(bench.Write(c, Lifetime::kMedium, 1));
  EXPECT_TRUE(third == first || third == second);
}

TEST(ZonePoolTest, UnclaimedZoneWithAcceptableMatchIsPreferredToAClaimedOne) {
  PoolBench bench(8, {.data = 2, .open_data = 2});
  ZonePool::Claim a, b, c;
  const ZoneId claimed = ZoneAt(bench.Write(a, Lifetime::kMedium, 1));
  const ZoneId shorter = ZoneAt(bench.Write(b, Lifetime::kShort, 1));
  bench.pool.Unclaim(b);
  EXPECT_NE(claimed, shorter);
  EXPECT_EQ(ZoneAt(bench.Write(c, Lifetime::kMedium, 1)), shorter);
}

TEST(ZonePoolTest, ClaimedZoneIsPreferredToAPoorMatch) {
  PoolBench bench(8, {.data = 2, .open_data = 2});
  ZonePool::Claim a, b, c;
  const ZoneId shorter = ZoneAt(bench.Write(a, Lifetime::kShort, 1));
  ZoneAt(bench.Write(b, Lifetime::kExtreme, 1));
  bench.pool.Unclaim(b);
  EXPECT_EQ(ZoneAt(bench.Write(c, Lifetime::kShort, 1)), shorter);
}

TEST(ZonePoolTest, ClaimOnAFullZoneIsDropped) {
  PoolBench bench(8, {.data = 2, .open_data = 2});
  ZonePool::Claim a;
  const ZoneId first = ZoneAt(bench.Write(a, Lifetime::kShort, kBlocksAZone));
  EXPECT_NE(ZoneAt(bench.Write(a, Lifetime::kShort, 1)), first);
}

TEST(ZonePoolTest, WriteWaitsForItsBusyClaimedZone) {
  PoolBench bench(8, {.data = 3, .open_data = 3});
  ZonePool::Claim a;
  bench.Write(a, Lifetime::kShort, 1);
  const ZonePool::Taken mine = bench.Take(a, Lifetime::kShort);
  ASSERT_EQ(mine.outcome, ZonePool::Outcome::kTaken);
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).outcome, ZonePool::Outcome::kWait);
  bench.pool.EndWriter(mine.zone);
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).zone, mine.zone);
}

TEST(ZonePoolTest, DataDoesNotGetTheReserveOfTheLog) {
  PoolBench bench(4, {.data = 4, .open_data = 4}, 2);
  ZonePool::Claim a;
  bench.Write(a, Lifetime::kShort, kBlocksAZone);
  bench.Write(a, Lifetime::kShort, kBlocksAZone);
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).outcome, ZonePool::Outcome::kNoSpace);
  EXPECT_EQ(bench.pool.Space().free, 0U);
  EXPECT_EQ(bench.pool.TakeForLog(false).outcome, ZonePool::Outcome::kTaken);
  EXPECT_EQ(bench.pool.TakeForLog(false).outcome, ZonePool::Outcome::kTaken);
  EXPECT_EQ(bench.pool.TakeForLog(false).outcome, ZonePool::Outcome::kNoSpace);
}

// S1 of docs/internals/failures.md.
TEST(ZonePoolTest, HalfEmptyZoneOfAnotherLifetimeIsUsedBeforeNoSpace) {
  PoolBench bench(2, {.data = 4, .open_data = 4});
  ZonePool::Claim a, b, c;
  bench.Write(a, Lifetime::kExtreme, kBlocksAZone / 2);
  bench.Write(b, Lifetime::kShort, kBlocksAZone);
  EXPECT_EQ(bench.Write(c, Lifetime::kShort, kBlocksAZone).length, kBlocksAZone / 2 * kBlock);
  EXPECT_EQ(bench.Take(c, Lifetime::kShort).outcome, ZonePool::Outcome::kNoSpace);
}

TEST(ZonePoolTest, DeadZoneMoreThanHalfWrittenIsResetAtOnce) {
  PoolBench bench(4, {.data = 1, .open_data = 1});
  ZonePool::Claim a;
  const Extent extent = bench.Write(a, Lifetime::kShort, kBlocksAZone / 2 + 1);
  bench.pool.RemoveLive({{extent}});
  EXPECT_TRUE(bench.pool.HasJob());
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).outcome, ZonePool::Outcome::kWait);  // for the only slot
  bench.RunJobs();
  EXPECT_EQ(bench.pool.slots_used(), 0U);
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).outcome, ZonePool::Outcome::kTaken);
}

TEST(ZonePoolTest, DeadZoneThatIsHardlyWrittenTakesAnyLifetime) {
  PoolBench bench(4, {.data = 4, .open_data = 4});
  ZonePool::Claim a, b;
  const Extent extent = bench.Write(a, Lifetime::kShort, 2);
  bench.pool.RemoveLive({{extent}});
  bench.pool.Unclaim(a);
  EXPECT_FALSE(bench.pool.HasJob());
  EXPECT_EQ(ZoneAt(bench.Write(b, Lifetime::kExtreme, 1)), ZoneAt(extent));
  EXPECT_EQ(bench.pool.Zones()[ZoneAt(extent).value].lifetime, Lifetime::kExtreme);
}

TEST(ZonePoolTest, PinnedDeadZoneIsResetAfterItsLastPinIsDropped) {
  PoolBench bench(4, {.data = 1, .open_data = 1});
  ZonePool::Claim a;
  const Extent extent = bench.Write(a, Lifetime::kShort, kBlocksAZone);
  bench.pool.Pin(ZoneAt(extent));
  bench.pool.Pin(ZoneAt(extent));
  bench.pool.RemoveLive({{extent}});
  bench.pool.Unpin(ZoneAt(extent));
  EXPECT_FALSE(bench.pool.HasJob());
  bench.pool.Unpin(ZoneAt(extent));
  EXPECT_TRUE(bench.pool.HasJob());
}

// The reset of a dead active zone removes its room. The rest may be no more than the headroom.
TEST(ZonePoolTest, NoZoneIsGrantedWithoutRoom) {
  PoolBench bench(3, {.data = 4, .open_data = 4}, 0, kBlocksAZone * kBlock);
  ZonePool::Claim a, b, c, d;
  bench.Write(a, Lifetime::kShort, 12);
  const Extent dead = bench.Write(b, Lifetime::kMedium, 4);
  bench.Write(c, Lifetime::kLong, 4);
  bench.pool.Unclaim(b);
  bench.pool.RemoveLive({{dead}});
  const ZonePool::Taken taken = bench.Take(d, Lifetime::kExtreme);
  EXPECT_EQ(taken.outcome, ZonePool::Outcome::kWaitForReclaim) << "room " << taken.room;
  EXPECT_TRUE(bench.pool.HasJob());
  EXPECT_EQ(bench.pool.Check(), std::vector<std::string>{});
}

TEST(ZonePoolTest, ZonePinnedWhileItsResetIsQueuedIsKept) {
  PoolBench bench(4, {.data = 2, .open_data = 2});
  ZonePool::Claim a;
  const Extent extent = bench.Write(a, Lifetime::kShort, kBlocksAZone - 1);
  bench.pool.RemoveLive({{extent}});
  ASSERT_TRUE(bench.pool.HasJob());
  bench.pool.Pin(ZoneAt(extent));
  EXPECT_FALSE(bench.pool.NextJob());
  EXPECT_EQ(bench.pool.Check(), std::vector<std::string>{});
  bench.pool.Unpin(ZoneAt(extent));
  EXPECT_TRUE(bench.pool.NextJob());
}

TEST(ZonePoolTest, RemovingMoreThanIsLivePreventsTheReset) {
  PoolBench bench(4, {.data = 2, .open_data = 2});
  ZonePool::Claim a;
  const Extent extent = bench.Write(a, Lifetime::kShort, kBlocksAZone);
  bench.pool.RemoveLive({{extent, extent}});
  EXPECT_EQ(bench.pool.Zones()[ZoneAt(extent).value].live, 0U);
  bench.pool.Pin(ZoneAt(extent));
  bench.pool.Unpin(ZoneAt(extent));
  // The first removal queued a reset; the second removes bytes that are not live, which cancels it.
  EXPECT_FALSE(bench.pool.NextJob());
}

TEST(ZonePoolTest, FailedResetRetiresTheZoneAndFreesItsSlot) {
  PoolBench bench(4, {.data = 1, .open_data = 1});
  ZonePool::Claim a;
  const Extent extent = bench.Write(a, Lifetime::kShort, kBlocksAZone - 1);
  bench.pool.RemoveLive({{extent}});
  bench.RunJobs(false);
  EXPECT_EQ(bench.pool.Zones()[ZoneAt(extent).value].phase, ZonePhase::kRetired);
  EXPECT_EQ(bench.pool.slots_used(), 0U);
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).outcome, ZonePool::Outcome::kTaken);
  EXPECT_EQ(bench.pool.Check(), std::vector<std::string>{});
}

TEST(ZonePoolTest, LogZoneReturnedWhilePinnedFreesItsSlot) {
  PoolBench bench(4, {.data = 1, .open_data = 1});
  const ZoneId zone = bench.pool.TakeForLog(false).zone;
  bench.pool.Pin(zone);
  bench.pool.ReturnLogZone(zone);
  bench.RunJobs();
  EXPECT_EQ(bench.pool.slots_used(), 0U);
  EXPECT_EQ(bench.pool.Zones()[zone.value].phase, ZonePhase::kFull);
  bench.pool.Unpin(zone);
  bench.RunJobs();
  EXPECT_EQ(bench.pool.Zones()[zone.value].phase, ZonePhase::kEmpty);
}

// Zone accesses of 100 creations and deletions of a file.
std::uint64_t VisitsOfOneLife(std::uint32_t zones) {
  PoolBench bench(zones, {.data = 4, .open_data = 4}, 2);
  const std::uint64_t before = bench.pool.table().visits();
  for (int i = 0; i < 100; ++i) {
    ZonePool::Claim claim;
    const Extent extent = bench.Write(claim, Lifetime::kShort, 3);
    bench.pool.Unclaim(claim);
    bench.pool.RemoveLive({{extent}});
    bench.RunJobs();
    IgnoreError(Result<int>(static_cast<int>(bench.pool.Space().free >> 40)));
  }
  return bench.pool.table().visits() - before;
}

// P2 of docs/internals/failures.md.
TEST(ZonePoolTest, CostOfCreatingAndDeletingIsIndependentOfTheNumberOfZones) {
  EXPECT_EQ(VisitsOfOneLife(64), VisitsOfOneLife(100'000));
}

// Files of random lifetimes write, commit, die, and are pinned and unpinned; zones fail. In any order the
// invariants hold, and kNoSpace is returned only if no space is free.
TEST(ZonePoolTest, InvariantsHoldUnderRandomUse) {
  EXPECT_TRUE(rc::check([] {
    const auto slots = *rc::gen::inRange<std::uint32_t>(1, 5);
    const auto reserve = *rc::gen::inRange<std::uint32_t>(0, 3);
    PoolBench bench(*rc::gen::inRange<std::uint32_t>(4, 12), {.data = slots, .open_data = slots}, reserve);
    struct File {
      ZonePool::Claim claim;
      Lifetime lifetime;
      std::vector<Extent> extents;
    };
    std::vector<File> files(*rc::gen::inRange<std::size_t>(1, 8));
    for (File& file : files) file.lifetime = Lifetime(*rc::gen::inRange(0, kLifetimeCount));
    std::vector<ZoneId> pins;
    for (int step = *rc::gen::inRange(10, 120); step > 0; --step) {
      File& file = files[*rc::gen::inRange<std::size_t>(0, files.size())];
      switch (*rc::gen::inRange(0, 8)) {
        case 0:
          bench.pool.RemoveLive(file.extents);
          file.extents.clear();
          break;
        case 1: bench.pool.Unclaim(file.claim); break;
        case 2: bench.RunJobs(*rc::gen::inRange(0, 20) != 0); break;
        case 3:
          if (!file.extents.empty()) {
            pins.push_back(ZoneAt(file.extents.front()));
            bench.pool.Pin(pins.back());
          }
          break;
        case 4:
          if (!pins.empty()) {
            bench.pool.Unpin(pins.back());
            pins.pop_back();
          }
          break;
        default: {
          const std::uint64_t free_before = bench.pool.Space().free;
          const ZonePool::Taken taken = bench.Take(file.claim, file.lifetime);
          if (taken.outcome != ZonePool::Outcome::kTaken) {
            if (taken.outcome == ZonePool::Outcome::kNoSpace) RC_ASSERT(free_before == 0U);
            break;
          }
          RC_ASSERT(taken.room > 0U);
          if (*rc::gen::inRange(0, 15) == 0) {
            ZoneInfo info;
            info.id = taken.zone;
            info.condition = *rc::gen::element(ZoneCondition::kFull, ZoneCondition::kReadOnly,
                                               ZoneCondition::kImplicitlyOpen);
            IgnoreError(Result<Code>(bench.pool.WriteFailed(taken.zone, Code::kIo, info, SteadyTime{})));
            bench.pool.EndWriter(taken.zone);
            break;
          }
          const std::uint64_t bytes =
              std::min(taken.room, kBlock * *rc::gen::inRange<std::uint64_t>(1, kBlocksAZone + 1));
          file.extents.push_back(
              {0, DeviceOffset(taken.zone.value * kBlocksAZone * kBlock + taken.written), bytes});
          bench.pool.Wrote(taken.zone, bytes);
          bench.pool.EndWriter(taken.zone);
          bench.pool.AddLive({{file.extents.back()}});
          bench.pool.Unpin(taken.zone);
        }
      }
      const auto broken = bench.pool.Check();
      RC_ASSERT(broken == std::vector<std::string>{});
      RC_ASSERT(bench.pool.slots_used() <= slots);
      const SpaceReport sum = bench.pool.Space();
      RC_ASSERT(sum.total == sum.log + sum.reclaim + sum.live + sum.garbage + sum.free + sum.lost);
      RC_ASSERT(sum.total == bench.pool.Zones().size() * kBlocksAZone * kBlock);
    }
  }));
}

}  // namespace
}  // namespace zenfs::zone_pool_test
