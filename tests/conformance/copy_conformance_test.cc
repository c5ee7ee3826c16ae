// Copies inside the device (ZonedDevice::Copy). Each device also shows what it says without them.
#include <algorithm>

#include "conformance_test.h"

namespace zenfs {
namespace {

using enum ZoneCondition;

using NoCopies = ConformanceTest;

TEST_P(NoCopies, CopyIsNotSupportedAndChangesNothing) {
  if (device->geometry().max_copy_bytes != 0) GTEST_SKIP() << GetParam().name << " copies";
  ASSERT_TRUE(WriteBlocks(1, 0, 2).ok());
  EXPECT_TRUE(FailsWith(device->Copy(At(1), At(2), block), Code::kNotSupported));
  EXPECT_EQ(Condition(2), kEmpty);
  EXPECT_EQ(WrittenBlocks(1), 2u);
}

// Zone 1 is written as far as the longest copy goes, but not to its end.
class Copies : public ConformanceTest {
 protected:
  DeviceWish wish() const override { return {.copies = true}; }
  void SetUp() override {
    ConformanceTest::SetUp();
    if (device == nullptr) return;
    if (device->geometry().max_copy_bytes == 0) GTEST_SKIP() << GetParam().name << " does not copy";
    ASSERT_EQ(device->geometry().max_copy_bytes % block, 0u);
    longest = std::min(device->geometry().max_copy_bytes / block, CapacityBlocks(1) - 1);
    ASSERT_GE(longest, 4u);
    ASSERT_TRUE(WriteBlocks(1, 0, longest, kSeed).ok());
  }

  // From block `from` of zone 1.
  Status CopyBlocks(std::uint64_t from, std::uint32_t zone, std::uint64_t at, std::uint64_t blocks) {
    return device->Copy(At(1, from), At(zone, at), blocks * block);
  }
  // The blocks of zone 1 from `from` on.
  testing::AssertionResult HoldsCopy(std::uint32_t zone, std::uint64_t at, std::uint64_t from,
                                     std::uint64_t blocks) {
    const AlignedBuffer source = Pattern(longest * block, kSeed);
    const auto found = ReadBack(*device, At(zone, at), blocks * block);
    if (!found) return testing::AssertionFailure() << found.error().ToString();
    if (!SameBytes(found->View(), source.View().subspan(from * block, blocks * block)))
      return testing::AssertionFailure() << "other bytes";
    return testing::AssertionSuccess();
  }

  static constexpr std::uint64_t kSeed = 7;
  std::uint64_t longest = 0;  // blocks
};

TEST_P(Copies, CopiedBlocksAreReadBackAndMoveThePointer) {
  ASSERT_TRUE(CopyBlocks(1, 2, 0, 3).ok());
  EXPECT_EQ(Condition(2), kImplicitlyOpen);
  EXPECT_EQ(Zone(2).write_pointer, At(2, 3));
  ASSERT_TRUE(CopyBlocks(0, 2, 3, 1).ok());
  EXPECT_EQ(Zone(2).write_pointer, At(2, 4));
  EXPECT_TRUE(HoldsCopy(2, 0, 1, 3));
  EXPECT_TRUE(HoldsCopy(2, 3, 0, 1));
  EXPECT_TRUE(HoldsCopy(1, 0, 0, longest)) << "the source is as it was";
  EXPECT_EQ(WrittenBlocks(1), longest);
}

TEST_P(Copies, CopiesMayHaveAnyLengthUpToTheLongest) {
  for (const std::uint64_t blocks : {longest, longest - 1}) {
    ASSERT_TRUE(device->Reset(ZoneId(2)).ok());
    ASSERT_TRUE(CopyBlocks(0, 2, 0, blocks).ok()) << blocks;
    EXPECT_EQ(WrittenBlocks(2), blocks);
    EXPECT_TRUE(HoldsCopy(2, 0, 0, blocks));
  }
}

TEST_P(Copies, CopyMayEndInItsOwnZone) {
  ASSERT_TRUE(CopyBlocks(0, 1, longest, 1).ok());
  EXPECT_EQ(WrittenBlocks(1), longest + 1);
  EXPECT_TRUE(HoldsCopy(1, longest, 0, 1));
}

TEST_P(Copies, CopyOfAnImpossibleLengthIsRefused) {
  const std::uint64_t most = device->geometry().max_copy_bytes;
  EXPECT_TRUE(FailsWith(device->Copy(At(1), At(2), most + block), Code::kInvalidArgument));
  EXPECT_TRUE(FailsWith(device->Copy(At(1), At(2), 0), Code::kInvalidArgument));
  EXPECT_TRUE(FailsWith(device->Copy(At(1), At(2), block / 2), Code::kInvalidArgument));
  EXPECT_EQ(Condition(2), kEmpty);
}

TEST_P(Copies, MisalignedCopyIsRefused) {
  const std::uint64_t half = block / 2;
  EXPECT_TRUE(FailsWith(device->Copy(At(1) + half, At(2), block), Code::kInvalidArgument));
  EXPECT_TRUE(FailsWith(device->Copy(At(1), At(2) + half, block), Code::kInvalidArgument));
  EXPECT_EQ(Condition(2), kEmpty);
}

TEST_P(Copies, CopyElsewhereThanThePointerIsRefused) {
  ASSERT_TRUE(CopyBlocks(0, 2, 0, 3).ok());
  EXPECT_TRUE(FailsWith(CopyBlocks(0, 2, 2, 1), Code::kInvalidArgument));
  EXPECT_TRUE(FailsWith(CopyBlocks(0, 2, 4, 1), Code::kInvalidArgument));
  EXPECT_TRUE(FailsWith(CopyBlocks(0, 3, 1, 1), Code::kInvalidArgument));
  EXPECT_EQ(WrittenBlocks(2), 3u);
  EXPECT_EQ(WrittenBlocks(3), 0u);
  EXPECT_TRUE(HoldsCopy(2, 0, 0, 3));
}

TEST_P(Copies, SourceBeyondThePointerMayFailAndNeverMovesIt) {
  const Status copied = CopyBlocks(longest - 1, 2, 0, 2);
  EXPECT_TRUE(!copied.ok() || !GetParam().refuses_unwritten);
  EXPECT_EQ(WrittenBlocks(2), copied.ok() ? 2u : 0u);
  EXPECT_EQ(WrittenBlocks(1), longest);
}

TEST_P(Copies, FullZoneTakesNone) {
  ASSERT_TRUE(CopyBlocks(0, 2, 0, 2).ok());
  ASSERT_TRUE(device->Finish(ZoneId(2)).ok());
  EXPECT_TRUE(FailsWith(CopyBlocks(0, 2, 2, 1), Code::kZoneFull));
  EXPECT_EQ(Condition(2), kFull);
  EXPECT_TRUE(HoldsCopy(2, 0, 0, 2));
}

TEST_P(Copies, ZoneIsCopiedFullAndNotBeyond) {
  const std::uint64_t capacity = CapacityBlocks(2);
  ASSERT_TRUE(WriteBlocks(2, 0, capacity - 2).ok());
  EXPECT_FALSE(CopyBlocks(0, 2, capacity - 2, 3).ok());
  EXPECT_EQ(WrittenBlocks(2), capacity - 2);
  ASSERT_TRUE(CopyBlocks(1, 2, capacity - 2, 2).ok());
  EXPECT_EQ(Condition(2), kFull);
  EXPECT_TRUE(HoldsCopy(2, capacity - 2, 1, 2));
}

TEST_P(Copies, SourceOverTheEndOfItsZoneIsRefused) {
  const std::uint64_t blocks = device->geometry().zone_size / block;
  EXPECT_TRUE(FailsWith(CopyBlocks(blocks - 1, 2, 0, 2), Code::kInvalidArgument));
  EXPECT_EQ(Condition(2), kEmpty);
}

TEST_P(Copies, WritesAndCopiesFollowEachOther) {
  ASSERT_TRUE(WriteBlocks(2, 0, 1, 1).ok());
  ASSERT_TRUE(CopyBlocks(2, 2, 1, 2).ok());
  ASSERT_TRUE(WriteBlocks(2, 3, 2, 3).ok());
  ASSERT_TRUE(CopyBlocks(0, 2, 5, 1).ok());
  ASSERT_TRUE(device->Flush().ok());
  EXPECT_EQ(WrittenBlocks(2), 6u);
  EXPECT_TRUE(Holds(2, 0, Pattern(block, 1)));
  EXPECT_TRUE(HoldsCopy(2, 1, 2, 2));
  EXPECT_TRUE(Holds(2, 3, Pattern(2 * block, 3)));
  EXPECT_TRUE(HoldsCopy(2, 5, 0, 1));
}

TEST_P(Copies, QueueWritesBehindACopy) {
  ASSERT_TRUE(CopyBlocks(0, 2, 0, 2).ok());
  const AlignedBuffer data = Filled(1, 8);
  IoRequest request{.kind = IoRequest::Kind::kWrite, .offset = At(2, 2), .write_from = data.View()};
  const auto queue = device->CreateQueue(1);
  queue->Submit(&request);
  std::vector<IoRequest*> done;
  queue->Reap(1, done);
  ASSERT_TRUE(request.status.ok()) << request.status.error().ToString();
  EXPECT_TRUE(Holds(2, 2, data));
}

TEST_P(Copies, AppendsAndCopiesFollowEachOther) {
  if (device->geometry().max_append_bytes == 0) GTEST_SKIP() << GetParam().name << " has no appends";
  ASSERT_TRUE(device->Append(ZoneId(2), Filled(1, 3).View()));
  ASSERT_TRUE(CopyBlocks(0, 2, 1, 2).ok());
  const auto place = device->Append(ZoneId(2), Filled(1, 4).View());
  ASSERT_TRUE(place);
  EXPECT_EQ(*place, At(2, 3));
  EXPECT_TRUE(HoldsCopy(2, 1, 0, 2));
}

TEST_P(Copies, ZoneIsResetAndWrittenAgain) {
  ASSERT_TRUE(CopyBlocks(0, 2, 0, 3).ok());
  ASSERT_TRUE(device->Reset(ZoneId(2)).ok());
  EXPECT_EQ(Condition(2), kEmpty);
  ASSERT_TRUE(WriteBlocks(2, 0, 2, 5).ok());
  EXPECT_TRUE(Holds(2, 0, Pattern(2 * block, 5)));
  ASSERT_TRUE(device->Finish(ZoneId(2)).ok());
  EXPECT_TRUE(Holds(2, 0, Pattern(2 * block, 5)));
}

TEST_P(Copies, ClosedZoneIsOpenedByACopy) {
  ASSERT_TRUE(CopyBlocks(0, 2, 0, 1).ok());
  ASSERT_TRUE(device->Close(ZoneId(2)).ok());
  ASSERT_TRUE(CopyBlocks(1, 2, 1, 1).ok());
  EXPECT_EQ(Condition(2), kImplicitlyOpen);
  EXPECT_TRUE(HoldsCopy(2, 0, 0, 2));
}

TEST_P(Copies, AreThereAgain) {
  if (!GetParam().persists) GTEST_SKIP() << GetParam().name << " does not outlive its object";
  ASSERT_TRUE(CopyBlocks(0, 2, 0, 2).ok());
  const std::uint64_t most = device->geometry().max_copy_bytes;
  Reopen();
  EXPECT_EQ(device->geometry().max_copy_bytes, most);
  EXPECT_EQ(WrittenBlocks(2), 2u);
  EXPECT_TRUE(HoldsCopy(2, 0, 0, 2));
  ASSERT_TRUE(WriteBlocks(2, 2, 1, 3).ok());
  ASSERT_TRUE(CopyBlocks(3, 2, 3, 1).ok());
  EXPECT_TRUE(Holds(2, 2, Pattern(block, 3)));
  EXPECT_TRUE(HoldsCopy(2, 3, 3, 1));
  Reopen(OpenMode::kReadOnly);
  EXPECT_TRUE(FailsWith(CopyBlocks(0, 2, 4, 1), Code::kReadOnly));
  EXPECT_TRUE(HoldsCopy(2, 0, 0, 2));
}

class CopyLimits : public Copies {
 protected:
  DeviceWish wish() const override { return {.limited = true, .copies = true}; }
};

TEST_P(CopyLimits, ActiveLimitIsBusyUntilAZoneIsFinished) {
  for (std::uint32_t zone = 2; zone < 5; ++zone) ASSERT_TRUE(CopyBlocks(0, zone, 0, 1).ok());
  EXPECT_TRUE(FailsWith(CopyBlocks(0, 5, 0, 1), Code::kBusy));
  EXPECT_EQ(Condition(5), kEmpty);
  ASSERT_TRUE(device->Finish(ZoneId(2)).ok());
  EXPECT_TRUE(CopyBlocks(0, 5, 0, 1).ok());
  EXPECT_TRUE(HoldsCopy(5, 0, 0, 1));
}

ZENFS_INSTANTIATE_CONFORMANCE(NoCopies);
ZENFS_INSTANTIATE_CONFORMANCE(Copies);
ZENFS_INSTANTIATE_CONFORMANCE(CopyLimits);

}  // namespace
}  // namespace zenfs
