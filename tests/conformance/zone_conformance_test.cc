// Zone management, limits, conventional zones.
#include "conformance_test.h"

namespace zenfs {
namespace {

using enum ZoneCondition;

using Zones = ConformanceTest;

TEST_P(Zones, ResetEmptiesFromEveryCondition) {
  ASSERT_TRUE(WriteBlocks(1, 0, 3).ok());     // implicitly open
  ASSERT_TRUE(device->Open(ZoneId(2)).ok());  // explicitly open
  ASSERT_TRUE(WriteBlocks(3, 0, 3).ok());
  ASSERT_TRUE(device->Close(ZoneId(3)).ok());   // closed
  ASSERT_TRUE(device->Finish(ZoneId(4)).ok());  // full
  for (std::uint32_t zone = 0; zone < 5; ++zone) {
    ASSERT_TRUE(device->Reset(ZoneId(zone)).ok());
    EXPECT_EQ(Condition(zone), kEmpty);
    EXPECT_EQ(Zone(zone).write_pointer, At(zone));
    EXPECT_TRUE(!ReadBack(*device, At(zone), block) || !GetParam().refuses_unwritten);
    EXPECT_TRUE(WriteBlocks(zone, 0, 1, 9).ok());
    EXPECT_TRUE(Holds(zone, 0, Pattern(block, 9)));
  }
}

TEST_P(Zones, FinishFillsAndKeepsTheData) {
  ASSERT_TRUE(WriteBlocks(1, 0, 3, 5).ok());
  ASSERT_TRUE(device->Finish(ZoneId(1)).ok());
  EXPECT_EQ(Condition(1), kFull);
  EXPECT_TRUE(Holds(1, 0, Pattern(3 * block, 5)));
  EXPECT_TRUE(FailsWith(WriteBlocks(1, 3, 1), Code::kZoneFull));
  EXPECT_TRUE(device->Finish(ZoneId(1)).ok()) << "once more is no error";
}

TEST_P(Zones, FinishOfAZoneThatIsBeingReadKeepsTheData) {
  ASSERT_TRUE(WriteBlocks(1, 0, 3, 5).ok());
  ASSERT_TRUE(Holds(1, 0, Pattern(3 * block, 5)));
  ASSERT_TRUE(device->Finish(ZoneId(1)).ok());
  EXPECT_EQ(Condition(1), kFull);
  EXPECT_TRUE(Holds(1, 0, Pattern(3 * block, 5)));
  EXPECT_TRUE(FailsWith(WriteBlocks(1, 3, 1), Code::kZoneFull));
}

TEST_P(Zones, OpenAndCloseChangeTheConditionAndNotThePointer) {
  ASSERT_TRUE(WriteBlocks(1, 0, 3).ok());
  ASSERT_TRUE(device->Open(ZoneId(1)).ok());
  EXPECT_EQ(Condition(1), kExplicitlyOpen);
  ASSERT_TRUE(WriteBlocks(1, 3, 1).ok());
  EXPECT_EQ(Condition(1), kExplicitlyOpen);
  ASSERT_TRUE(device->Close(ZoneId(1)).ok());
  EXPECT_EQ(Condition(1), kClosed);
  EXPECT_EQ(WrittenBlocks(1), 4u);
  ASSERT_TRUE(WriteBlocks(1, 4, 1).ok());
  EXPECT_EQ(Condition(1), kImplicitlyOpen);
}

TEST_P(Zones, TransitionsThatDoNotExistAreRefused) {
  ASSERT_TRUE(device->Finish(ZoneId(1)).ok());
  EXPECT_TRUE(!device->Open(ZoneId(1)).ok() || !GetParam().refuses_idle_commands);
  EXPECT_TRUE(!device->Close(ZoneId(1)).ok() || !GetParam().refuses_idle_commands);
  EXPECT_EQ(Condition(1), kFull);
}

TEST_P(Zones, FlushSucceedsAtAnyTime) {
  EXPECT_TRUE(device->Flush().ok());
  ASSERT_TRUE(WriteBlocks(1, 0, 3).ok());
  EXPECT_TRUE(device->Flush().ok());
  EXPECT_EQ(WrittenBlocks(1), 3u);
}

class Limits : public ConformanceTest {
 protected:
  DeviceWish wish() const override { return {.limited = true}; }

  std::uint32_t Count(bool (*counts)(ZoneCondition)) {
    std::uint32_t n = 0;
    for (std::uint32_t i = 0; i < device->geometry().zone_count; ++i) n += counts(Condition(i)) ? 1 : 0;
    return n;
  }
};

TEST_P(Limits, WritingOneZoneMoreClosesAnotherImplicitly) {
  ASSERT_EQ(device->geometry().max_open, 3u);
  for (std::uint32_t zone = 0; zone < 4; ++zone) ASSERT_TRUE(WriteBlocks(zone, 0, 1).ok());
  EXPECT_EQ(Count(&IsOpen), 3u);
  EXPECT_EQ(Count(&IsActive), 4u);
  for (std::uint32_t zone = 0; zone < 4; ++zone) ASSERT_TRUE(WriteBlocks(zone, 1, 1).ok());
  EXPECT_EQ(Count(&IsOpen), 3u);
}

TEST_P(Limits, ActiveLimitIsBusyUntilAZoneIsFinishedOrReset) {
  for (std::uint32_t zone = 0; zone < 4; ++zone) ASSERT_TRUE(WriteBlocks(zone, 0, 1).ok());
  EXPECT_TRUE(FailsWith(WriteBlocks(4, 0, 1), Code::kBusy));
  EXPECT_TRUE(FailsWith(device->Open(ZoneId(4)), Code::kBusy));
  EXPECT_EQ(Condition(4), kEmpty);
  ASSERT_TRUE(device->Finish(ZoneId(0)).ok());
  EXPECT_TRUE(WriteBlocks(4, 0, 1).ok());
  EXPECT_TRUE(FailsWith(WriteBlocks(5, 0, 1), Code::kBusy));
  ASSERT_TRUE(device->Reset(ZoneId(1)).ok());
  EXPECT_TRUE(WriteBlocks(5, 0, 1).ok());
}

TEST_P(Limits, ExplicitlyOpenZonesAreNotClosedForOthers) {
  for (std::uint32_t zone = 0; zone < 3; ++zone) ASSERT_TRUE(device->Open(ZoneId(zone)).ok());
  EXPECT_TRUE(FailsWith(WriteBlocks(3, 0, 1), Code::kBusy));
  EXPECT_TRUE(FailsWith(device->Open(ZoneId(3)), Code::kBusy));
  ASSERT_TRUE(device->Close(ZoneId(1)).ok());
  EXPECT_TRUE(device->Open(ZoneId(3)).ok());
}

TEST_P(Limits, FillingAZoneFreesItsSlots) {
  for (std::uint32_t round = 0; round < 8; ++round) {
    ASSERT_TRUE(WriteBlocks(round, 0, CapacityBlocks(round)).ok()) << round;
  }
  EXPECT_EQ(Count(&IsActive), 0u);
}

class Conventional : public ConformanceTest {
 protected:
  DeviceWish wish() const override { return {.conventional = 2}; }
  void SetUp() override {
    ConformanceTest::SetUp();
    if (device != nullptr && Zone(0).type != ZoneType::kConventional) {
      GTEST_SKIP() << GetParam().name << " has no conventional zones to offer";
    }
  }
};

TEST_P(Conventional, TakesWritesAnywhereAndKeepsThem) {
  ASSERT_TRUE(WriteBlocks(0, 5, 2, 1).ok());
  ASSERT_TRUE(WriteBlocks(0, 0, 1, 2).ok());
  ASSERT_TRUE(WriteBlocks(0, 5, 1, 3).ok());
  EXPECT_TRUE(Holds(0, 5, Pattern(block, 3)));
  EXPECT_TRUE(Holds(0, 0, Pattern(block, 2)));
  EXPECT_EQ(Condition(0), kNotWritePointer);
  EXPECT_EQ(Zone(0).WrittenBytes(), 0u);
}

TEST_P(Conventional, NeverWrittenBlocksReadAsZeros) {
  ASSERT_TRUE(WriteBlocks(1, 3, 1).ok());
  const auto found = ReadBack(*device, At(1), 3 * block);
  ASSERT_TRUE(found);
  EXPECT_TRUE(SameBytes(found->View(), std::vector<std::byte>(3 * block)));
}

TEST_P(Conventional, RefusesZoneCommandsAndAppendsAndKeepsItsData) {
  ASSERT_TRUE(WriteBlocks(0, 0, 2, 4).ok());
  EXPECT_FALSE(device->Reset(ZoneId(0)).ok());
  EXPECT_FALSE(device->Finish(ZoneId(0)).ok());
  EXPECT_FALSE(device->Open(ZoneId(0)).ok());
  EXPECT_FALSE(device->Close(ZoneId(0)).ok());
  EXPECT_FALSE(device->Append(ZoneId(0), Filled(1).View()));
  EXPECT_TRUE(Holds(0, 0, Pattern(2 * block, 4)));
}

TEST_P(Conventional, SequentialZonesFollow) {
  EXPECT_EQ(Zone(2).type, ZoneType::kSequentialRequired);
  EXPECT_TRUE(WriteBlocks(2, 0, 1).ok());
}

ZENFS_INSTANTIATE_CONFORMANCE(Zones);
ZENFS_INSTANTIATE_CONFORMANCE(Limits);
ZENFS_INSTANTIATE_CONFORMANCE(Conventional);

}  // namespace
}  // namespace zenfs
