// Devices with a timing profile, in real time. Asserts that no wait ends early. How late waits end
// depends on the host; tests/timing measures it.
#include <gtest/gtest.h>

#include <array>

#include "backends/emulator/emulated_clone.h"
#include "backends/emulator/emulator.h"
#include "base/clock.h"
#include "base/thread.h"
#include "testing/device_data.h"
#include "testing/temp_directory.h"

namespace zenfs::timed_device_test {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kMib = 1 << 20;
constexpr EmulatorGeometry kGeometry{.zones = 16, .zone_size = 32 * kMib};

std::unique_ptr<EmulatorDevice> Device(Timing timing) {
  return CreateMemoryDevice(kGeometry, {.timing = timing});
}

template <typename Command>
nanoseconds TimeOf(Command command) {
  const SteadyTime begin = SteadyNow();
  EXPECT_TRUE(command().ok());
  return SteadyNow() - begin;
}

TEST(TimedDeviceTest, NoCommandIsAcknowledgedEarly) {
  const auto device = Device(Timing::kZn540);
  const AlignedBuffer block = Pattern(kBlock, 1);
  AlignedBuffer into(kBlock);
  for (std::uint64_t i = 0; i < 50; ++i) {
    EXPECT_GE(TimeOf([&] { return device->Write(DeviceOffset(i * kBlock), block.View()); }),
              nanoseconds(9'900));
    EXPECT_GE(TimeOf([&] { return device->Append(ZoneId(1), block.View()); }), nanoseconds(13'500));
    EXPECT_GE(TimeOf([&] { return device->Read(DeviceOffset(i * kBlock), into.Whole()); }),
              nanoseconds(64'100));
  }
  EXPECT_GE(TimeOf([&] { return device->Open(ZoneId(2)); }), nanoseconds(9'400));
  EXPECT_GE(TimeOf([&] { return device->Close(ZoneId(1)); }), nanoseconds(10'700));
  EXPECT_GE(TimeOf([&] { return device->Finish(ZoneId(3)); }), microseconds(14));
  EXPECT_GE(TimeOf([&] { return device->Finish(ZoneId(0)); }), microseconds(6'300 + 26'500))
      << "32 MiB to pad";
  EXPECT_GE(TimeOf([&] { return device->Finish(ZoneId(0)); }), microseconds(14));
  EXPECT_GE(TimeOf([&] { return device->Reset(ZoneId(3)); }), microseconds(1'600));
  EXPECT_GE(TimeOf([&] { return device->Reset(ZoneId(0)); }), microseconds(3'300)) << "it was padded";
}

TEST(TimedDeviceTest, QueueReturnsNoRequestBeforeItsTime) {
  const auto device = Device(Timing::kBufferless);
  const AlignedBuffer data = Pattern(8192, 1);
  const auto queue = device->CreateQueue(32);
  std::array<IoRequest, 32> requests;
  const SteadyTime begin = SteadyNow();
  for (IoRequest& request : requests) {
    request = {.kind = IoRequest::Kind::kAppend, .offset = DeviceOffset(0), .write_from = data.View()};
    queue->Submit(&request);
  }
  std::vector<IoRequest*> done;
  queue->Reap(1, done);
  EXPECT_GE(SteadyNow() - begin, microseconds(475));
  queue->Reap(requests.size(), done);
  EXPECT_GE(SteadyNow() - begin, microseconds(25 + 2 * 450)) << "each of the 16 units has two pages";
  ASSERT_EQ(done.size(), requests.size());
  for (const IoRequest& request : requests) EXPECT_TRUE(request.status.ok());
}

TEST(TimedDeviceTest, ThreadsShareOneDrive) {
  const auto device = Device(Timing::kZn540);
  const AlignedBuffer data = Pattern(256 << 10, 1);
  const SteadyTime begin = SteadyNow();
  {
    std::vector<Thread> threads;
    for (std::uint32_t zone = 0; zone < 4; ++zone) {
      threads.emplace_back("writer", [&, zone] {
        const DeviceOffset start = device->geometry().ZoneStart(ZoneId(zone));
        for (std::uint64_t at = 0; at < 16 * kMib; at += data.size()) {
          EXPECT_TRUE(device->Write(start + at, data.View()).ok());
        }
      });
    }
  }
  // The size of the buffer, and the bytes written between two looks at it.
  EXPECT_GE(std::chrono::duration<double>(SteadyNow() - begin).count(), (64.0 - 4 - 2.5) / 1147);
}

TEST(TimedDeviceTest, RefusedCommandsTakeNoDriveTime) {
  const auto device = Device(Timing::kBufferless);
  const AlignedBuffer data = Pattern(kMib, 1);
  nanoseconds best = nanoseconds::max();
  for (int i = 0; i < 20; ++i) {
    const SteadyTime begin = SteadyNow();
    EXPECT_FALSE(device->Write(DeviceOffset(kBlock), data.View()).ok()) << "not at the write pointer";
    best = std::min(best, SteadyNow() - begin);
  }
  EXPECT_LT(best, microseconds(475));
}

TEST(TimedDeviceTest, FileAsksForItsTimingUnlessAnotherIsChosen) {
  const TempDirectory directory;
  const std::string path = directory.File("a.img");
  ASSERT_TRUE(CreateEmulatedFile(path, kGeometry, false, Timing::kBufferless).ok());
  EXPECT_EQ(ReadEmulatedFileInfo(path)->timing, Timing::kBufferless);
  const AlignedBuffer block = Pattern(kBlock, 1);
  {
    const auto device = OpenEmulatedFile(path, OpenMode::kExclusive);
    ASSERT_TRUE(device);
    EXPECT_GE(TimeOf([&] { return (*device)->Append(ZoneId(0), block.View()); }), microseconds(475));
  }
  const auto device = OpenEmulatedFile(path, OpenMode::kExclusive, {.timing = Timing::kNone});
  ASSERT_TRUE(device);
  nanoseconds best = nanoseconds::max();
  for (int i = 0; i < 20; ++i) {
    best = std::min(best, TimeOf([&] { return (*device)->Append(ZoneId(0), block.View()); }));
  }
  EXPECT_LT(best, microseconds(475));
}

TEST(TimedDeviceTest, CloneAsksForTheSameTiming) {
  const TempDirectory directory;
  ASSERT_TRUE(CreateEmulatedFile(directory.File("a.img"), kGeometry, false, Timing::kZn540).ok());
  {
    const auto clone = EmulatedClone::Begin(directory.File("a.img"), directory.File("b.img"), false, {});
    ASSERT_TRUE(clone) << clone.error().text();
    ASSERT_TRUE((*clone)->Finish().ok());
  }
  EXPECT_EQ(ReadEmulatedFileInfo(directory.File("b.img"))->timing, Timing::kZn540);
}

}  // namespace
}  // namespace zenfs::timed_device_test
