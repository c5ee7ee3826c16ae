// Zones with a random write area, in the state machine.
#include <gtest/gtest.h>

#include <string>

#include "backends/emulator/zone_machine_test_rig.h"

namespace zenfs::random_area_test {
namespace {

using enum ZoneCondition;

constexpr std::uint64_t kCapacity = kSmallCapacity;

class RandomArea : public testing::Test {
 protected:
  static EmulatorGeometry Geometry() {
    EmulatorGeometry geometry = SmallGeometry();
    geometry.random_area = 4 * 4096;
    geometry.random_unit = 2 * 4096;
    geometry.random_zones = 2;
    return geometry;
  }
  MachineZone State(std::uint32_t zone = 1) const { return machine.state(ZoneId(zone)); }
  Status Write(std::uint64_t block, std::uint64_t count) {
    return WriteBlocks(machine, ZoneId(1), block, count);
  }

  ZoneMachine machine{Geometry()};
};

TEST_F(RandomArea, OpenGivesOneToAnEmptyZone) {
  ASSERT_TRUE(machine.OpenRandom(ZoneId(1)).ok());
  EXPECT_EQ(State(), (MachineZone{kExplicitlyOpen, 0, true}));
  EXPECT_TRUE(machine.Info(ZoneId(1)).random_area);
  EXPECT_EQ(machine.counts().random_areas(), 1u);
  EXPECT_EQ(machine.counts().open(), 1u);
}

TEST_F(RandomArea, OpenOfOtherZonesIsRefused) {
  ASSERT_TRUE(Write(0, 1).ok());
  EXPECT_EQ(CodeOf(machine.OpenRandom(ZoneId(0))), Code::kInvalidArgument);  // conventional
  EXPECT_EQ(CodeOf(machine.OpenRandom(ZoneId(1))), Code::kInvalidArgument);  // not empty
  ASSERT_TRUE(machine.OpenRandom(ZoneId(2)).ok());
  EXPECT_EQ(CodeOf(machine.OpenRandom(ZoneId(2))), Code::kInvalidArgument);  // has one
  ASSERT_TRUE(machine.SetCondition(ZoneId(3), kReadOnly).ok());
  EXPECT_EQ(CodeOf(machine.OpenRandom(ZoneId(3))), Code::kReadOnly);
  ASSERT_TRUE(machine.SetCondition(ZoneId(3), kOffline).ok());
  EXPECT_EQ(CodeOf(machine.OpenRandom(ZoneId(3))), Code::kNotFound);
}

TEST_F(RandomArea, DeviceWithoutThemSupportsNone) {
  ZoneMachine plain(SmallGeometry());
  EXPECT_EQ(CodeOf(plain.OpenRandom(ZoneId(1))), Code::kNotSupported);
  EXPECT_EQ(CodeOf(plain.CommitRandom(ZoneId(1), 2)), Code::kInvalidArgument);
}

TEST_F(RandomArea, NumberOfZonesIsLimitedAlsoIfTheyAreClosed) {
  ASSERT_TRUE(machine.OpenRandom(ZoneId(1)).ok());
  ASSERT_TRUE(machine.OpenRandom(ZoneId(2)).ok());
  ASSERT_TRUE(machine.Close(ZoneId(1)).ok());
  const Status third = machine.OpenRandom(ZoneId(3));
  EXPECT_EQ(CodeOf(third), Code::kBusy);
  EXPECT_NE(third.error().text().find("2 zones have one"), std::string::npos) << third.error().text();
  ASSERT_TRUE(machine.Reset(ZoneId(1)).ok());
  EXPECT_TRUE(machine.OpenRandom(ZoneId(3)).ok());
}

TEST_F(RandomArea, OpenTakesAnOpenSlot) {
  ASSERT_TRUE(machine.Open(ZoneId(2)).ok());
  ASSERT_TRUE(machine.Open(ZoneId(3)).ok());
  EXPECT_EQ(CodeOf(machine.OpenRandom(ZoneId(1))), Code::kBusy);
  EXPECT_EQ(State(), MachineZone{});
}

TEST_F(RandomArea, WritesInsideMayRepeatAndKeepThePointer) {
  ASSERT_TRUE(machine.OpenRandom(ZoneId(1)).ok());
  for (const std::uint64_t block : {3, 0, 0, 2}) ASSERT_TRUE(Write(block, 1).ok()) << block;
  ASSERT_TRUE(Write(0, 4).ok());
  EXPECT_EQ(State(), (MachineZone{kExplicitlyOpen, 0, true}));
}

TEST_F(RandomArea, WriteBehindItMovesThePointerByUnits) {
  ASSERT_TRUE(machine.OpenRandom(ZoneId(1)).ok());
  ASSERT_TRUE(Write(4, 1).ok());  // ends one block behind the area
  EXPECT_EQ(State().written, 2u);
  ASSERT_TRUE(Write(2, 8).ok());  // two areas
  EXPECT_EQ(State().written, 6u);
  EXPECT_EQ(State().condition, kExplicitlyOpen);
}

TEST_F(RandomArea, WriteElsewhereIsRefused) {
  ASSERT_TRUE(machine.OpenRandom(ZoneId(1)).ok());
  EXPECT_EQ(CodeOf(Write(7, 2)), Code::kInvalidArgument);  // more than one area behind it
  ASSERT_TRUE(Write(7, 1).ok());
  ASSERT_EQ(State().written, 4u);
  EXPECT_EQ(CodeOf(Write(3, 1)), Code::kInvalidArgument);  // below the pointer
  EXPECT_EQ(CodeOf(Write(8, 5)), Code::kZoneFull);         // beyond the capacity
}

TEST_F(RandomArea, AppendIsRefused) {
  ASSERT_TRUE(machine.OpenRandom(ZoneId(1)).ok());
  EXPECT_EQ(machine.BeginAppend(ZoneId(1), 1).error().code(), Code::kInvalidArgument);
}

TEST_F(RandomArea, WritesUpToTheCapacityDoNotFillTheZone) {
  ASSERT_TRUE(machine.OpenRandom(ZoneId(1)).ok());
  ASSERT_TRUE(Write(0, 8).ok());
  ASSERT_TRUE(Write(8, 4).ok());
  EXPECT_EQ(State(), (MachineZone{kExplicitlyOpen, 8, true}));
  ASSERT_TRUE(machine.CommitRandom(ZoneId(1), 10).ok());
  ASSERT_TRUE(Write(10, 2).ok());  // the area is cut at the capacity
  EXPECT_EQ(CodeOf(Write(10, 3)), Code::kZoneFull);
  ASSERT_TRUE(machine.CommitRandom(ZoneId(1), kCapacity).ok());
  EXPECT_EQ(State(), (MachineZone{kFull, kCapacity}));
  EXPECT_EQ(machine.counts().random_areas(), 0u);
}

TEST_F(RandomArea, CommitMovesThePointerInsideTheAreaAndByUnits) {
  ASSERT_TRUE(machine.OpenRandom(ZoneId(1)).ok());
  for (const std::uint64_t bad : {0, 1, 3, 6}) {
    EXPECT_EQ(CodeOf(machine.CommitRandom(ZoneId(1), bad)), Code::kInvalidArgument) << bad;
  }
  ASSERT_TRUE(machine.CommitRandom(ZoneId(1), 2).ok());
  EXPECT_EQ(State(), (MachineZone{kExplicitlyOpen, 2, true}));
  ASSERT_TRUE(machine.CommitRandom(ZoneId(1), 6).ok());
  EXPECT_EQ(State().written, 6u);
  ASSERT_TRUE(machine.Open(ZoneId(2)).ok());
  EXPECT_EQ(CodeOf(machine.CommitRandom(ZoneId(2), 2)), Code::kInvalidArgument) << "has no area";
}

TEST_F(RandomArea, CommitReachesACapacityThatIsNoMultipleOfTheUnit) {
  EmulatorGeometry geometry = Geometry();
  geometry.zone_capacity = 11 * 4096;
  ZoneMachine odd(geometry);
  ASSERT_TRUE(odd.OpenRandom(ZoneId(1)).ok());
  ASSERT_TRUE(WriteBlocks(odd, ZoneId(1), 4, 4).ok());
  ASSERT_TRUE(WriteBlocks(odd, ZoneId(1), 8, 3).ok());
  EXPECT_EQ(odd.state(ZoneId(1)), (MachineZone{kExplicitlyOpen, 8, true}));
  ASSERT_TRUE(odd.CommitRandom(ZoneId(1), 11).ok());
  EXPECT_EQ(odd.state(ZoneId(1)), (MachineZone{kFull, 11}));
}

TEST_F(RandomArea, CloseKeepsItAndAWriteOrACommitOpensAgain) {
  ASSERT_TRUE(machine.OpenRandom(ZoneId(1)).ok());
  ASSERT_TRUE(machine.Close(ZoneId(1)).ok());
  EXPECT_EQ(State(), (MachineZone{kClosed, 0, true}));
  ASSERT_TRUE(Write(1, 1).ok());
  EXPECT_EQ(State(), (MachineZone{kImplicitlyOpen, 0, true}));
  ASSERT_TRUE(machine.Close(ZoneId(1)).ok());
  ASSERT_TRUE(machine.CommitRandom(ZoneId(1), 2).ok());
  EXPECT_EQ(State(), (MachineZone{kImplicitlyOpen, 2, true}));
}

TEST_F(RandomArea, EndsWithTheZoneAndItsBlocksCountAsWritten) {
  const auto ends = [](auto command, MachineZone after) {
    ZoneMachine m(Geometry());
    ASSERT_TRUE(m.OpenRandom(ZoneId(1)).ok());
    ASSERT_TRUE(m.CommitRandom(ZoneId(1), 2).ok());
    ASSERT_TRUE(command(m).ok());
    EXPECT_EQ(m.state(ZoneId(1)), after);
    EXPECT_EQ(m.counts().random_areas(), 0u);
  };
  ends([](ZoneMachine& m) { return m.Finish(ZoneId(1)); }, {kFull, 6});
  ends([](ZoneMachine& m) { return m.Reset(ZoneId(1)); }, {kEmpty, 0});
  ends([](ZoneMachine& m) { return m.SetCondition(ZoneId(1), kReadOnly); }, {kReadOnly, 6});
  ends([](ZoneMachine& m) { return m.SetCondition(ZoneId(1), kFull); }, {kFull, 6});
  ends([](ZoneMachine& m) { return m.SetCondition(ZoneId(1), kOffline); }, {kOffline, 6});
}

TEST_F(RandomArea, IsLostDuringAWrite) {
  ASSERT_TRUE(machine.OpenRandom(ZoneId(1)).ok());
  ASSERT_TRUE(machine.BeginWrite(ZoneId(1), 5, 2).ok());
  ASSERT_TRUE(machine.SetCondition(ZoneId(1), kReadOnly).ok());
  machine.CommitWrite(ZoneId(1), 5, 2);
  EXPECT_EQ(State(), (MachineZone{kReadOnly, 8}));
}

TEST_F(RandomArea, CanBeReadUpToItsEnd) {
  ASSERT_TRUE(machine.OpenRandom(ZoneId(1)).ok());
  ASSERT_TRUE(machine.CommitRandom(ZoneId(1), 2).ok());
  EXPECT_EQ(machine.CheckRead(ZoneId(1), 0, 6).value(), 6u);
  EXPECT_EQ(machine.CheckRead(ZoneId(1), 0, 7).error().code(), Code::kInvalidArgument);
  ASSERT_TRUE(machine.Finish(ZoneId(1)).ok());
  EXPECT_EQ(machine.CheckRead(ZoneId(1), 0, 7).value(), 6u);
}

TEST_F(RandomArea, RestoresOnlyPossibleStates) {
  EXPECT_TRUE(machine.Restore(ZoneId(1), {kClosed, 4, true}).ok());
  EXPECT_EQ(machine.counts().random_areas(), 1u);
  EXPECT_TRUE(machine.Restore(ZoneId(1), {kExplicitlyOpen, 0, true}).ok());
  EXPECT_EQ(machine.counts().random_areas(), 1u);
  for (const MachineZone bad : {MachineZone{kClosed, 3, true}, MachineZone{kFull, 4, true},
                                MachineZone{kEmpty, 0, true}, MachineZone{kClosed, kCapacity, true}}) {
    EXPECT_EQ(CodeOf(machine.Restore(ZoneId(1), bad)), Code::kCorruption);
  }
  ZoneMachine plain(SmallGeometry());
  EXPECT_EQ(CodeOf(plain.Restore(ZoneId(1), {kClosed, 4, true})), Code::kCorruption);
}

}  // namespace
}  // namespace zenfs::random_area_test
