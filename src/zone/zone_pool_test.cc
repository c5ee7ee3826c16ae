#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "zone/zone_pool_test_rig.h"

namespace zenfs::zone_pool_test {
namespace {

constexpr std::uint64_t kBlock = PoolBench::kBlock;
constexpr std::uint64_t kBlocksAZone = PoolBench::kBlocksAZone;

ZoneId ZoneAt(const Extent& extent) { return PoolBench::ZoneAt(extent); }

TEST(ZonePoolTest, FilesOfOneLifetimeFillOneZoneAfterTheOther) {
  PoolBench bench(8, {.data = 4, .open_data = 4});
  ClaimState a, b;
  const ZoneId first = ZoneAt(bench.Write(a, Lifetime::kMedium, 4));
  bench.pool.ReleaseClaim(a);
  EXPECT_EQ(ZoneAt(bench.Write(b, Lifetime::kMedium, 4)), first);
}

TEST(ZonePoolTest, EachLifetimeGetsItsOwnZoneWhileSlotsAreFree) {
  PoolBench bench(8, {.data = 3, .open_data = 3});
  ClaimState a, b, c;
  const ZoneId medium = ZoneAt(bench.Write(a, Lifetime::kMedium, 1));
  bench.pool.ReleaseClaim(a);
  const ZoneId shorter = ZoneAt(bench.Write(b, Lifetime::kShort, 1));
  bench.pool.ReleaseClaim(b);
  const ZoneId extreme = ZoneAt(bench.Write(c, Lifetime::kExtreme, 1));
  EXPECT_NE(medium, shorter);
  EXPECT_NE(extreme, medium);
  EXPECT_NE(extreme, shorter);
}

TEST(ZonePoolTest, ClaimedZoneIsNotSharedWhileSlotsAreFree) {
  PoolBench bench(8, {.data = 2, .open_data = 2});
  ClaimState a, b, c;
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
  ClaimState a, b, c;
  const ZoneId claimed = ZoneAt(bench.Write(a, Lifetime::kMedium, 1));
  const ZoneId shorter = ZoneAt(bench.Write(b, Lifetime::kShort, 1));
  bench.pool.ReleaseClaim(b);
  EXPECT_NE(claimed, shorter);
  EXPECT_EQ(ZoneAt(bench.Write(c, Lifetime::kMedium, 1)), shorter);
}

TEST(ZonePoolTest, ClaimedZoneIsPreferredToAPoorMatch) {
  PoolBench bench(8, {.data = 2, .open_data = 2});
  ClaimState a, b, c;
  const ZoneId shorter = ZoneAt(bench.Write(a, Lifetime::kShort, 1));
  ZoneAt(bench.Write(b, Lifetime::kExtreme, 1));
  bench.pool.ReleaseClaim(b);
  EXPECT_EQ(ZoneAt(bench.Write(c, Lifetime::kShort, 1)), shorter);
}

TEST(ZonePoolTest, ClaimOnAFullZoneIsDropped) {
  PoolBench bench(8, {.data = 2, .open_data = 2});
  ClaimState a;
  const ZoneId first = ZoneAt(bench.Write(a, Lifetime::kShort, kBlocksAZone));
  EXPECT_NE(ZoneAt(bench.Write(a, Lifetime::kShort, 1)), first);
}

TEST(ZonePoolTest, WriteWaitsForItsBusyClaimedZone) {
  PoolBench bench(8, {.data = 3, .open_data = 3});
  ClaimState a;
  bench.Write(a, Lifetime::kShort, 1);
  const ZoneAllocation mine = bench.Take(a, Lifetime::kShort);
  ASSERT_EQ(mine.outcome, AllocationOutcome::kAllocated);
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).outcome, AllocationOutcome::kWait);
  bench.pool.ReleaseWriter(mine.zone);
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).zone, mine.zone);
}

TEST(ZonePoolTest, DataDoesNotGetTheReserveOfTheLog) {
  PoolBench bench(4, {.data = 4, .open_data = 4}, 2);
  ClaimState a;
  bench.Write(a, Lifetime::kShort, kBlocksAZone);
  bench.Write(a, Lifetime::kShort, kBlocksAZone);
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).outcome, AllocationOutcome::kNoSpace);
  EXPECT_EQ(bench.pool.Space().free, 0U);
  EXPECT_EQ(bench.pool.AllocateLogZone(LogZonePurpose::kNow).outcome, AllocationOutcome::kAllocated);
  EXPECT_EQ(bench.pool.AllocateLogZone(LogZonePurpose::kNow).outcome, AllocationOutcome::kAllocated);
  EXPECT_EQ(bench.pool.AllocateLogZone(LogZonePurpose::kNow).outcome, AllocationOutcome::kNoSpace);
}

// S1 of docs/internals/failures.md.
TEST(ZonePoolTest, HalfEmptyZoneOfAnotherLifetimeIsUsedBeforeNoSpace) {
  PoolBench bench(2, {.data = 4, .open_data = 4});
  ClaimState a, b, c;
  bench.Write(a, Lifetime::kExtreme, kBlocksAZone / 2);
  bench.Write(b, Lifetime::kShort, kBlocksAZone);
  EXPECT_EQ(bench.Write(c, Lifetime::kShort, kBlocksAZone).length, kBlocksAZone / 2 * kBlock);
  EXPECT_EQ(bench.Take(c, Lifetime::kShort).outcome, AllocationOutcome::kNoSpace);
}

TEST(ZonePoolTest, DeadZoneMoreThanHalfWrittenIsResetAtOnce) {
  PoolBench bench(4, {.data = 1, .open_data = 1});
  ClaimState a;
  const Extent extent = bench.Write(a, Lifetime::kShort, kBlocksAZone / 2 + 1);
  bench.pool.RemoveLive({{extent}});
  EXPECT_TRUE(!bench.pool.jobs().empty());
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).outcome, AllocationOutcome::kWait);  // for the only slot
  bench.RunJobs();
  EXPECT_EQ(bench.pool.slots().used(), 0U);
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).outcome, AllocationOutcome::kAllocated);
}

TEST(ZonePoolTest, DeadZoneThatIsHardlyWrittenTakesAnyLifetime) {
  PoolBench bench(4, {.data = 4, .open_data = 4});
  ClaimState a, b;
  const Extent extent = bench.Write(a, Lifetime::kShort, 2);
  bench.pool.RemoveLive({{extent}});
  bench.pool.ReleaseClaim(a);
  EXPECT_FALSE(!bench.pool.jobs().empty());
  EXPECT_EQ(ZoneAt(bench.Write(b, Lifetime::kExtreme, 1)), ZoneAt(extent));
  EXPECT_EQ(bench.pool.Zones()[ZoneAt(extent).value].lifetime, Lifetime::kExtreme);
}

TEST(ZonePoolTest, PinnedDeadZoneIsResetAfterItsLastPinIsDropped) {
  PoolBench bench(4, {.data = 1, .open_data = 1});
  ClaimState a;
  const Extent extent = bench.Write(a, Lifetime::kShort, kBlocksAZone);
  bench.pool.Pin(ZoneAt(extent));
  bench.pool.Pin(ZoneAt(extent));
  bench.pool.RemoveLive({{extent}});
  bench.pool.Unpin(ZoneAt(extent));
  EXPECT_FALSE(!bench.pool.jobs().empty());
  bench.pool.Unpin(ZoneAt(extent));
  EXPECT_TRUE(!bench.pool.jobs().empty());
}

// The reset of a dead active zone removes its room. The rest may be no more than the headroom.
TEST(ZonePoolTest, NoZoneIsGrantedWithoutRoom) {
  PoolBench bench(3, {.data = 4, .open_data = 4}, 0, kBlocksAZone * kBlock);
  ClaimState a, b, c, d;
  bench.Write(a, Lifetime::kShort, 12);
  const Extent dead = bench.Write(b, Lifetime::kMedium, 4);
  bench.Write(c, Lifetime::kLong, 4);
  bench.pool.ReleaseClaim(b);
  bench.pool.RemoveLive({{dead}});
  const ZoneAllocation taken = bench.Take(d, Lifetime::kExtreme);
  EXPECT_EQ(taken.outcome, AllocationOutcome::kWaitForReclaim) << "room " << taken.room;
  EXPECT_TRUE(!bench.pool.jobs().empty());
  EXPECT_EQ(bench.pool.Check(), std::vector<std::string>{});
}

TEST(ZonePoolTest, ZonePinnedWhileItsResetIsQueuedIsKept) {
  PoolBench bench(4, {.data = 2, .open_data = 2});
  ClaimState a;
  const Extent extent = bench.Write(a, Lifetime::kShort, kBlocksAZone - 1);
  bench.pool.RemoveLive({{extent}});
  ASSERT_TRUE(!bench.pool.jobs().empty());
  bench.pool.Pin(ZoneAt(extent));
  EXPECT_FALSE(bench.pool.NextJob());
  EXPECT_EQ(bench.pool.Check(), std::vector<std::string>{});
  bench.pool.Unpin(ZoneAt(extent));
  EXPECT_TRUE(bench.pool.NextJob());
}

TEST(ZonePoolTest, RemovingMoreThanIsLivePreventsTheReset) {
  PoolBench bench(4, {.data = 2, .open_data = 2});
  ClaimState a;
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
  ClaimState a;
  const Extent extent = bench.Write(a, Lifetime::kShort, kBlocksAZone - 1);
  bench.pool.RemoveLive({{extent}});
  bench.RunJobs(false);
  EXPECT_EQ(bench.pool.Zones()[ZoneAt(extent).value].phase, ZonePhase::kRetired);
  EXPECT_EQ(bench.pool.slots().used(), 0U);
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).outcome, AllocationOutcome::kAllocated);
  EXPECT_EQ(bench.pool.Check(), std::vector<std::string>{});
}

TEST(ZonePoolTest, LogZoneReturnedWhilePinnedFreesItsSlot) {
  PoolBench bench(4, {.data = 1, .open_data = 1});
  const ZoneId zone = bench.pool.AllocateLogZone(LogZonePurpose::kNow).zone;
  bench.pool.Pin(zone);
  bench.pool.ReleaseLogZone(zone);
  bench.RunJobs();
  EXPECT_EQ(bench.pool.slots().used(), 0U);
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
    ClaimState claim;
    const Extent extent = bench.Write(claim, Lifetime::kShort, 3);
    bench.pool.ReleaseClaim(claim);
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

// Files of random lifetimes on a small pool, with limits as rapidcheck chooses them.
class RandomFiles {
 public:
  RandomFiles()
      : bench_(*rc::gen::inRange<std::uint32_t>(4, 12), {.data = slots_, .open_data = slots_},
               *rc::gen::inRange<std::uint32_t>(0, 3)),
        files_(*rc::gen::inRange<std::size_t>(1, 8)) {
    for (File& file : files_) file.lifetime = Lifetime(*rc::gen::inRange(0, kLifetimeCount));
  }

  void Step() {
    File& file = files_[*rc::gen::inRange<std::size_t>(0, files_.size())];
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
        bench_.pool.RemoveLive(file.extents);
        file.extents.clear();
        break;
      case 1: bench_.pool.ReleaseClaim(file.claim); break;
      case 2: bench_.RunJobs(*rc::gen::inRange(0, 20) != 0); break;
      case 3:
        if (file.extents.empty()) break;
        pins_.push_back(ZoneAt(file.extents.front()));
        bench_.pool.Pin(pins_.back());
        break;
      case 4:
        if (pins_.empty()) break;
        bench_.pool.Unpin(pins_.back());
        pins_.pop_back();
        break;
      default: Write(file);
    }
  }

  void Check() const {
    RC_ASSERT(bench_.pool.Check() == std::vector<std::string>{});
    RC_ASSERT(bench_.pool.slots().used() <= slots_);
    const SpaceReport sum = bench_.pool.Space();
    RC_ASSERT(sum.total == sum.log + sum.reclaim + sum.live + sum.garbage + sum.free + sum.lost);
    RC_ASSERT(sum.total == bench_.pool.Zones().size() * kBlocksAZone * kBlock);
  }

 private:
  struct File {
    ClaimState claim;
    Lifetime lifetime;
    std::vector<Extent> extents;
  };

  void Write(File& file) {
    const std::uint64_t free_before = bench_.pool.Space().free;
    const ZoneAllocation taken = bench_.Take(file.claim, file.lifetime);
    if (taken.outcome != AllocationOutcome::kAllocated) {
      if (taken.outcome == AllocationOutcome::kNoSpace) RC_ASSERT(free_before == 0U);
      return;
    }
    RC_ASSERT(taken.room > 0U);
    if (*rc::gen::inRange(0, 15) == 0) {
      FailWrite(taken.zone);
      return;
    }
    const std::uint64_t bytes =
        std::min(taken.room, kBlock * *rc::gen::inRange<std::uint64_t>(1, kBlocksAZone + 1));
    file.extents.push_back(
        {0, DeviceOffset(taken.zone.value * kBlocksAZone * kBlock + taken.written), bytes});
    bench_.pool.Wrote(taken.zone, bytes);
    bench_.pool.ReleaseWriter(taken.zone);
    bench_.pool.AddLive({{file.extents.back()}});
    bench_.pool.Unpin(taken.zone);
  }

  void FailWrite(ZoneId zone) {
    ZoneInfo info;
    info.id = zone;
    info.condition =
        *rc::gen::element(ZoneCondition::kFull, ZoneCondition::kReadOnly, ZoneCondition::kImplicitlyOpen);
    IgnoreError(Result<Code>(bench_.pool.WriteFailed(zone, Code::kIo, info, SteadyTime{})));
    bench_.pool.ReleaseWriter(zone);
  }

  const std::uint32_t slots_ = *rc::gen::inRange<std::uint32_t>(1, 5);
  PoolBench bench_;
  std::vector<File> files_;
  std::vector<ZoneId> pins_;
};

// Files write, commit, die, and are pinned and unpinned; zones fail. In any order the invariants hold, and kNoSpace is
// returned only if no space is free.
TEST(ZonePoolTest, InvariantsHoldUnderRandomUse) {
  EXPECT_TRUE(rc::check([] {
    RandomFiles files;
    for (int step = *rc::gen::inRange(10, 120); step > 0; --step) {
      files.Step();
      files.Check();
    }
  }));
}

// Simulator, seed 6039: the headroom was room in written zones, and a mount found no zone for the frames of sync blocks.
TEST(ZonePoolTest, OnlyAMountTakesTheSpareOfALogWithSyncBlocks) {
  PoolBench bench(6, {.data = 8, .open_data = 8, .sync_zone = true});
  const std::uint64_t free = bench.pool.Space().free;
  EXPECT_EQ(free, 5 * PoolBench::kBlocksAZone * PoolBench::kBlock) << "of 6 zones";
  std::vector<ClaimState> claims(5);
  for (ClaimState& claim : claims) bench.Write(claim, Lifetime::kLong, PoolBench::kBlocksAZone);
  EXPECT_EQ(bench.pool.Space().free, 0u);
  ClaimState one_more;
  EXPECT_EQ(bench.Take(one_more, Lifetime::kLong).outcome, AllocationOutcome::kNoSpace);
  EXPECT_EQ(bench.pool.AllocateLogZone(LogZonePurpose::kNow).outcome, AllocationOutcome::kNoSpace);
  EXPECT_EQ(bench.pool.AllocateLogZone(LogZonePurpose::kMount).outcome, AllocationOutcome::kAllocated);
}

}  // namespace
}  // namespace zenfs::zone_pool_test
