#include "backends/emulator/zone_machine_test_rig.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace zenfs::zone_machine_test {
namespace {

using enum ZoneCondition;

constexpr std::uint64_t kCapacity = kSmallCapacity;

// Zone 1 in every possible condition, and the effect of each command on it.
struct Row {
  MachineZone before;
  std::function<Status(ZoneMachine&)> command;
  std::string command_name;
  ZoneCondition after;
  std::optional<Code> error;
};

class Transition : public testing::TestWithParam<Row> {};

TEST_P(Transition, IsTheSpecifications) {
  const Row& row = GetParam();
  ZoneMachine machine(SmallGeometry());
  ASSERT_TRUE(machine.Restore(ZoneId(1), row.before).ok());
  const Status status = row.command(machine);
  EXPECT_EQ(status.ok(), !row.error.has_value());
  if (!status.ok() && row.error) {
    EXPECT_EQ(CodeOf(status), *row.error) << status.error().text();
  }
  EXPECT_EQ(machine.state(ZoneId(1)).condition, row.after);
}

std::vector<Row> Rows() {
  std::vector<Row> rows;
  const auto reset = [](ZoneMachine& m) { return m.Reset(ZoneId(1)); };
  const auto finish = [](ZoneMachine& m) { return m.Finish(ZoneId(1)); };
  const auto open = [](ZoneMachine& m) { return m.Open(ZoneId(1)); };
  const auto close = [](ZoneMachine& m) { return m.Close(ZoneId(1)); };
  const auto write = [](ZoneMachine& m) { return WriteBlocks(m, ZoneId(1), m.state(ZoneId(1)).written, 1); };
  const auto add = [&rows](ZoneCondition before, auto command, std::string name, ZoneCondition after,
                           std::optional<Code> error = {}) {
    const std::uint64_t written = before == kEmpty ? 0 : 4;
    rows.push_back({{before, written}, command, std::move(name), after, error});
  };
  for (const ZoneCondition c : {kEmpty, kImplicitlyOpen, kExplicitlyOpen, kClosed, kFull}) {
    add(c, reset, "Reset", kEmpty);
    add(c, finish, "Finish", kFull);
  }
  for (const ZoneCondition c : {kEmpty, kImplicitlyOpen, kExplicitlyOpen, kClosed})
    add(c, open, "Open", kExplicitlyOpen);
  add(kFull, open, "Open", kFull, Code::kInvalidArgument);
  for (const ZoneCondition c : {kImplicitlyOpen, kExplicitlyOpen, kClosed}) add(c, close, "Close", kClosed);
  for (const ZoneCondition c : {kEmpty, kFull}) add(c, close, "Close", c, Code::kInvalidArgument);
  for (const ZoneCondition c : {kEmpty, kImplicitlyOpen, kClosed}) add(c, write, "Write", kImplicitlyOpen);
  add(kExplicitlyOpen, write, "Write", kExplicitlyOpen);
  add(kFull, write, "Write", kFull, Code::kZoneFull);
  int n = 0;
  for (const auto& command :
       std::vector<std::function<Status(ZoneMachine&)>>{reset, finish, open, close, write}) {
    static const char* const kNames[] = {"Reset", "Finish", "Open", "Close", "Write"};
    add(kReadOnly, command, kNames[n], kReadOnly, Code::kReadOnly);
    add(kOffline, command, kNames[n++], kOffline, Code::kNotFound);
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Zone, Transition, testing::ValuesIn(Rows()), [](const auto& row) {
  std::string name = row.param.command_name + "_of_" + std::string(ConditionName(row.param.before.condition));
  for (char& c : name) c = c == ' ' || c == '-' ? '_' : c;
  return name;
});

TEST(ZoneMachineTest, WriteMovesThePointerAndFillsAtCapacity) {
  ZoneMachine machine(SmallGeometry());
  ASSERT_TRUE(WriteBlocks(machine, ZoneId(1), 0, 5).ok());
  EXPECT_EQ(machine.state(ZoneId(1)), (MachineZone{kImplicitlyOpen, 5}));
  EXPECT_EQ(machine.Info(ZoneId(1)).write_pointer, DeviceOffset(16 * 4096 + 5 * 4096));
  ASSERT_TRUE(WriteBlocks(machine, ZoneId(1), 5, kCapacity - 5).ok());
  EXPECT_EQ(machine.state(ZoneId(1)).condition, kFull);
  EXPECT_EQ(machine.counts().active(), 0u);
  EXPECT_EQ(machine.Info(ZoneId(1)).write_pointer,
            DeviceOffset(2 * 16 * 4096));  // undefined: beyond the capacity
}

TEST(ZoneMachineTest, WriteElsewhereThanThePointerIsRefused) {
  ZoneMachine machine(SmallGeometry());
  ASSERT_TRUE(WriteBlocks(machine, ZoneId(1), 0, 5).ok());
  EXPECT_EQ(CodeOf(machine.BeginWrite(ZoneId(1), 4, 1)), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(machine.BeginWrite(ZoneId(1), 6, 1)), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(machine.BeginWrite(ZoneId(2), 1, 1)), Code::kInvalidArgument);
}

TEST(ZoneMachineTest, WriteOverTheCapacityIsZoneFullAndChangesNothing) {
  ZoneMachine machine(SmallGeometry());
  ASSERT_TRUE(WriteBlocks(machine, ZoneId(1), 0, 5).ok());
  EXPECT_EQ(CodeOf(machine.BeginWrite(ZoneId(1), 5, kCapacity - 4)), Code::kZoneFull);
  EXPECT_EQ(machine.BeginAppend(ZoneId(1), kCapacity - 4).error().code(), Code::kZoneFull);
  EXPECT_EQ(machine.state(ZoneId(1)).written, 5u);
}

TEST(ZoneMachineTest, AppendReturnsThePlace) {
  ZoneMachine machine(SmallGeometry());
  ASSERT_EQ(machine.BeginAppend(ZoneId(3), 2).value(), 0u);
  machine.CommitWrite(ZoneId(3), 0, 2);
  EXPECT_EQ(machine.BeginAppend(ZoneId(3), 1).value(), 2u);
}

TEST(ZoneMachineTest, UncommittedWriteLeavesThePointer) {
  ZoneMachine machine(SmallGeometry());
  ASSERT_TRUE(machine.BeginWrite(ZoneId(1), 0, 5).ok());
  EXPECT_EQ(machine.state(ZoneId(1)), (MachineZone{kImplicitlyOpen, 0}));
  EXPECT_TRUE(machine.BeginWrite(ZoneId(1), 0, 5).ok());
}

TEST(ZoneMachineTest, ImplicitlyOpenZoneWrittenLongestAgoGivesUpItsSlot) {
  ZoneMachine machine(SmallGeometry(2, 0));
  ASSERT_TRUE(WriteBlocks(machine, ZoneId(1), 0, 1).ok());
  ASSERT_TRUE(WriteBlocks(machine, ZoneId(2), 0, 1).ok());
  ASSERT_TRUE(WriteBlocks(machine, ZoneId(1), 1, 1).ok());
  ASSERT_TRUE(machine.Open(ZoneId(3)).ok());
  EXPECT_EQ(machine.changed(), (std::vector{ZoneId(2), ZoneId(3)}));
  EXPECT_EQ(machine.state(ZoneId(1)).condition, kImplicitlyOpen);
  EXPECT_EQ(machine.state(ZoneId(2)).condition, kClosed);
  EXPECT_EQ(machine.counts().open(), 2u);
}

TEST(ZoneMachineTest, ExplicitlyOpenZonesKeepTheirSlots) {
  ZoneMachine machine(SmallGeometry(2, 0));
  ASSERT_TRUE(machine.Open(ZoneId(1)).ok());
  ASSERT_TRUE(machine.Open(ZoneId(2)).ok());
  EXPECT_EQ(CodeOf(machine.BeginWrite(ZoneId(3), 0, 1)), Code::kBusy);
  EXPECT_EQ(CodeOf(machine.Open(ZoneId(3))), Code::kBusy);
  ASSERT_TRUE(machine.Close(ZoneId(1)).ok());
  EXPECT_TRUE(machine.Open(ZoneId(3)).ok());
}

TEST(ZoneMachineTest, ActiveLimitIsBusyAndClosingDoesNotHelp) {
  ZoneMachine machine(SmallGeometry(2, 3));
  for (std::uint32_t i = 1; i <= 3; ++i) ASSERT_TRUE(WriteBlocks(machine, ZoneId(i), 0, 1).ok());
  EXPECT_EQ(CodeOf(machine.BeginWrite(ZoneId(4), 0, 1)), Code::kBusy);
  ASSERT_TRUE(machine.Close(ZoneId(3)).ok());
  EXPECT_EQ(CodeOf(machine.Open(ZoneId(4))), Code::kBusy);
  EXPECT_TRUE(WriteBlocks(machine, ZoneId(1), 1, 1).ok()) << "a closed zone is active already";
  ASSERT_TRUE(machine.Finish(ZoneId(2)).ok());
  EXPECT_TRUE(machine.Open(ZoneId(4)).ok());
}

TEST(ZoneMachineTest, FinishOfAnEmptyZoneNeedsNoSlot) {
  ZoneMachine machine(SmallGeometry(2, 2));
  ASSERT_TRUE(machine.Open(ZoneId(1)).ok());
  ASSERT_TRUE(machine.Open(ZoneId(2)).ok());
  EXPECT_TRUE(machine.Finish(ZoneId(3)).ok());
  EXPECT_EQ(machine.state(ZoneId(3)).condition, kFull);
}

TEST(ZoneMachineTest, ZoneThatLostItsSlotDuringAWriteStaysClosed) {
  ZoneMachine machine(SmallGeometry(1, 0));
  ASSERT_TRUE(machine.BeginWrite(ZoneId(1), 0, 3).ok());
  ASSERT_TRUE(machine.BeginWrite(ZoneId(2), 0, 3).ok());
  machine.CommitWrite(ZoneId(1), 0, 3);
  EXPECT_EQ(machine.state(ZoneId(1)), (MachineZone{kClosed, 3}));
  machine.CommitWrite(ZoneId(2), 0, 3);
  EXPECT_EQ(machine.state(ZoneId(2)), (MachineZone{kImplicitlyOpen, 3}));
}

TEST(ZoneMachineTest, ReadsEndAtTheWritePointer) {
  ZoneMachine machine(SmallGeometry());
  ASSERT_TRUE(WriteBlocks(machine, ZoneId(1), 0, 5).ok());
  EXPECT_EQ(machine.CheckRead(ZoneId(1), 0, 5).value(), 5u);
  EXPECT_EQ(machine.CheckRead(ZoneId(1), 4, 2).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(machine.CheckRead(ZoneId(2), 0, 1).error().code(), Code::kInvalidArgument);
}

TEST(ZoneMachineTest, FinishedZoneReadsAsZerosBehindItsData) {
  ZoneMachine machine(SmallGeometry());
  ASSERT_TRUE(WriteBlocks(machine, ZoneId(1), 0, 5).ok());
  ASSERT_TRUE(machine.Finish(ZoneId(1)).ok());
  EXPECT_EQ(machine.CheckRead(ZoneId(1), 4, 4).value(), 1u);
  EXPECT_EQ(machine.CheckRead(ZoneId(1), 6, 4).value(), 0u);
  EXPECT_EQ(machine.CheckRead(ZoneId(1), 6, kCapacity - 5).error().code(), Code::kInvalidArgument);
}

TEST(ZoneMachineTest, FailedZonesAreReadableOnlyIfNotOffline) {
  ZoneMachine machine(SmallGeometry());
  ASSERT_TRUE(WriteBlocks(machine, ZoneId(1), 0, 5).ok());
  ASSERT_TRUE(machine.SetCondition(ZoneId(1), kReadOnly).ok());
  EXPECT_EQ(machine.CheckRead(ZoneId(1), 0, 5).value(), 5u);
  EXPECT_EQ(machine.counts().active(), 0u);
  ASSERT_TRUE(machine.SetCondition(ZoneId(1), kOffline).ok());
  EXPECT_EQ(machine.CheckRead(ZoneId(1), 0, 5).error().code(), Code::kNotFound);
  EXPECT_EQ(CodeOf(machine.SetCondition(ZoneId(1), kEmpty)), Code::kInvalidArgument);
}

TEST(ZoneMachineTest, ConventionalZoneIsWrittenAnywhereAndNotManaged) {
  ZoneMachine machine(SmallGeometry());
  ASSERT_TRUE(WriteBlocks(machine, ZoneId(0), 15, 1).ok());
  ASSERT_TRUE(WriteBlocks(machine, ZoneId(0), 3, 2).ok());
  EXPECT_EQ(CodeOf(machine.BeginWrite(ZoneId(0), 15, 2)), Code::kZoneFull);
  EXPECT_EQ(machine.CheckRead(ZoneId(0), 0, 16).value(), 16u);
  EXPECT_EQ(machine.BeginAppend(ZoneId(0), 1).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(machine.Reset(ZoneId(0))), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(machine.Finish(ZoneId(0))), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(machine.Open(ZoneId(0))), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(machine.Close(ZoneId(0))), Code::kInvalidArgument);
  EXPECT_EQ(machine.Info(ZoneId(0)).type, ZoneType::kConventional);
  EXPECT_EQ(machine.counts().active(), 0u);
}

TEST(ZoneMachineTest, ZoneThatIsNotThereIsRefused) {
  ZoneMachine machine(SmallGeometry());
  EXPECT_EQ(CodeOf(machine.Reset(ZoneId(8))), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(machine.BeginWrite(ZoneId(8), 0, 1)), Code::kInvalidArgument);
  EXPECT_EQ(machine.CheckRead(ZoneId(8), 0, 1).error().code(), Code::kInvalidArgument);
}

TEST(ZoneMachineTest, ImpossibleStatesAreNotRestored) {
  ZoneMachine machine(SmallGeometry());
  for (const MachineZone state : {MachineZone{kEmpty, 1}, MachineZone{kClosed, kCapacity},
                                  MachineZone{kFull, kCapacity + 1}, MachineZone{kNotWritePointer, 0}}) {
    const Status status = machine.Restore(ZoneId(1), state);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(CodeOf(status), Code::kCorruption);
  }
  EXPECT_FALSE(machine.Restore(ZoneId(0), MachineZone{kEmpty, 0}).ok());
}

}  // namespace
}  // namespace zenfs::zone_machine_test
