#include "backends/emulator/power_loss.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace zenfs {
namespace {

constexpr MachineZone kOpen{ZoneCondition::kImplicitlyOpen, 100};
constexpr MachineZone kFull{ZoneCondition::kFull, 100};

struct Hole {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  friend bool operator==(const Hole&, const Hole&) = default;
};

// Runs of lost blocks.
std::vector<Hole> HolesOf(const ZoneAfterPowerLoss& after) {
  std::vector<Hole> holes;
  for (std::uint64_t block = 0; block < 200; ++block) {
    if (!after.lost.Contains(block)) continue;
    EXPECT_TRUE(block >= after.lost.first && block < after.lost.end);
    if (!holes.empty() && holes.back().first + holes.back().count == block) {
      ++holes.back().count;
    } else {
      holes.push_back({block, 1});
    }
  }
  return holes;
}

std::uint64_t CountLost(const ZoneAfterPowerLoss& after) {
  std::uint64_t blocks = after.moved_back;
  for (const Hole& hole : HolesOf(after)) blocks += hole.count;
  return blocks;
}

TEST(PowerLossTest, EverythingIsWhatWasNotFlushed) {
  Random random(1);
  const auto after = LosePower(kOpen, {40}, PowerLoss::kEverything, true, random);
  EXPECT_EQ(after.state, (MachineZone{ZoneCondition::kClosed, 40}));
  EXPECT_TRUE(HolesOf(after).empty());
  EXPECT_EQ(CountLost(after), 60u);
}

TEST(PowerLossTest, LossOfNothingOnlyClosesOpenZones) {
  Random random(1);
  for (const ZoneCondition open : {ZoneCondition::kImplicitlyOpen, ZoneCondition::kExplicitlyOpen}) {
    const auto after = LosePower({open, 100}, {40}, PowerLoss::kNothing, true, random);
    EXPECT_EQ(after.state, (MachineZone{ZoneCondition::kClosed, 100}));
    EXPECT_EQ(CountLost(after), 0u);
  }
  EXPECT_EQ(LosePower(kFull, {40}, PowerLoss::kNothing, true, random).state, kFull);
}

TEST(PowerLossTest, ActiveZoneWithoutBlocksIsEmpty) {
  Random random(1);
  for (const ZoneCondition active :
       {ZoneCondition::kImplicitlyOpen, ZoneCondition::kExplicitlyOpen, ZoneCondition::kClosed}) {
    EXPECT_EQ(LosePower({active, 100}, {0}, PowerLoss::kEverything, true, random).state, MachineZone{});
    EXPECT_EQ(LosePower({active, 0}, {0}, PowerLoss::kNothing, true, random).state, MachineZone{});
  }
}

TEST(PowerLossTest, SomeLeavesEveryPointerAndHolesBelowItThatWereNotFlushed) {
  Random random(1);
  std::map<std::uint64_t, int> pointers;
  int with_holes = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto after = LosePower({ZoneCondition::kClosed, 12}, {4}, PowerLoss::kSome, true, random);
    ++pointers[after.state.written];
    with_holes += HolesOf(after).empty() ? 0 : 1;
    std::uint64_t lost = 12 - after.state.written;
    std::uint64_t behind = 4;
    for (const Hole& hole : HolesOf(after)) {
      EXPECT_GE(hole.first, behind);
      EXPECT_LE(hole.first + hole.count, after.state.written);
      behind = hole.first + hole.count + 1;
      lost += hole.count;
    }
    EXPECT_EQ(CountLost(after), lost);
  }
  EXPECT_EQ(pointers.size(), 9u);
  EXPECT_EQ(pointers.begin()->first, 4u);
  EXPECT_GT(with_holes, 500);
  EXPECT_LT(with_holes, 1500);
}

TEST(PowerLossTest, LostBlocksAreKnownWithoutThoseBeforeThem) {
  constexpr MachineZone kClaims{ZoneCondition::kFull, std::uint64_t{1} << 50};
  Random random(1);
  int some = 0;
  for (int i = 0; i < 20; ++i) {
    const auto after = LosePower(kClaims, {40}, PowerLoss::kSome, true, random);
    EXPECT_EQ(after.at_risk, kClaims.written - 40);
    if (after.lost.one_in == 0) continue;
    const std::uint64_t end = after.state.written;
    int lost = 0;
    for (std::uint64_t block = end - 1000; block < end; ++block) lost += after.lost.Contains(block) ? 1 : 0;
    EXPECT_NEAR(lost, 1000.0 / static_cast<double>(after.lost.one_in), 100);
    EXPECT_FALSE(after.lost.Contains(39) || after.lost.Contains(end));
    ++some;
  }
  EXPECT_GT(some, 5);
}

TEST(PowerLossTest, FullZoneThatLosesBlocksIsClosedWhereOneMoreMayBeActiveAndElseFullWithLessInIt) {
  Random random(1);
  EXPECT_EQ(LosePower(kFull, {40}, PowerLoss::kEverything, true, random).state,
            (MachineZone{ZoneCondition::kClosed, 40}));
  EXPECT_EQ(LosePower(kFull, {40}, PowerLoss::kEverything, false, random).state,
            (MachineZone{ZoneCondition::kFull, 40}));
  EXPECT_EQ(LosePower(kFull, {0}, PowerLoss::kEverything, false, random).state, MachineZone{});
}

TEST(PowerLossTest, FinishedZoneOfWhichAllWasFlushedStaysFull) {
  Random random(1);
  EXPECT_EQ(LosePower(kFull, {100}, PowerLoss::kEverything, true, random).state, kFull);
  constexpr MachineZone kFinishedEmpty{ZoneCondition::kFull, 0};
  EXPECT_EQ(LosePower(kFinishedEmpty, {0}, PowerLoss::kEverything, true, random).state, kFinishedEmpty);
}

TEST(PowerLossTest, FailedZoneStaysFailed) {
  Random random(1);
  EXPECT_EQ(LosePower({ZoneCondition::kReadOnly, 100}, {0}, PowerLoss::kEverything, true, random).state,
            (MachineZone{ZoneCondition::kReadOnly, 0}));
}

// A random write area of 4 blocks from block 6 on, with commits of 2. Blocks up to 4 are durable, and block 7.
constexpr RandomWindow kWindow{.start = 6, .area = 4, .unit = 2, .capacity = 100};
constexpr DurableBlocks kDurable{.prefix = 4, .area = BitOf(7)};

TEST(PowerLossTest, AreaKeepsItsDurableBlocksInALossOfEverything) {
  Random random(1);
  const auto after =
      LosePowerInArea(kWindow, BitOf(6) | BitOf(7) | BitOf(9), kDurable, PowerLoss::kEverything, random);
  EXPECT_EQ(after.state, (MachineZone{ZoneCondition::kClosed, 4, true}));
  EXPECT_EQ(after.durable, kDurable);
  EXPECT_EQ(HolesOf(after), (std::vector<Hole>{{4, 3}, {9, 1}})) << "block 8 has no data to lose";
  EXPECT_EQ(after.at_risk, 4u);
  EXPECT_EQ(CountLost(after), 4u);
}

TEST(PowerLossTest, AreaIsWhollyDurableAfterALossOfNothing) {
  Random random(1);
  const auto after = LosePowerInArea(kWindow, BitOf(6) | BitOf(9), kDurable, PowerLoss::kNothing, random);
  EXPECT_EQ(after.state, (MachineZone{ZoneCondition::kClosed, 6, true}));
  EXPECT_EQ(after.durable, (DurableBlocks{6, BitOf(6) | BitOf(7) | BitOf(9)}));
  EXPECT_TRUE(HolesOf(after).empty());
  EXPECT_EQ(CountLost(after), 0u);
}

TEST(PowerLossTest, SomeLeavesAnAreaAtEveryUnitAndLosesAnyUnflushedBlock) {
  Random random(1);
  std::set<std::uint64_t> pointers;
  std::set<std::uint64_t> lost;
  for (int i = 0; i < 500; ++i) {
    const auto after =
        LosePowerInArea(kWindow, BitOf(6) | BitOf(7) | BitOf(9), kDurable, PowerLoss::kSome, random);
    pointers.insert(after.state.written);
    bool behind = false;  // block 9 is behind an area that begins at block 4
    for (const Hole& hole : HolesOf(after)) {
      for (std::uint64_t block = hole.first; block < hole.first + hole.count; ++block) {
        lost.insert(block);
        behind |= block == 9;
        EXPECT_FALSE(after.durable.Contains(block) && block >= after.state.written);
      }
    }
    EXPECT_TRUE(behind || after.state.written == 6);
    EXPECT_TRUE(after.durable.Contains(7));
  }
  EXPECT_EQ(pointers, (std::set<std::uint64_t>{4, 6}));
  EXPECT_EQ(lost, (std::set<std::uint64_t>{4, 5, 6, 9}));
}

TEST(PowerLossTest, FullZoneKeepsTheDurableBlocksOfItsFormerArea) {
  Random random(1);
  const auto after = LosePower({ZoneCondition::kFull, 10}, kDurable, PowerLoss::kEverything,
                               /*may_become_active=*/true, random);
  EXPECT_EQ(after.state, (MachineZone{ZoneCondition::kClosed, 8}));
  EXPECT_EQ(HolesOf(after), (std::vector<Hole>{{4, 3}}));
  EXPECT_EQ(after.durable, (DurableBlocks{8, 0}));
  EXPECT_EQ(after.at_risk, 5u);
  EXPECT_EQ(CountLost(after), 5u);
}

TEST(PowerLossTest, RandomLossesAreOfAllThreeKinds) {
  Random random(1);
  std::map<PowerLoss, int> seen;
  for (int i = 0; i < 1000; ++i) ++seen[RandomPowerLoss(random)];
  EXPECT_GT(seen[PowerLoss::kEverything], 150);
  EXPECT_GT(seen[PowerLoss::kNothing], 150);
  EXPECT_GT(seen[PowerLoss::kSome], 350);
}

}  // namespace
}  // namespace zenfs
