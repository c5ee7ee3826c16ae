// Tests how a block device handles the answers of a simulated kernel.
#include <fcntl.h>
#include <gmock/gmock.h>

#include <cerrno>
#include <filesystem>

#include "backends/block/block_command_test.h"

namespace zenfs {
namespace {

using enum ZoneCondition;
using testing::ElementsAre;
using testing::IsEmpty;

class BlockSettleTest : public BlockCommandTest, public testing::WithParamInterface<bool> {
 protected:
  // Writes through a queue or directly. Both have the same result.
  Status Write(DeviceOffset at, const AlignedBuffer& bytes) {
    if (!GetParam()) return device->Write(at, bytes.View());
    IoRequest request{.kind = IoRequest::Kind::kWrite, .offset = at, .write_from = bytes.View()};
    const auto queue = device->CreateQueue(1);
    queue->Submit(&request);
    std::vector<IoRequest*> done;
    queue->Reap(1, done);
    return request.status;
  }
};

TEST_P(BlockSettleTest, FailedWriteSucceedsIfItsBytesAreOnTheDevice) {
  OpenFailing();
  const AlignedBuffer data = Pattern(4 * kBlock, 1);
  Land(At(1, 2), data);
  kernel.zones[1] = Sequential(1, kImplicitlyOpen, 6);
  EXPECT_TRUE(Write(At(1, 2), data).ok());
  kernel.zones[1] = Sequential(1, kFull, 16);
  Land(At(1, 6), Pattern(6 * kBlock, 2));
  EXPECT_TRUE(Write(At(1, 6), Pattern(6 * kBlock, 2)).ok()) << "and filled the zone";
}

TEST_P(BlockSettleTest, FailedWriteWithOtherBytesInItsPlaceFails) {
  OpenFailing();
  AlignedBuffer data = Pattern(4 * kBlock, 1);
  Land(At(1, 2), data);
  data.data()[4 * kBlock - 1] ^= std::byte{1};
  kernel.zones[1] = Sequential(1, kImplicitlyOpen, 6);
  EXPECT_EQ(CodeOf(Write(At(1, 2), data)), Code::kIo);
}

TEST_P(BlockSettleTest, BytesOfAnEarlierWriteAreNotTakenForThoseOfALaterOne) {
  OpenFailing();
  const AlignedBuffer data = Pattern(2 * kBlock, 1);
  Land(At(1, 0), data);
  EXPECT_EQ(CodeOf(Write(At(1, 0), data)), Code::kInvalidArgument) << "not at the write pointer";
}

TEST_P(BlockSettleTest, FailedFirstWriteAfterAResetMayHaveLanded) {
  OpenFailing();
  ASSERT_TRUE(device->Reset(ZoneId(1)).ok());
  const AlignedBuffer data = Pattern(2 * kBlock, 1);
  Land(At(1, 0), data);
  EXPECT_TRUE(Write(At(1, 0), data).ok());
}

TEST_P(BlockSettleTest, FailedWriteWithoutAReportHasAnUnknownOutcome) {
  OpenFailing();
  kernel.report_error = ENODEV;
  const Status status = Write(At(1, 2), Pattern(kBlock, 1));
  ASSERT_EQ(CodeOf(status), Code::kUnknownOutcome);
  EXPECT_EQ(status.error().os_errno(), EBADF);
}

TEST_P(BlockSettleTest, WriteBeyondTheCapacityIsRefusedBeforeItIsSent) {
  Open(O_RDWR);
  EXPECT_TRUE(Write(At(1, 2), Pattern(10 * kBlock, 1)).ok());
  EXPECT_EQ(CodeOf(Write(At(3, 0), Pattern(kCapacity + kBlock, 1))), Code::kZoneFull);
  EXPECT_EQ(CodeOf(Write(At(1, 12), Pattern(kBlock, 1))), Code::kZoneFull);
  EXPECT_EQ(CodeOf(Write(At(1, 13), Pattern(kBlock, 1))), Code::kZoneFull);
  EXPECT_EQ(CodeOf(Write(At(4, 3), Pattern(2 * kBlock, 1))), Code::kZoneFull);
  EXPECT_EQ(std::filesystem::file_size(directory.File("disk")), At(1, 12).value);
}

TEST_P(BlockSettleTest, CapacityIsThatOfTheLatestReport) {
  Open(O_RDWR);
  kernel.zones[3].info.capacity = 3 * kBlock;  // changed by a reset
  ASSERT_TRUE(device->Reset(ZoneId(3)).ok());
  ASSERT_TRUE(device->Report(ZoneId(3), 1));
  EXPECT_EQ(CodeOf(Write(At(3, 0), Pattern(4 * kBlock, 1))), Code::kZoneFull);
  kernel.zones[3].info.capacity = 14 * kBlock;
  ASSERT_TRUE(device->Report(ZoneId(3), 1));
  EXPECT_TRUE(Write(At(3, 0), Pattern(14 * kBlock, 1)).ok());
}

INSTANTIATE_TEST_SUITE_P(By, BlockSettleTest, testing::Bool(),
                         [](const auto& queued) { return queued.param ? "Queue" : "Call"; });

TEST_F(BlockCommandTest, AWriteThatTheKernelRefusesForItsStalePointerIsRepeatedOnce) {
  kernel_pointers = true;
  Open(O_RDWR);
  refusals = 1;
  EXPECT_TRUE(device->Write(At(1, 2), Pattern(kBlock, 1).View()).ok());
  refusals = 2;
  EXPECT_EQ(CodeOf(device->Write(At(1, 2), Pattern(kBlock, 1).View())), Code::kIo);
  EXPECT_EQ(refusals, 0);
}

TEST_F(BlockCommandTest, AKernelWithoutPointersIsNotAskedTwice) {
  Open(O_RDWR);
  refusals = 1;
  EXPECT_EQ(CodeOf(device->Write(At(1, 2), Pattern(kBlock, 1).View())), Code::kIo);
}

TEST_F(BlockCommandTest, RandomWriteAreasAreOpenedAndCommittedByTheDrive) {
  random_areas = true;
  Open(O_RDWR);
  ASSERT_TRUE(device->OpenRandom(ZoneId(3)).ok());
  ASSERT_TRUE(device->CommitRandom(At(3, 2)).ok());
  EXPECT_THAT(kernel.commands, ElementsAre("open random 196608+0", "commit 204800+0"));
  EXPECT_EQ(CodeOf(device->CommitRandom(At(3, 3))), Code::kInvalidArgument) << "not by units";
  EXPECT_EQ(CodeOf(device->CommitRandom(At(1, 4))), Code::kInvalidArgument) << "has no area";
  EXPECT_EQ(CodeOf(device->OpenRandom(ZoneId(0))), Code::kInvalidArgument) << "conventional";
  EXPECT_EQ(kernel.commands.size(), 2u);
}

TEST_F(BlockCommandTest, RandomWriteAreasNeedCommandsOfTheDrive) {
  Open(O_RDWR);
  EXPECT_EQ(CodeOf(device->OpenRandom(ZoneId(3))), Code::kNotSupported);
  EXPECT_EQ(CodeOf(device->CommitRandom(At(3, 2))), Code::kNotSupported);
  EXPECT_THAT(kernel.commands, IsEmpty());
}

TEST_F(BlockCommandTest, RefusedRandomOpensHaveTheirReason) {
  random_areas = true;
  Open(O_RDWR);
  kernel.command_error = EBUSY;
  EXPECT_EQ(CodeOf(device->OpenRandom(ZoneId(3))), Code::kBusy);
  kernel.command_error = EIO;
  EXPECT_EQ(CodeOf(device->OpenRandom(ZoneId(3))), Code::kIo) << "the zone is empty";
  EXPECT_EQ(CodeOf(device->OpenRandom(ZoneId(1))), Code::kInvalidArgument) << "the zone is not empty";
}

TEST_P(BlockSettleTest, WritesIntoARandomWriteAreaGoAnywhere) {
  random_areas = true;
  Open(O_RDWR);
  ASSERT_TRUE(device->OpenRandom(ZoneId(3)).ok());
  for (const std::uint64_t block : {3, 1, 1}) EXPECT_TRUE(Write(At(3, block), Pattern(kBlock, block)).ok());
  EXPECT_TRUE(SameBytes(ReadBack(*device, At(3, 1), kBlock)->View(), Pattern(kBlock, 1).View()));
}

TEST_P(BlockSettleTest, ZoneThatTheKernelCannotWriteIsWrittenByCommandsUntilItsReset) {
  random_areas = commands = true;
  OpenFailing();
  ASSERT_TRUE(device->OpenRandom(ZoneId(3)).ok());
  EXPECT_TRUE(Write(At(3, 1), Pattern(kBlock, 1)).ok());
  EXPECT_FALSE(Write(At(1, 2), Pattern(kBlock, 1)).ok()) << "other zones are not";
  ASSERT_TRUE(device->Reset(ZoneId(3)).ok());
  EXPECT_FALSE(Write(At(3, 0), Pattern(2 * kBlock, 2)).ok());
}

TEST_P(BlockSettleTest, FailedWriteIntoARandomWriteAreaNeverSucceeds) {
  random_areas = true;
  kernel.zones[3].info.random_area = true;
  kernel.zones[3].info.condition = kClosed;
  OpenFailing();
  Land(At(3, 0), Pattern(kBlock, 1));
  EXPECT_FALSE(Write(At(3, 0), Pattern(kBlock, 1)).ok()) << "the block may be that of an earlier write";
  kernel.zones[3].info.write_pointer = At(3, 2);
  EXPECT_EQ(CodeOf(Write(At(3, 0), Pattern(kBlock, 1))), Code::kInvalidArgument) << "below the pointer";
  EXPECT_EQ(CodeOf(Write(At(3, 10), Pattern(kBlock, 1))), Code::kInvalidArgument) << "too far behind it";
  kernel.zones[3].info.condition = kFull;
  EXPECT_EQ(CodeOf(Write(At(3, 2), Pattern(kBlock, 1))), Code::kZoneFull);
  kernel.report_error = ENODEV;
  EXPECT_EQ(CodeOf(Write(At(3, 2), Pattern(kBlock, 1))), Code::kUnknownOutcome);
}

TEST_P(BlockSettleTest, ResetEndsTheRandomWriteArea) {
  random_areas = true;
  kernel.zones[3].info.random_area = true;
  kernel.zones[3].info.condition = kClosed;
  OpenFailing();
  ASSERT_TRUE(device->Reset(ZoneId(3)).ok());
  Land(At(3, 0), Pattern(kBlock, 1));
  kernel.zones[3] = Sequential(3, kImplicitlyOpen, 1);
  EXPECT_TRUE(Write(At(3, 0), Pattern(kBlock, 1)).ok()) << "settled as in other zones";
}

TEST_F(BlockCommandTest, LastZoneIsManagedAndReadToItsEnd) {
  Open(O_RDWR);
  ASSERT_TRUE(device->Reset(ZoneId(4)).ok());
  ASSERT_TRUE(device->Finish(ZoneId(1)).ok());
  EXPECT_THAT(kernel.commands, ElementsAre("reset 262144+16384", "finish 65536+65536"));
  Land(At(4, 0), Pattern(kRunt, 1));
  AlignedBuffer into = Pattern(kRunt + kBlock, 2);
  EXPECT_TRUE(device->Read(At(4, 0), into.Span().first(kRunt)).ok());
  EXPECT_EQ(CodeOf(device->Read(At(4, 0), into.Span())), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(device->Read(At(1, 15), into.Span())), Code::kInvalidArgument) << "into the next zone";
}

TEST_F(BlockCommandTest, ConventionalZonesAreNotManaged) {
  Open(O_RDWR);
  for (const std::uint32_t zone : {0u, 2u}) {
    EXPECT_EQ(CodeOf(device->Reset(ZoneId(zone))), Code::kInvalidArgument);
    EXPECT_EQ(CodeOf(device->Finish(ZoneId(zone))), Code::kInvalidArgument);
  }
  EXPECT_THAT(kernel.commands, IsEmpty());
}

TEST_F(BlockCommandTest, ReadOnlyDeviceRefusesAllChanges) {
  Open(O_RDWR, OpenMode::kReadOnly);
  EXPECT_EQ(CodeOf(device->Reset(ZoneId(1))), Code::kReadOnly);
  EXPECT_EQ(CodeOf(device->Write(At(1, 2), Pattern(kBlock, 1).View())), Code::kReadOnly);
  EXPECT_EQ(CodeOf(device->Flush()), Code::kReadOnly);
  EXPECT_THAT(kernel.commands, IsEmpty());
}

TEST_F(BlockCommandTest, FlushThatTheKernelRefusesFails) {
  std::filesystem::create_symlink("/dev/null", directory.File("disk"));  // does not support a flush
  Open(O_RDWR);
  EXPECT_FALSE(device->Flush().ok());
  std::filesystem::remove(directory.File("disk"));
  Open(O_RDWR);
  EXPECT_TRUE(device->Flush().ok());
}

TEST_F(BlockCommandTest, ErrorOfAFailedCommandReflectsTheZonesCondition) {
  Open(O_RDWR);
  kernel.command_error = ETOOMANYREFS;
  EXPECT_EQ(CodeOf(device->Open(ZoneId(1))), Code::kBusy);
  kernel.command_error = EIO;
  EXPECT_EQ(CodeOf(device->Finish(ZoneId(1))), Code::kIo);
  kernel.zones[1].info.condition = kReadOnly;
  EXPECT_EQ(CodeOf(device->Finish(ZoneId(1))), Code::kReadOnly);
  kernel.zones[1].info.condition = kOffline;
  EXPECT_EQ(CodeOf(device->Reset(ZoneId(1))), Code::kNotFound);
  kernel.report_error = ENODEV;
  EXPECT_EQ(CodeOf(device->Reset(ZoneId(1))), Code::kIo);
}

}  // namespace
}  // namespace zenfs
