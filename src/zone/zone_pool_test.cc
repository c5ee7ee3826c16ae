#include "zone/zone_pool.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace zenfs {
namespace {

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kBlocksAZone = 16;

// A pool over empty zones, with what a device would say played by hand.
struct Bench {
  explicit Bench(std::uint32_t zones, SlotPlan plan, std::uint32_t reserve = 0, std::uint64_t headroom = 0)
      : pool(Make(zones, plan, reserve, headroom)) {
    pool.Start();
  }
  static Geometry GeometryOf(std::uint32_t zones) {
    Geometry geometry;
    geometry.zone_size = kBlocksAZone * kBlock;
    geometry.zone_count = zones;
    return geometry;
  }
  static ZonePool Make(std::uint32_t zones, SlotPlan plan, std::uint32_t reserve, std::uint64_t headroom) {
    const Geometry geometry = GeometryOf(zones);
    std::vector<ZoneInfo> report;
    for (std::uint32_t i = 0; i < zones; ++i) {
      ZoneInfo info;
      info.id = ZoneId(i);
      info.start = info.write_pointer = geometry.ZoneStart(ZoneId(i));
      info.capacity = geometry.zone_size;
      report.push_back(info);
    }
    return ZonePool({.geometry = geometry,
                     .plan = plan,
                     .reserved_for_log = reserve,
                     .headroom = headroom,
                     .reclaims = headroom != 0},
                    report, {});
  }

  ZonePool::Taken Take(ZonePool::Claim& claim, Lifetime lifetime) {
    return pool.TakeForData(claim, lifetime, WritePurpose::kData, SteadyTime{});
  }
  // Takes a zone, writes up to `blocks`, commits them, and returns the extent.
  Extent Write(ZonePool::Claim& claim, Lifetime lifetime, std::uint64_t blocks) {
    const ZonePool::Taken taken = Take(claim, lifetime);
    EXPECT_EQ(taken.outcome, ZonePool::Outcome::kTaken);
    const std::uint64_t bytes = std::min(taken.room, blocks * kBlock);
    const Extent extent{0, DeviceOffset(taken.zone.value * kBlocksAZone * kBlock + taken.written), bytes};
    pool.Wrote(taken.zone, bytes);
    pool.EndWriter(taken.zone);
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

  ZonePool pool;
};

ZoneId ZoneAt(const Extent& extent) {
  return ZoneId(static_cast<std::uint32_t>(extent.place.value / (kBlocksAZone * kBlock)));
}

TEST(ZonePoolTest, FilesOfOneLifetimeFillOneZoneAfterTheOther) {
  Bench bench(8, {.data = 4, .open_data = 4});
  ZonePool::Claim a, b;
  const ZoneId first = ZoneAt(bench.Write(a, Lifetime::kMedium, 4));
  bench.pool.Unclaim(a);
  EXPECT_EQ(ZoneAt(bench.Write(b, Lifetime::kMedium, 4)), first);
}

TEST(ZonePoolTest, OtherLifetimesGetZonesOfTheirOwnWhileThereAreSlots) {
  Bench bench(8, {.data = 3, .open_data = 3});
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

TEST(ZonePoolTest, ClaimedZoneIsLeftToItsFileWhileThereAreSlots) {
  Bench bench(8, {.data = 2, .open_data = 2});
  ZonePool::Claim a, b, c;
  const ZoneId first = ZoneAt(bench.Write(a, Lifetime::kMedium, 1));
  const ZoneId second = ZoneAt(bench.Write(b, Lifetime::kMedium, 1));
  EXPECT_NE(first, second);
  EXPECT_EQ(ZoneAt(bench.Write(a, Lifetime::kMedium, 1)), first);
  EXPECT_EQ(ZoneAt(bench.Write(b, Lifetime::kMedium, 1)), second);
  // The third shares, since no slot is left.
  const ZoneId third = ZoneAt(bench.Write(c, Lifetime::kMedium, 1));
  EXPECT_TRUE(third == first || third == second);
}

TEST(ZonePoolTest, UnclaimedAcceptableZoneComesBeforeSharing) {
  Bench bench(8, {.data = 2, .open_data = 2});
  ZonePool::Claim a, b, c;
  const ZoneId claimed = ZoneAt(bench.Write(a, Lifetime::kMedium, 1));
  const ZoneId shorter = ZoneAt(bench.Write(b, Lifetime::kShort, 1));
  bench.pool.Unclaim(b);
  EXPECT_NE(claimed, shorter);
  EXPECT_EQ(ZoneAt(bench.Write(c, Lifetime::kMedium, 1)), shorter);
}

TEST(ZonePoolTest, SharingComesBeforeAPoorMatch) {
  Bench bench(8, {.data = 2, .open_data = 2});
  ZonePool::Claim a, b, c;
  const ZoneId shorter = ZoneAt(bench.Write(a, Lifetime::kShort, 1));
  ZoneAt(bench.Write(b, Lifetime::kExtreme, 1));
  bench.pool.Unclaim(b);
  EXPECT_EQ(ZoneAt(bench.Write(c, Lifetime::kShort, 1)), shorter);
}

TEST(ZonePoolTest, ClaimOnAFullZoneIsDropped) {
  Bench bench(8, {.data = 2, .open_data = 2});
  ZonePool::Claim a;
  const ZoneId first = ZoneAt(bench.Write(a, Lifetime::kShort, kBlocksAZone));
  EXPECT_NE(ZoneAt(bench.Write(a, Lifetime::kShort, 1)), first);
}

TEST(ZonePoolTest, BusyClaimedZoneIsWaitedFor) {
  Bench bench(8, {.data = 3, .open_data = 3});
  ZonePool::Claim a;
  bench.Write(a, Lifetime::kShort, 1);
  const ZonePool::Taken mine = bench.Take(a, Lifetime::kShort);
  ASSERT_EQ(mine.outcome, ZonePool::Outcome::kTaken);
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).outcome, ZonePool::Outcome::kWait);
  bench.pool.EndWriter(mine.zone);
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).zone, mine.zone);
}

TEST(ZonePoolTest, ReserveOfTheLogIsNotGivenToData) {
  Bench bench(4, {.data = 4, .open_data = 4}, 2);
  ZonePool::Claim a;
  bench.Write(a, Lifetime::kShort, kBlocksAZone);
  bench.Write(a, Lifetime::kShort, kBlocksAZone);
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).outcome, ZonePool::Outcome::kNoSpace);
  EXPECT_EQ(bench.pool.Space().free, 0U);
  EXPECT_EQ(bench.pool.TakeForLog(false).outcome, ZonePool::Outcome::kTaken);
  EXPECT_EQ(bench.pool.TakeForLog(false).outcome, ZonePool::Outcome::kTaken);
  EXPECT_EQ(bench.pool.TakeForLog(false).outcome, ZonePool::Outcome::kNoSpace);
}

// S1 of docs/failures.md.
TEST(ZonePoolTest, HalfEmptyZoneOfAnotherLifetimeIsUsedBeforeNoSpace) {
  Bench bench(2, {.data = 4, .open_data = 4});
  ZonePool::Claim a, b, c;
  bench.Write(a, Lifetime::kExtreme, kBlocksAZone / 2);
  bench.Write(b, Lifetime::kShort, kBlocksAZone);
  EXPECT_EQ(bench.Write(c, Lifetime::kShort, kBlocksAZone).length, kBlocksAZone / 2 * kBlock);
  EXPECT_EQ(bench.Take(c, Lifetime::kShort).outcome, ZonePool::Outcome::kNoSpace);
}

TEST(ZonePoolTest, DeadZoneMoreThanHalfWrittenIsResetAtOnce) {
  Bench bench(4, {.data = 1, .open_data = 1});
  ZonePool::Claim a;
  const Extent extent = bench.Write(a, Lifetime::kShort, kBlocksAZone / 2 + 1);
  bench.pool.RemoveLive({{extent}});
  EXPECT_TRUE(bench.pool.HasJob());
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).outcome, ZonePool::Outcome::kWait);  // the one slot comes back
  bench.RunJobs();
  EXPECT_EQ(bench.pool.slots_used(), 0U);
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).outcome, ZonePool::Outcome::kTaken);
}

TEST(ZonePoolTest, DeadZoneHardlyWrittenIsUsedByAnyLifetime) {
  Bench bench(4, {.data = 4, .open_data = 4});
  ZonePool::Claim a, b;
  const Extent extent = bench.Write(a, Lifetime::kShort, 2);
  bench.pool.RemoveLive({{extent}});
  bench.pool.Unclaim(a);
  EXPECT_FALSE(bench.pool.HasJob());
  EXPECT_EQ(ZoneAt(bench.Write(b, Lifetime::kExtreme, 1)), ZoneAt(extent));
  EXPECT_EQ(bench.pool.Zones()[ZoneAt(extent).value].lifetime, Lifetime::kExtreme);
}

TEST(ZonePoolTest, PinnedDeadZoneIsNotResetUntilTheLastPinGoes) {
  Bench bench(4, {.data = 1, .open_data = 1});
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

// The reset of a dead active zone takes its room away: what is left may be no more than reclaim needs.
TEST(ZonePoolTest, NoZoneIsHandedOutWithoutRoom) {
  Bench bench(3, {.data = 4, .open_data = 4}, 0, kBlocksAZone * kBlock);
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
  Bench bench(4, {.data = 2, .open_data = 2});
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

TEST(ZonePoolTest, MoreDyingThanLivedKeepsTheZoneForGood) {
  Bench bench(4, {.data = 2, .open_data = 2});
  ZonePool::Claim a;
  const Extent extent = bench.Write(a, Lifetime::kShort, kBlocksAZone);
  bench.pool.RemoveLive({{extent, extent}});
  EXPECT_EQ(bench.pool.Zones()[ZoneAt(extent).value].live, 0U);
  bench.pool.Pin(ZoneAt(extent));
  bench.pool.Unpin(ZoneAt(extent));
  // The first removal was right and queued a reset; the second contradicts, so nothing is reset.
  EXPECT_FALSE(bench.pool.NextJob());
}

TEST(ZonePoolTest, FailedResetRetiresTheZoneAndFreesItsSlot) {
  Bench bench(4, {.data = 1, .open_data = 1});
  ZonePool::Claim a;
  const Extent extent = bench.Write(a, Lifetime::kShort, kBlocksAZone - 1);
  bench.pool.RemoveLive({{extent}});
  bench.RunJobs(false);
  EXPECT_EQ(bench.pool.Zones()[ZoneAt(extent).value].phase, ZonePhase::kRetired);
  EXPECT_EQ(bench.pool.slots_used(), 0U);
  EXPECT_EQ(bench.Take(a, Lifetime::kShort).outcome, ZonePool::Outcome::kTaken);
  EXPECT_EQ(bench.pool.Check(), std::vector<std::string>{});
}

TEST(ZonePoolTest, LogZoneReturnedWhileReadKeepsNoSlot) {
  Bench bench(4, {.data = 1, .open_data = 1});
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

// What one operation looks at must not grow with the number of zones.
std::uint64_t VisitsOfOneLife(std::uint32_t zones) {
  Bench bench(zones, {.data = 4, .open_data = 4}, 2);
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

// P2 of docs/failures.md.
// Reclaim pins what it reads: if that voided its own verdict it would search again and again without a pause.
TEST(ZonePoolTest, AVerdictHoldsUntilRoomOrLivenessChanges) {
  Bench bench(3, {.data = 4, .open_data = 4}, 0, kBlocksAZone * kBlock);
  ZonePool::Claim a;
  const Extent live = bench.Write(a, Lifetime::kShort, 16);
  const Extent dies = bench.Write(a, Lifetime::kShort, 16);
  bench.pool.WaitsForReclaim(true);
  const auto need = bench.pool.NeedOfReclaim();
  ASSERT_TRUE(need);
  bench.pool.SetVerdict({.version = need->version, .urgency = need->urgency});
  EXPECT_FALSE(bench.pool.NeedOfReclaim());
  bench.pool.Pin(ZoneAt(live));
  bench.pool.Unpin(ZoneAt(live));
  EXPECT_FALSE(bench.pool.NeedOfReclaim());
  EXPECT_EQ(bench.pool.AfterReclaim(WritePurpose::kData).outcome, ZonePool::Outcome::kNoSpace);
  bench.pool.Pin(ZoneAt(dies));
  bench.pool.RemoveLive({{dies}});
  EXPECT_EQ(bench.pool.AfterReclaim(WritePurpose::kData).outcome, ZonePool::Outcome::kWaitForReclaim);
  const auto again = bench.pool.NeedOfReclaim();
  ASSERT_TRUE(again);
  bench.pool.SetVerdict({.version = again->version, .urgency = again->urgency, .pending = true});
  EXPECT_EQ(bench.pool.AfterReclaim(WritePurpose::kData).outcome, ZonePool::Outcome::kWaitForReclaim);
  bench.pool.Unpin(ZoneAt(dies));
  EXPECT_TRUE(bench.pool.NeedOfReclaim()) << "what was pinned is free";
  bench.pool.WaitsForReclaim(false);
}

TEST(ZonePoolTest, CostOfCreatingAndDeletingIsIndependentOfTheNumberOfZones) {
  EXPECT_EQ(VisitsOfOneLife(64), VisitsOfOneLife(100'000));
}

// Files of random lifetimes write, commit, die, get pinned and unpinned, zones fail: whatever the order, the
// invariants hold, and no-space is said only when nothing is left.
TEST(ZonePoolTest, InvariantsHoldUnderRandomUse) {
  EXPECT_TRUE(rc::check([] {
    const auto slots = *rc::gen::inRange<std::uint32_t>(1, 5);
    const auto reserve = *rc::gen::inRange<std::uint32_t>(0, 3);
    Bench bench(*rc::gen::inRange<std::uint32_t>(4, 12), {.data = slots, .open_data = slots}, reserve);
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
}  // namespace zenfs
