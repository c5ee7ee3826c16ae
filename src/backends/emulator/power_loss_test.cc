#include "backends/emulator/power_loss.h"

#include <gtest/gtest.h>

#include <map>

namespace zenfs {
namespace {

constexpr MachineZone kOpen{ZoneCondition::kImplicitlyOpen, 100};
constexpr MachineZone kFull{ZoneCondition::kFull, 100};

TEST(PowerLossTest, EverythingIsWhatWasNotFlushed) {
  Random random(1);
  const auto after = LosePower(kOpen, 40, PowerLoss::kEverything, true, random);
  EXPECT_EQ(after.state, (MachineZone{ZoneCondition::kClosed, 40}));
  EXPECT_TRUE(after.holes.empty());
  EXPECT_EQ(after.lost, 60u);
}

TEST(PowerLossTest, LossOfNothingOnlyClosesOpenZones) {
  Random random(1);
  for (const ZoneCondition open : {ZoneCondition::kImplicitlyOpen, ZoneCondition::kExplicitlyOpen}) {
    const auto after = LosePower({open, 100}, 40, PowerLoss::kNothing, true, random);
    EXPECT_EQ(after.state, (MachineZone{ZoneCondition::kClosed, 100}));
    EXPECT_EQ(after.lost, 0u);
  }
  EXPECT_EQ(LosePower(kFull, 40, PowerLoss::kNothing, true, random).state, kFull);
}

TEST(PowerLossTest, ActiveZoneWithoutBlocksIsEmpty) {
  Random random(1);
  for (const ZoneCondition active :
       {ZoneCondition::kImplicitlyOpen, ZoneCondition::kExplicitlyOpen, ZoneCondition::kClosed}) {
    EXPECT_EQ(LosePower({active, 100}, 0, PowerLoss::kEverything, true, random).state, MachineZone{});
    EXPECT_EQ(LosePower({active, 0}, 0, PowerLoss::kNothing, true, random).state, MachineZone{});
  }
}

TEST(PowerLossTest, SomeLeavesEveryPointerAndHolesBelowItThatWereNotFlushed) {
  Random random(1);
  std::map<std::uint64_t, int> pointers;
  int with_holes = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto after = LosePower({ZoneCondition::kClosed, 12}, 4, PowerLoss::kSome, true, random);
    ++pointers[after.state.written];
    with_holes += after.holes.empty() ? 0 : 1;
    std::uint64_t lost = 12 - after.state.written;
    std::uint64_t behind = 4;
    for (const LostBlocks& hole : after.holes) {
      EXPECT_GE(hole.first, behind);
      EXPECT_LE(hole.first + hole.count, after.state.written);
      behind = hole.first + hole.count + 1;
      lost += hole.count;
    }
    EXPECT_EQ(after.lost, lost);
  }
  EXPECT_EQ(pointers.size(), 9u);
  EXPECT_EQ(pointers.begin()->first, 4u);
  EXPECT_GT(with_holes, 500);
  EXPECT_LT(with_holes, 1500);
}

TEST(PowerLossTest, FullZoneThatLosesBlocksIsClosedWhereOneMoreMayBeActiveAndElseFullWithLessInIt) {
  Random random(1);
  EXPECT_EQ(LosePower(kFull, 40, PowerLoss::kEverything, true, random).state,
            (MachineZone{ZoneCondition::kClosed, 40}));
  EXPECT_EQ(LosePower(kFull, 40, PowerLoss::kEverything, false, random).state,
            (MachineZone{ZoneCondition::kFull, 40}));
  EXPECT_EQ(LosePower(kFull, 0, PowerLoss::kEverything, false, random).state, MachineZone{});
}

TEST(PowerLossTest, FinishedZoneOfWhichAllWasFlushedStaysFull) {
  Random random(1);
  EXPECT_EQ(LosePower(kFull, 100, PowerLoss::kEverything, true, random).state, kFull);
  constexpr MachineZone kFinishedEmpty{ZoneCondition::kFull, 0};
  EXPECT_EQ(LosePower(kFinishedEmpty, 0, PowerLoss::kEverything, true, random).state, kFinishedEmpty);
}

TEST(PowerLossTest, FailedZoneStaysFailed) {
  Random random(1);
  EXPECT_EQ(LosePower({ZoneCondition::kReadOnly, 100}, 0, PowerLoss::kEverything, true, random).state,
            (MachineZone{ZoneCondition::kReadOnly, 0}));
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
