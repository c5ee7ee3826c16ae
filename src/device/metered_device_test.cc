#include "device/metered_device.h"

#include <gtest/gtest.h>

#include <array>

#include "backends/emulator/emulator.h"
#include "base/aligned_buffer.h"
#include "base/thread.h"
#include "metrics/metrics_snapshot.h"
#include "testing/faulty_device.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kBlock = 4096;

class MeteredDeviceTest : public testing::Test {
 protected:
  MeteredDeviceTest() {
    auto faulty = std::make_unique<FaultyDevice>(CreateMemoryDevice(
        {.zones = 8, .zone_size = 1 << 20, .zone_capacity = 1 << 20, .max_open = 4, .max_active = 4}));
    faulty_ = faulty.get();
    device_ = MeterDevice(std::move(faulty), metrics_);
    buffer_.Append(std::vector<std::byte>(4 * kBlock, std::byte{7}));
  }

  OperationFigures Figures(Operation operation) { return (*DecodeMetrics(metrics_.page()))[operation]; }
  void Expect(Operation operation, std::uint64_t count, std::uint64_t errors, std::uint64_t bytes) {
    const OperationFigures figures = Figures(operation);
    EXPECT_EQ(figures.count, count) << InfoOf(operation).name;
    EXPECT_EQ(figures.errors, errors) << InfoOf(operation).name;
    EXPECT_EQ(figures.bytes, bytes) << InfoOf(operation).name;
    EXPECT_EQ(figures.latency.count, count) << InfoOf(operation).name;
  }
  DeviceOffset Start(std::uint32_t zone) { return device_->geometry().ZoneStart(ZoneId(zone)); }

  Metrics metrics_;
  AlignedBuffer buffer_{4 * kBlock};
  AlignedBuffer into_{4 * kBlock};
  FaultyDevice* faulty_ = nullptr;
  std::unique_ptr<ZonedDevice> device_;
};

TEST_F(MeteredDeviceTest, EveryKindOfCommandIsCounted) {
  const std::array<ByteView, 2> pieces = {buffer_.View().first(kBlock), buffer_.View().first(2 * kBlock)};
  ASSERT_TRUE(device_->Write(Start(1), pieces).ok());
  ASSERT_TRUE(device_->Append(ZoneId(2), buffer_.View().first(kBlock)));
  into_.Append(buffer_.View());
  ASSERT_TRUE(device_->Read(Start(1), into_.Span().first(3 * kBlock)).ok());
  ASSERT_TRUE(device_->Flush().ok());
  ASSERT_TRUE(device_->Finish(ZoneId(1)).ok());
  ASSERT_TRUE(device_->Reset(ZoneId(1)).ok());
  ASSERT_TRUE(device_->Reset(ZoneId(2)).ok());
  Expect(Operation::kZoneWrite, 1, 0, 3 * kBlock);
  Expect(Operation::kZoneAppend, 1, 0, kBlock);
  Expect(Operation::kDeviceRead, 1, 0, 3 * kBlock);
  Expect(Operation::kDeviceFlush, 1, 0, 0);
  Expect(Operation::kZoneFinish, 1, 0, 0);
  Expect(Operation::kZoneReset, 2, 0, 0);
  EXPECT_EQ((*DecodeMetrics(metrics_.page()))[Value::kFinishedBytes], (1u << 20) - 3 * kBlock);
}

TEST_F(MeteredDeviceTest, AFailedCommandIsAnErrorWithoutBytes) {
  faulty_->Inject({.command = FaultyDevice::Command::kWrite});
  faulty_->Inject({.command = FaultyDevice::Command::kReset});
  EXPECT_FALSE(device_->Write(Start(1), buffer_.View()).ok());
  EXPECT_FALSE(device_->Reset(ZoneId(1)).ok());
  Expect(Operation::kZoneWrite, 1, 1, 0);
  Expect(Operation::kZoneReset, 1, 1, 0);
}

TEST_F(MeteredDeviceTest, QueuedCommandsAreCountedWithTheirLatency) {
  const auto queue = device_->CreateQueue(4);
  std::array<IoRequest, 3> requests;
  requests[0] = {.kind = IoRequest::Kind::kWrite, .offset = Start(3), .write_from = buffer_.View()};
  requests[1] = {
      .kind = IoRequest::Kind::kAppend, .offset = Start(4), .write_from = buffer_.View().first(kBlock)};
  for (std::size_t i = 0; i < 2; ++i) queue->Submit(&requests[i]);
  std::vector<IoRequest*> done;
  queue->Reap(2, done);
  ASSERT_EQ(done.size(), 2u);
  into_.Append(buffer_.View());
  requests[2] = {.kind = IoRequest::Kind::kRead, .offset = Start(3), .read_into = into_.Span()};
  faulty_->Inject({.command = FaultyDevice::Command::kRead, .kth = 2});
  queue->Submit(&requests[2]);
  queue->Reap(1, done);
  queue->Submit(&requests[2]);
  queue->Reap(1, done);
  ASSERT_EQ(done.size(), 4u);
  EXPECT_FALSE(requests[2].status.ok());
  EXPECT_EQ(queue->in_flight(), 0u);
  Expect(Operation::kZoneWrite, 1, 0, 4 * kBlock);
  Expect(Operation::kZoneAppend, 1, 0, kBlock);
  Expect(Operation::kDeviceRead, 2, 1, 4 * kBlock);
}

TEST_F(MeteredDeviceTest, ACommandIsTimedUntilItIsDone) {
  faulty_->Hold(FaultyDevice::Command::kFlush);
  std::chrono::nanoseconds held{0};
  {
    Thread flusher("flush", [this] { EXPECT_TRUE(device_->Flush().ok()); });
    ASSERT_TRUE(faulty_->WaitUntilHeld(1, Deadline::After(std::chrono::seconds(30))));
    const SteadyTime begin = SteadyNow();
    EXPECT_EQ(Figures(Operation::kDeviceFlush).latency.count, 0u);
    held = SteadyNow() - begin;
    faulty_->Release();
  }
  const LatencyHistogram latency = Figures(Operation::kDeviceFlush).latency;
  EXPECT_EQ(latency.count, 1u);
  EXPECT_GE(latency.max, static_cast<std::uint64_t>(held.count()));
}

}  // namespace
}  // namespace zenfs
