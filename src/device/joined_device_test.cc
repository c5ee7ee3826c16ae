#include "device/joined_device.h"

#include <gtest/gtest.h>

#include "backends/emulator/emulator.h"
#include "base/aligned_buffer.h"
#include "device/guarded_device.h"
#include "testing/borrowed_device.h"
#include "testing/faulty_device.h"

namespace zenfs::joined_device_test {
namespace {

constexpr std::uint32_t kBlock = 4096;
constexpr EmulatorGeometry kMain = {.zones = 10, .zone_size = 1 << 20, .max_open = 5, .max_active = 6};
constexpr EmulatorGeometry kLogs = {.zones = 8,
                                    .zone_size = 64 * kBlock,
                                    .zone_capacity = 48 * kBlock,
                                    .max_open = 4,
                                    .max_active = 4,
                                    .random_area = 8 * kBlock,
                                    .random_unit = 2 * kBlock,
                                    .random_zones = 2};
constexpr ZoneId kFirstLogZone(2);  // of the second device: zone 10 of the joined one
constexpr ZoneId kLogZone(11);      // zone 3 of the second device

class JoinedDeviceTest : public testing::Test {
 protected:
  JoinedDeviceTest() {
    auto joined = JoinDevices(Borrow(main_), Borrow(logs_), kFirstLogZone);
    EXPECT_TRUE(joined.ok());
    device_ = *std::move(joined);
    block_ = AlignedBuffer(kBlock);
    block_.Append(AsBytes(std::string(kBlock, 'x')));
  }

  DeviceOffset LogStart() const { return device_->geometry().ZoneStart(kLogZone); }

  FaultyDevice main_{CreateMemoryDevice(kMain)};
  FaultyDevice logs_{CreateMemoryDevice(kLogs)};
  std::unique_ptr<ZonedDevice> device_;
  AlignedBuffer block_;
};

TEST_F(JoinedDeviceTest, HasTheZonesOfBothWithoutTheHiddenOnes) {
  const Geometry& g = device_->geometry();
  EXPECT_EQ(g.zone_count, 16U);
  EXPECT_EQ(g.log_zones, 6U);
  EXPECT_EQ(g.zone_size, 1U << 20);
  EXPECT_EQ(g.max_active, 6U);
  EXPECT_EQ(g.log_max_active, 2U) << "without those of the hidden zones";
  EXPECT_EQ(g.random_area_bytes, 8 * kBlock);
  EXPECT_FALSE(g.OnLogDevice(ZoneId(9)));
  EXPECT_TRUE(g.OnLogDevice(ZoneId(10)));
}

TEST_F(JoinedDeviceTest, ReportsZonesInTheirPlaces) {
  ASSERT_TRUE(device_->Write(LogStart(), block_.View()).ok());
  const auto zones = device_->Report(ZoneId(8), 5);
  ASSERT_TRUE(zones.ok());
  ASSERT_EQ(zones->size(), 5U);
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ((*zones)[i].id, ZoneId(8 + i));
    EXPECT_EQ((*zones)[i].start, device_->geometry().ZoneStart(ZoneId(8 + i)));
    EXPECT_EQ((*zones)[i].capacity, i < 2 ? 1U << 20 : 48 * kBlock);
    EXPECT_EQ((*zones)[i].WrittenBytes(), ZoneId(8 + i) == kLogZone ? kBlock : 0U);
  }
}

TEST_F(JoinedDeviceTest, CommandsReachTheDeviceOfTheirZone) {
  ASSERT_TRUE(device_->Write(LogStart(), block_.View()).ok());
  const auto appended = device_->Append(kLogZone, block_.View());
  ASSERT_TRUE(appended.ok());
  EXPECT_EQ(*appended, LogStart() + kBlock);
  EXPECT_EQ(logs_.ReportZone(ZoneId(3))->WrittenBytes(), 2 * kBlock);
  AlignedBuffer into(kBlock);
  into.Resize(kBlock);
  ASSERT_TRUE(device_->Read(LogStart() + kBlock, into.Span()).ok());
  EXPECT_TRUE(std::ranges::equal(into.View(), block_.View()));
  ASSERT_TRUE(device_->Finish(kLogZone).ok());
  EXPECT_EQ(logs_.ReportZone(ZoneId(3))->condition, ZoneCondition::kFull);
  ASSERT_TRUE(device_->Reset(kLogZone).ok());
  EXPECT_EQ(logs_.ReportZone(ZoneId(3))->WrittenBytes(), 0U);
  EXPECT_EQ(main_.ReportZone(ZoneId(3))->WrittenBytes(), 0U);
}

TEST_F(JoinedDeviceTest, RandomAreaIsThatOfTheLogDevice) {
  ASSERT_TRUE(device_->OpenRandom(kLogZone).ok());
  ASSERT_TRUE(device_->Write(LogStart() + kBlock, block_.View()).ok());
  ASSERT_TRUE(device_->CommitRandom(LogStart() + 2 * kBlock).ok());
  EXPECT_EQ(logs_.ReportZone(ZoneId(3))->WrittenBytes(), 2 * kBlock);
}

TEST_F(JoinedDeviceTest, RequestsBehindTheEndOfAShorterZoneAreRefused) {
  AlignedBuffer into(2 * kBlock);
  into.Resize(2 * kBlock);
  const DeviceOffset last = LogStart() + 63 * kBlock;
  EXPECT_EQ(device_->Read(last, into.Span()).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(device_->Write(LogStart() + 64 * kBlock, block_.View()).error().code(), Code::kInvalidArgument);
  const auto queue = device_->CreateQueue(1);
  IoRequest request{.offset = last, .read_into = into.Span()};
  queue->Submit(&request);
  std::vector<IoRequest*> done;
  queue->Reap(1, done);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(request.status.error().code(), Code::kInvalidArgument);
}

TEST_F(JoinedDeviceTest, QueueTakesRequestsForBothDevices) {
  ASSERT_TRUE(device_->Write(DeviceOffset(0), block_.View()).ok());
  const auto queue = device_->CreateQueue(4);
  AlignedBuffer into(kBlock);
  into.Resize(kBlock);
  IoRequest read{.kind = IoRequest::Kind::kRead, .offset = DeviceOffset(0), .read_into = into.Span()};
  IoRequest append{.kind = IoRequest::Kind::kAppend, .offset = LogStart(), .write_from = block_.View()};
  queue->Submit(&read);
  queue->Submit(&append);
  EXPECT_EQ(queue->in_flight(), 2U);
  std::vector<IoRequest*> done;
  queue->Reap(2, done);
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(queue->in_flight(), 0U);
  EXPECT_TRUE(read.status.ok());
  EXPECT_EQ(append.offset, LogStart());
  EXPECT_EQ(append.placed_at, LogStart());
  EXPECT_TRUE(std::ranges::equal(into.View(), block_.View()));
}

TEST_F(JoinedDeviceTest, FlushForAZoneReachesOnlyItsDevice) {
  const auto guarded = GuardDevice(*device_);
  const auto flushes = [](FaultyDevice& device) { return device.count(FaultyDevice::Command::kFlush); };
  ASSERT_TRUE(guarded->FlushDeviceOf(kLogZone).ok());
  EXPECT_EQ(flushes(main_), 0U);
  EXPECT_EQ(flushes(logs_), 1U);
  ASSERT_TRUE(guarded->FlushDeviceOf(ZoneId(9)).ok());
  EXPECT_EQ(flushes(main_), 1U);
  ASSERT_TRUE(guarded->Flush().ok());
  EXPECT_EQ(flushes(main_), 2U);
  EXPECT_EQ(flushes(logs_), 2U);
}

TEST_F(JoinedDeviceTest, FailedFlushOfEitherDeviceFailsTheFlushOfBoth) {
  const auto guarded = GuardDevice(*device_);
  for (FaultyDevice* const broken : {&main_, &logs_}) {
    const std::uint64_t before = guarded->errors().failed_flushes;
    broken->Inject({.command = FaultyDevice::Command::kFlush, .times = 1, .code = Code::kIo});
    EXPECT_FALSE(guarded->Flush().ok());
    EXPECT_EQ(guarded->errors().failed_flushes, before + 1);
  }
}

TEST_F(JoinedDeviceTest, UnfitLogDevicesAreRefusedWithTheReason) {
  const auto refused = [&](const EmulatorGeometry& logs, ZoneId first) {
    auto joined = JoinDevices(Borrow(main_), CreateMemoryDevice(logs), first);
    return joined.ok() ? std::string() : joined.error().text();
  };
  EXPECT_NE(refused(kLogs, ZoneId(5)).find("3 zones from zone 5 on; a device for logs needs 4"),
            std::string::npos);
  EmulatorGeometry few = kLogs;
  few.max_active = 3;
  few.max_open = 3;
  EXPECT_NE(refused(few, kFirstLogZone).find("needs 4 of each"), std::string::npos);
  const EmulatorGeometry odd = {
      .zones = 8, .zone_size = 64 * kBlock, .zone_capacity = 48 * kBlock + 512, .block_size = 512};
  EXPECT_NE(refused(odd, kFirstLogZone).find("the same LBA format"), std::string::npos);
}

}  // namespace
}  // namespace zenfs::joined_device_test
