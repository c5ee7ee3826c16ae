// Random write areas (ZonedDevice::OpenRandom). Each device also shows what it says without them.
#include <algorithm>

#include "conformance_test.h"

namespace zenfs {
namespace {

using enum ZoneCondition;

using NoRandomAreas = ConformanceTest;

TEST_P(NoRandomAreas, CommandsAreNotSupportedAndChangeNothing) {
  if (device->geometry().random_area_bytes != 0) GTEST_SKIP() << GetParam().name << " has random write areas";
  EXPECT_TRUE(FailsWith(device->OpenRandom(ZoneId(1)), Code::kNotSupported));
  EXPECT_FALSE(device->CommitRandom(At(1, 2)).ok());
  EXPECT_EQ(Condition(1), kEmpty);
  EXPECT_FALSE(Zone(1).random_area);
}

class RandomAreas : public ConformanceTest {
 protected:
  DeviceWish wish() const override { return {.random_area = true}; }
  void SetUp() override {
    ConformanceTest::SetUp();
    if (device == nullptr) return;
    const Geometry& geometry = device->geometry();
    if (geometry.random_area_bytes == 0) GTEST_SKIP() << GetParam().name << " has no random write areas";
    area = geometry.random_area_bytes / block;
    unit = geometry.random_area_unit / block;
    ASSERT_TRUE(device->OpenRandom(ZoneId(1)).ok());
  }
  Status Commit(std::uint64_t to) { return device->CommitRandom(At(1, to)); }
  testing::AssertionResult IsZero(std::uint64_t at) {
    const AlignedBuffer zeros = [&] {
      AlignedBuffer buffer(block);
      std::ranges::fill(buffer.Whole(), std::byte{0});
      buffer.Resize(block);
      return buffer;
    }();
    return Holds(1, at, zeros);
  }

  std::uint64_t area = 0;  // blocks
  std::uint64_t unit = 0;  // blocks
};

TEST_P(RandomAreas, OpenedZoneIsExplicitlyOpenAndReadsAsZeros) {
  EXPECT_EQ(Condition(1), kExplicitlyOpen);
  EXPECT_TRUE(Zone(1).random_area);
  EXPECT_EQ(WrittenBlocks(1), 0u);
  for (std::uint64_t at = 0; at < area; ++at) EXPECT_TRUE(IsZero(at)) << at;
}

TEST_P(RandomAreas, OldDataOfAResetZoneIsNotInTheArea) {
  ASSERT_TRUE(WriteBlocks(2, 0, area, 7).ok());
  ASSERT_TRUE(device->Reset(ZoneId(2)).ok());
  ASSERT_TRUE(device->OpenRandom(ZoneId(2)).ok());
  const auto found = ReadBack(*device, At(2), area * block);
  ASSERT_TRUE(found) << found.error().ToString();
  EXPECT_TRUE(SameBytes(found->View(), std::vector<std::byte>(area * block)));
}

TEST_P(RandomAreas, WritesInsideGoAnywhereAndReplaceBlocks) {
  ASSERT_TRUE(WriteBlocks(1, 3, 2, 1).ok());
  ASSERT_TRUE(WriteBlocks(1, 0, 1, 2).ok());
  ASSERT_TRUE(WriteBlocks(1, 3, 1, 3).ok());
  EXPECT_TRUE(Holds(1, 3, Pattern(block, 3)));
  EXPECT_TRUE(Holds(1, 0, Pattern(block, 2)));
  EXPECT_TRUE(IsZero(1));
  EXPECT_EQ(WrittenBlocks(1), 0u);
}

TEST_P(RandomAreas, WriteBehindItMovesThePointerByUnits) {
  ASSERT_TRUE(WriteBlocks(1, 0, 1, 5).ok());
  ASSERT_TRUE(WriteBlocks(1, area, 1, 6).ok());
  EXPECT_EQ(WrittenBlocks(1), unit);
  EXPECT_TRUE(Holds(1, 0, Pattern(block, 5)));
  EXPECT_TRUE(Holds(1, area, Pattern(block, 6)));
  EXPECT_TRUE(FailsWith(WriteBlocks(1, 0, 1), Code::kInvalidArgument)) << "below the pointer";
  EXPECT_TRUE(WriteBlocks(1, unit, 1).ok());
}

TEST_P(RandomAreas, WriteTooFarBehindItIsRefused) {
  EXPECT_TRUE(FailsWith(WriteBlocks(1, 2 * area, 1), Code::kInvalidArgument));
  EXPECT_TRUE(FailsWith(WriteBlocks(1, 2 * area - 1, 2), Code::kInvalidArgument));
  EXPECT_EQ(WrittenBlocks(1), 0u);
  EXPECT_TRUE(WriteBlocks(1, 2 * area - 1, 1).ok());
  EXPECT_EQ(WrittenBlocks(1), area);
}

TEST_P(RandomAreas, CommitMovesThePointerByUnitsInside) {
  EXPECT_TRUE(FailsWith(Commit(1), Code::kInvalidArgument)) << "no unit";
  EXPECT_TRUE(FailsWith(Commit(area + unit), Code::kInvalidArgument)) << "behind the area";
  ASSERT_TRUE(WriteBlocks(1, 0, 1, 5).ok());
  ASSERT_TRUE(Commit(unit).ok());
  EXPECT_EQ(WrittenBlocks(1), unit);
  EXPECT_FALSE(Commit(unit).ok()) << "nothing to commit";
  ASSERT_TRUE(Commit(unit + area).ok());
  EXPECT_EQ(WrittenBlocks(1), unit + area);
  EXPECT_TRUE(Holds(1, 0, Pattern(block, 5)));
}

TEST_P(RandomAreas, CommitOfAZoneWithoutAnAreaIsRefused) {
  ASSERT_TRUE(device->Open(ZoneId(2)).ok());
  EXPECT_FALSE(device->CommitRandom(At(2, unit)).ok());
  EXPECT_EQ(WrittenBlocks(2), 0u);
}

TEST_P(RandomAreas, AppendIsRefused) {
  if (device->geometry().max_append_bytes == 0) GTEST_SKIP() << GetParam().name << " has no appends";
  EXPECT_TRUE(FailsWith(device->Append(ZoneId(1), Filled(1).View()), Code::kInvalidArgument));
  EXPECT_EQ(WrittenBlocks(1), 0u);
}

TEST_P(RandomAreas, OnlyAnEmptyZoneGetsOne) {
  EXPECT_TRUE(FailsWith(device->OpenRandom(ZoneId(1)), Code::kInvalidArgument)) << "it has one";
  ASSERT_TRUE(WriteBlocks(2, 0, 1).ok());
  EXPECT_TRUE(FailsWith(device->OpenRandom(ZoneId(2)), Code::kInvalidArgument));
  EXPECT_FALSE(Zone(2).random_area);
  EXPECT_EQ(WrittenBlocks(2), 1u);
}

TEST_P(RandomAreas, NumberOfZonesIsLimitedUntilOneIsResetOrFinished) {
  const std::uint32_t zones = device->geometry().random_area_zones;
  ASSERT_EQ(zones, 2u);
  ASSERT_TRUE(device->OpenRandom(ZoneId(2)).ok());
  ASSERT_TRUE(device->Close(ZoneId(2)).ok());
  EXPECT_TRUE(FailsWith(device->OpenRandom(ZoneId(3)), Code::kBusy));
  EXPECT_EQ(Condition(3), kEmpty);
  ASSERT_TRUE(device->Reset(ZoneId(2)).ok());
  EXPECT_FALSE(Zone(2).random_area);
  ASSERT_TRUE(device->OpenRandom(ZoneId(3)).ok());
  ASSERT_TRUE(device->Finish(ZoneId(3)).ok());
  EXPECT_TRUE(device->OpenRandom(ZoneId(4)).ok());
}

TEST_P(RandomAreas, CloseKeepsItAndAWriteOpensTheZoneAgain) {
  ASSERT_TRUE(WriteBlocks(1, 2, 1, 4).ok());
  ASSERT_TRUE(device->Close(ZoneId(1)).ok());
  EXPECT_EQ(Condition(1), kClosed);
  EXPECT_TRUE(Zone(1).random_area);
  EXPECT_TRUE(Holds(1, 2, Pattern(block, 4)));
  ASSERT_TRUE(WriteBlocks(1, 2, 1, 5).ok());
  EXPECT_EQ(Condition(1), kImplicitlyOpen);
  EXPECT_TRUE(Holds(1, 2, Pattern(block, 5)));
}

TEST_P(RandomAreas, FinishKeepsItsBlocks) {
  ASSERT_TRUE(WriteBlocks(1, area - 1, 1, 4).ok());
  ASSERT_TRUE(device->Finish(ZoneId(1)).ok());
  EXPECT_EQ(Condition(1), kFull);
  EXPECT_FALSE(Zone(1).random_area);
  EXPECT_TRUE(Holds(1, area - 1, Pattern(block, 4)));
  EXPECT_TRUE(IsZero(0));
  EXPECT_TRUE(FailsWith(WriteBlocks(1, 0, 1), Code::kZoneFull));
}

TEST_P(RandomAreas, ZoneIsFullWhenItsCapacityIsCommitted) {
  const std::uint64_t capacity = CapacityBlocks(1);
  for (std::uint64_t at = 0; at < capacity; at += unit) {
    const std::uint64_t count = std::min(unit, capacity - at);
    ASSERT_TRUE(WriteBlocks(1, at, count, at).ok()) << at;
  }
  EXPECT_EQ(Condition(1), kExplicitlyOpen) << "the last blocks may still be replaced";
  EXPECT_EQ(WrittenBlocks(1), capacity - area);
  EXPECT_TRUE(FailsWith(WriteBlocks(1, capacity - 1, 2), Code::kZoneFull));
  ASSERT_TRUE(Commit(capacity).ok());
  EXPECT_EQ(Condition(1), kFull);
  EXPECT_FALSE(Zone(1).random_area);
}

TEST_P(RandomAreas, ResetEmptiesTheZone) {
  ASSERT_TRUE(WriteBlocks(1, 0, 1).ok());
  ASSERT_TRUE(device->Reset(ZoneId(1)).ok());
  EXPECT_EQ(Condition(1), kEmpty);
  EXPECT_FALSE(Zone(1).random_area);
  ASSERT_TRUE(device->OpenRandom(ZoneId(1)).ok());
  EXPECT_TRUE(IsZero(0));
}

TEST_P(RandomAreas, QueueWritesInsideTheArea) {
  const AlignedBuffer data = Filled(1, 8);
  IoRequest request{.kind = IoRequest::Kind::kWrite, .offset = At(1, 2), .write_from = data.View()};
  const auto queue = device->CreateQueue(1);
  queue->Submit(&request);
  std::vector<IoRequest*> done;
  queue->Reap(1, done);
  ASSERT_TRUE(request.status.ok()) << request.status.error().ToString();
  EXPECT_TRUE(Holds(1, 2, data));
  EXPECT_EQ(WrittenBlocks(1), 0u);
}

TEST_P(RandomAreas, AreFoundAgain) {
  if (!GetParam().persists) GTEST_SKIP() << GetParam().name << " does not outlive its object";
  ASSERT_TRUE(WriteBlocks(1, 2, 1, 4).ok());
  const Geometry before = device->geometry();
  Reopen();
  EXPECT_EQ(device->geometry().random_area_bytes, before.random_area_bytes);
  EXPECT_EQ(device->geometry().random_area_unit, before.random_area_unit);
  EXPECT_EQ(device->geometry().random_area_zones, before.random_area_zones);
  EXPECT_TRUE(Zone(1).random_area);
  EXPECT_TRUE(Holds(1, 2, Pattern(block, 4)));
  ASSERT_TRUE(WriteBlocks(1, 2, 1, 5).ok());
  EXPECT_TRUE(Holds(1, 2, Pattern(block, 5)));
  Reopen(OpenMode::kReadOnly);
  EXPECT_TRUE(FailsWith(device->OpenRandom(ZoneId(2)), Code::kReadOnly));
  EXPECT_TRUE(FailsWith(Commit(unit), Code::kReadOnly));
  EXPECT_TRUE(Holds(1, 2, Pattern(block, 5)));
}

ZENFS_INSTANTIATE_CONFORMANCE(NoRandomAreas);
ZENFS_INSTANTIATE_CONFORMANCE(RandomAreas);

}  // namespace
}  // namespace zenfs
