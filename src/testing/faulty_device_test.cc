#include "testing/faulty_device.h"

#include <gtest/gtest.h>

#include "backends/emulator/emulator.h"
#include "base/thread.h"
#include "testing/borrowed_device.h"
#include "testing/device_data.h"

namespace zenfs::faulty_device_test {
namespace {

using Command = FaultyDevice::Command;

constexpr std::uint32_t kBlock = 4096;

class FaultyDeviceTest : public testing::Test {
 protected:
  Status WriteNext(std::uint32_t zone) {
    const AlignedBuffer data = Pattern(kBlock, 1);
    return device.Write(ReportOf(*memory, ZoneId(zone)).write_pointer, data.View());
  }

  std::unique_ptr<ZonedDevice> memory = CreateMemoryDevice({.zones = 4, .zone_size = 16 * kBlock});
  FaultyDevice device{Borrow(*memory)};
};

TEST_F(FaultyDeviceTest, WithoutFaultsEverythingPassesAndIsCounted) {
  ASSERT_TRUE(WriteNext(0).ok());
  ASSERT_TRUE(device.Append(ZoneId(0), Pattern(kBlock, 2).View()));
  ASSERT_TRUE(device.Flush().ok());
  EXPECT_TRUE(SameBytes(ReadBack(device, DeviceOffset(kBlock), kBlock)->View(), Pattern(kBlock, 2).View()));
  EXPECT_EQ(device.count(Command::kWrite), 1u);
  EXPECT_EQ(device.count(Command::kAppend), 1u);
  EXPECT_EQ(device.count(Command::kFlush), 1u);
  EXPECT_EQ(device.count(Command::kRead), 1u);
}

TEST_F(FaultyDeviceTest, TheKthCommandFailsAndIsNotCarriedOut) {
  device.Inject({.command = Command::kWrite, .kth = 2, .code = Code::kZoneFull});
  ASSERT_TRUE(WriteNext(0).ok());
  const Status status = WriteNext(0);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kZoneFull);
  EXPECT_EQ(ReportOf(*memory, ZoneId(0)).WrittenBytes(), kBlock);
  EXPECT_TRUE(WriteNext(0).ok());
}

TEST_F(FaultyDeviceTest, CommandsOfRandomWriteAreasFailAndAreCounted) {
  const auto random = CreateMemoryDevice({.zones = 4,
                                          .zone_size = 16 * kBlock,
                                          .random_area = 4 * kBlock,
                                          .random_unit = kBlock,
                                          .random_zones = 2});
  FaultyDevice faulty(Borrow(*random));
  faulty.Inject({.command = Command::kOpenRandom, .zone = ZoneId(1)});
  EXPECT_FALSE(faulty.OpenRandom(ZoneId(1)).ok());
  EXPECT_FALSE(ReportOf(*random, ZoneId(1)).random_area);
  ASSERT_TRUE(faulty.OpenRandom(ZoneId(1)).ok());
  faulty.Inject({.command = Command::kCommitRandom, .zone = ZoneId(1), .when = FaultyDevice::When::kAfter});
  EXPECT_FALSE(faulty.CommitRandom(DeviceOffset(17 * kBlock)).ok());
  EXPECT_EQ(ReportOf(*random, ZoneId(1)).WrittenBytes(), kBlock);
  EXPECT_EQ(faulty.count(Command::kOpenRandom), 2u);
  EXPECT_EQ(faulty.count(Command::kCommitRandom), 1u);
}

TEST_F(FaultyDeviceTest, FaultAfterTheCommandExecutesItAndReportsFailure) {
  device.Inject(
      {.command = Command::kWrite, .code = Code::kUnknownOutcome, .when = FaultyDevice::When::kAfter});
  EXPECT_EQ(WriteNext(0).error().code(), Code::kUnknownOutcome);
  EXPECT_EQ(ReportOf(*memory, ZoneId(0)).WrittenBytes(), kBlock);
}

TEST_F(FaultyDeviceTest, FaultOfAZoneAffectsOnlyThatZone) {
  device.Inject({.command = Command::kWrite, .times = 100, .zone = ZoneId(1)});
  EXPECT_TRUE(WriteNext(0).ok());
  EXPECT_FALSE(WriteNext(1).ok());
  EXPECT_FALSE(WriteNext(1).ok());
  device.ClearFaults();
  EXPECT_TRUE(WriteNext(1).ok());
}

TEST_F(FaultyDeviceTest, QueuedCommandsMeetTheSameFaults) {
  device.Inject({.command = Command::kAppend, .kth = 2});
  const AlignedBuffer data = Pattern(kBlock, 1);
  const auto queue = device.CreateQueue(2);
  IoRequest first{.kind = IoRequest::Kind::kAppend, .write_from = data.View()}, second = first;
  queue->Submit(&first);
  queue->Submit(&second);
  std::vector<IoRequest*> done;
  queue->Reap(2, done);
  EXPECT_EQ(done.size(), 2u);
  EXPECT_TRUE(first.status.ok());
  EXPECT_FALSE(second.status.ok());
}

TEST_F(FaultyDeviceTest, GateHoldsCommandsUntilReleased) {
  device.Hold(Command::kWrite, ZoneId(1));
  ASSERT_TRUE(WriteNext(0).ok()) << "another zone passes";
  Status status = Fail(Code::kShutdown, "not yet");
  Thread writer("writer", [&] {
    const AlignedBuffer data = Pattern(kBlock, 1);
    status = device.Write(DeviceOffset(16 * kBlock), data.View());
  });
  ASSERT_TRUE(device.WaitUntilHeld(1, Deadline::After(std::chrono::seconds(30))));
  EXPECT_EQ(ReportOf(*memory, ZoneId(1)).condition, ZoneCondition::kEmpty);
  device.Release();
  writer.Join();
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(ReportOf(*memory, ZoneId(1)).WrittenBytes(), kBlock);
}

TEST_F(FaultyDeviceTest, FaultOfARangeAffectsOnlyCommandsThatTouchIt) {
  ASSERT_TRUE(WriteNext(0).ok());
  ASSERT_TRUE(WriteNext(0).ok());
  device.Inject({.command = Command::kRead,
                 .times = FaultyDevice::kForEver,
                 .bytes = FaultyDevice::Bytes{DeviceOffset(kBlock), DeviceOffset(kBlock + 1)}});
  AlignedBuffer into(2 * kBlock);
  into.Resize(2 * kBlock);
  EXPECT_TRUE(device.Read(DeviceOffset(0), into.Span().first(kBlock)).ok());
  EXPECT_FALSE(device.Read(DeviceOffset(kBlock), into.Span().first(kBlock)).ok());
  EXPECT_FALSE(device.Read(DeviceOffset(0), into.Span()).ok());
}

TEST_F(FaultyDeviceTest, ChanceIsTheSameForTheSameSeed) {
  const auto failures = [&](std::uint64_t seed) {
    device.ClearFaults();
    device.Inject({.command = Command::kFlush, .times = FaultyDevice::kForEver, .one_in = 3, .seed = seed});
    std::string all;
    for (int i = 0; i < 60; ++i) all += device.Flush().ok() ? '.' : 'x';
    return all;
  };
  const std::string first = failures(7);
  EXPECT_EQ(failures(7), first);
  EXPECT_NE(failures(8), first);
  EXPECT_GT(std::ranges::count(first, 'x'), 5);
  EXPECT_GT(std::ranges::count(first, '.'), 20);
}

TEST_F(FaultyDeviceTest, PartlyFailedWriteWritesItsFirstBlock) {
  device.Inject({.command = Command::kWrite, .when = FaultyDevice::When::kPartly});
  const AlignedBuffer data = Pattern(3 * kBlock, 1);
  EXPECT_FALSE(device.Write(DeviceOffset(0), data.View()).ok());
  EXPECT_EQ(ReportOf(*memory, ZoneId(0)).WrittenBytes(), kBlock);
}

TEST_F(FaultyDeviceTest, EveryCommandOfAnUnpluggedDeviceFails) {
  device.Unplug();
  EXPECT_FALSE(WriteNext(0).ok());
  EXPECT_FALSE(device.Flush().ok());
  EXPECT_EQ(device.Report(ZoneId(0), 1).error().os_errno(), ENODEV);
}

}  // namespace
}  // namespace zenfs::faulty_device_test
