// Tests what the emulator adds to the interface. tests/conformance tests the interface itself.
#include <gtest/gtest.h>

#include <atomic>

#include "backends/emulator/emulator.h"
#include "base/clock.h"
#include "base/thread.h"
#include "testing/device_data.h"

namespace zenfs::emulated_device_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint32_t kBlock = 4096;

EmulatorGeometry Small() { return {.zones = 4, .zone_size = 64 * kBlock, .zone_capacity = 48 * kBlock}; }

TEST(EmulatedDeviceTest, CommandTakesItsLatency) {
  const auto device = CreateMemoryDevice(Small(), {.write_us = 3000});
  const AlignedBuffer data = Pattern(kBlock, 1);
  const SteadyTime start = SteadyNow();
  ASSERT_TRUE(device->Write(DeviceOffset(0), data.View()).ok());
  EXPECT_GE(SteadyNow() - start, microseconds(3000));
}

TEST(EmulatedDeviceTest, LatenciesOfCommandsInFlightOverlap) {
  const auto device = CreateMemoryDevice(Small(), {.read_us = 50'000});
  ASSERT_TRUE(device->Write(DeviceOffset(0), Pattern(kBlock, 1).View()).ok());
  std::vector<AlignedBuffer> buffers;
  std::vector<IoRequest> requests(32);
  const auto queue = device->CreateQueue(requests.size());
  const SteadyTime start = SteadyNow();
  for (IoRequest& request : requests) {
    buffers.emplace_back(kBlock);
    request.read_into = buffers.back().Whole();
    queue->Submit(&request);
  }
  std::vector<IoRequest*> done;
  queue->Reap(0, done);
  EXPECT_TRUE(done.empty()) << "a poll does not wait";
  queue->Reap(requests.size(), done);
  const auto took = SteadyNow() - start;
  EXPECT_EQ(done.size(), requests.size());
  EXPECT_GE(took, milliseconds(50));
  EXPECT_LT(took, milliseconds(50) * 16) << "one after the other would be 32 times the latency";
}

TEST(EmulatedDeviceTest, CommandsCompleteInTheOrderInWhichTheyAreDue) {
  const auto device = CreateMemoryDevice(Small(), {.read_us = 40'000, .append_us = 1});
  const AlignedBuffer data = Pattern(kBlock, 1);
  ASSERT_TRUE(device->Write(DeviceOffset(0), data.View()).ok());
  AlignedBuffer buffer(kBlock);
  IoRequest slow{.kind = IoRequest::Kind::kRead, .read_into = buffer.Whole()};
  IoRequest fast{.kind = IoRequest::Kind::kAppend, .write_from = data.View()};
  const auto queue = device->CreateQueue(2);
  queue->Submit(&slow);
  queue->Submit(&fast);
  std::vector<IoRequest*> done;
  queue->Reap(1, done);
  queue->Reap(1, done);
  EXPECT_EQ(done, (std::vector<IoRequest*>{&fast, &slow}));
  EXPECT_EQ(queue->in_flight(), 0u);
}

TEST(EmulatedDeviceTest, MeterCountsOnlySuccessfulCommands) {
  const auto device = CreateMemoryDevice(Small());
  ASSERT_TRUE(device->Write(DeviceOffset(0), Pattern(2 * kBlock, 1).View()).ok());
  ASSERT_FALSE(device->Write(DeviceOffset(0), Pattern(kBlock, 1).View()).ok());
  ASSERT_TRUE(device->Append(ZoneId(1), Pattern(kBlock, 1).View()));
  ASSERT_TRUE(ReadBack(*device, DeviceOffset(0), kBlock));
  ASSERT_TRUE(device->Reset(ZoneId(0)).ok());
  ASSERT_TRUE(device->Flush().ok());
  const EmulatorMeter meter = device->meter();
  EXPECT_EQ(meter.of(EmulatorCommand::kWrite).commands, 1u);
  EXPECT_EQ(meter.of(EmulatorCommand::kWrite).bytes, 2 * kBlock);
  EXPECT_EQ(meter.of(EmulatorCommand::kAppend).bytes, kBlock);
  EXPECT_EQ(meter.of(EmulatorCommand::kRead).commands, 1u);
  EXPECT_EQ(meter.of(EmulatorCommand::kManagement).commands, 1u);
  EXPECT_EQ(meter.of(EmulatorCommand::kFlush).commands, 1u);
  EXPECT_GT(meter.cpu_ns, 0u);
}

TEST(EmulatedDeviceTest, FinishedZoneReadsAsZerosBehindItsDataEvenAfterAnOldLife) {
  const auto device = CreateMemoryDevice(Small());
  ASSERT_TRUE(device->Write(DeviceOffset(0), Pattern(48 * kBlock, 1).View()).ok());
  ASSERT_TRUE(device->Reset(ZoneId(0)).ok());
  ASSERT_TRUE(device->Write(DeviceOffset(0), Pattern(kBlock, 2).View()).ok());
  ASSERT_TRUE(device->Finish(ZoneId(0)).ok());
  const auto found = ReadBack(*device, DeviceOffset(0), 48 * kBlock);
  ASSERT_TRUE(found);
  EXPECT_TRUE(SameBytes(found->View(0, kBlock), Pattern(kBlock, 2).View()));
  EXPECT_TRUE(SameBytes(found->View(kBlock, 47 * kBlock), std::vector<std::byte>(47 * kBlock)));
}

TEST(EmulatedDeviceTest, ZonesFailAndEndOnDemand) {
  const auto device = CreateMemoryDevice(Small());
  const AlignedBuffer data = Pattern(kBlock, 1);
  for (const std::uint32_t zone : {0, 1, 2}) {
    ASSERT_TRUE(device->Write(device->geometry().ZoneStart(ZoneId(zone)), data.View()).ok());
  }
  ASSERT_TRUE(device->SetCondition(ZoneId(0), ZoneCondition::kReadOnly).ok());
  ASSERT_TRUE(device->SetCondition(ZoneId(1), ZoneCondition::kOffline).ok());
  ASSERT_TRUE(device->SetCondition(ZoneId(2), ZoneCondition::kFull).ok());
  EXPECT_TRUE(SameBytes(ReadBack(*device, DeviceOffset(0), kBlock)->View(), data.View()));
  EXPECT_EQ(device->Append(ZoneId(0), data.View()).error().code(), Code::kReadOnly);
  EXPECT_EQ(device->Reset(ZoneId(0)).error().code(), Code::kReadOnly);
  EXPECT_EQ(ReadBack(*device, device->geometry().ZoneStart(ZoneId(1)), kBlock).error().code(),
            Code::kNotFound);
  EXPECT_EQ(device->Append(ZoneId(1), data.View()).error().code(), Code::kNotFound);
  EXPECT_EQ(device->Append(ZoneId(2), data.View()).error().code(), Code::kZoneFull);
}

TEST(EmulatedDeviceTest, OptionTurnsTheVolatileCacheOff) {
  EXPECT_TRUE(CreateMemoryDevice(Small())->geometry().volatile_cache);
  EXPECT_FALSE(CreateMemoryDevice(Small(), {.volatile_cache = false})->geometry().volatile_cache);
}

TEST(EmulatedDeviceTest, ResetDuringAReadFreesNoMemoryInUse) {
  const auto device = CreateMemoryDevice(Small());
  ASSERT_TRUE(device->Write(DeviceOffset(0), Pattern(48 * kBlock, 1).View()).ok());
  std::atomic<bool> stop = false;
  Thread reader("reader", [&] {
    AlignedBuffer into(48 * kBlock);
    while (!stop) {
      const Status status = device->Read(DeviceOffset(0), into.Whole());
      if (!status.ok()) {
        EXPECT_EQ(status.error().code(), Code::kInvalidArgument);
      }
    }
  });
  for (int life = 0; life < 200; ++life) {
    ASSERT_TRUE(device->Reset(ZoneId(0)).ok());
    ASSERT_TRUE(device->Write(DeviceOffset(0), Pattern(48 * kBlock, 2).View()).ok());
  }
  stop = true;
}

}  // namespace
}  // namespace zenfs::emulated_device_test
