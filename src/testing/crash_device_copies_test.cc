// A crash device whose bytes rot, and copies of two joined ones.
#include <gtest/gtest.h>

#include "testing/crash_device.h"
#include "testing/device_data.h"
#include "testing/split_device.h"

namespace zenfs::crash_device_copies_test {

constexpr std::uint32_t kBlock = 4096;

EmulatorGeometry Small() {
  return {.zones = 4, .zone_size = 8 * kBlock, .zone_capacity = 6 * kBlock, .max_open = 2, .max_active = 2};
}

Status WriteBlocks(CrashDevice& device, std::uint32_t zone, std::uint64_t block, std::uint64_t count) {
  return device.Write(device.geometry().ZoneStart(ZoneId(zone)) + block * kBlock,
                      Pattern(count * kBlock, 1).View());
}

std::uint64_t Written(CrashDevice& device, std::uint32_t zone) {
  return ReportOf(device, ZoneId(zone)).WrittenBytes() / kBlock;
}

TEST(CrashDeviceCopiesTest, ARottenByteStaysInEveryImageUntilItsBlockIsWrittenAgain) {
  CrashDevice device(Small());
  ASSERT_TRUE(WriteBlocks(device, 0, 0, 2).ok());
  EXPECT_FALSE(device.Rot(DeviceOffset(5), std::byte{4})) << "it was not flushed";
  EXPECT_FALSE(device.Rot(DeviceOffset(3 * kBlock), std::byte{4})) << "it was not written";
  ASSERT_TRUE(device.Flush().ok());
  const AlignedBuffer before = *ReadBack(device, DeviceOffset(0), kBlock);
  ASSERT_TRUE(device.Rot(DeviceOffset(5), std::byte{4}));
  const auto found = device.Image(LossPolicy::LoseAll());
  for (CrashDevice* each : {&device, found.get()}) {
    const AlignedBuffer after = *ReadBack(*each, DeviceOffset(0), kBlock);
    EXPECT_EQ(after.View()[5], before.View()[5] ^ std::byte{4});
    EXPECT_TRUE(SameBytes(after.View().subspan(6), before.View().subspan(6)));
  }
  ASSERT_TRUE(device.Reset(ZoneId(0)).ok());
  ASSERT_TRUE(WriteBlocks(device, 0, 0, 1).ok());
  EXPECT_TRUE(SameBytes(ReadBack(device, DeviceOffset(0), kBlock)->View(), before.View()));
}

TEST(CrashDeviceCopiesTest, DevicesOfDifferentTimesAreJoined) {
  EmulatorGeometry geometry = Small();
  geometry.last_zones = 2;
  geometry.last_capacity = 3 * kBlock;
  CrashDevice device(geometry);
  device.SplitLogs(2, 1);
  EXPECT_EQ(ReportOf(device, ZoneId(1)).capacity, 6 * kBlock);
  EXPECT_EQ(ReportOf(device, ZoneId(2)).capacity, 3 * kBlock);
  ASSERT_TRUE(WriteBlocks(device, 0, 0, 1).ok());
  ASSERT_TRUE(WriteBlocks(device, 3, 0, 1).ok());
  const auto earlier = device.Image(LossPolicy::KeepAll());
  ASSERT_TRUE(WriteBlocks(device, 0, 1, 1).ok());
  ASSERT_TRUE(WriteBlocks(device, 3, 1, 2).ok());
  const auto stale_logs = device.ImageWithLogsOf(*earlier);
  EXPECT_EQ(Written(*stale_logs, 0), 2u);
  EXPECT_EQ(Written(*stale_logs, 3), 1u);
  const auto stale_main = earlier->ImageWithLogsOf(device);
  EXPECT_EQ(Written(*stale_main, 0), 1u);
  EXPECT_EQ(Written(*stale_main, 3), 3u);
}

TEST(CrashDeviceCopiesTest, APartOfASplitDeviceShowsItsOwnZones) {
  EmulatorGeometry geometry = Small();
  geometry.zones = 2 + 6;
  CrashDevice device(geometry);
  device.SplitLogs(6, 1);
  const SplitParts parts = Split(device, OpenMode::kExclusive);
  EXPECT_EQ(parts.main->geometry().zone_count, 2u);
  EXPECT_EQ(parts.logs->geometry().zone_count, 6u);
  // Those of the pair key come last on the whole device, the others keep their order.
  ASSERT_TRUE(parts.logs->Write(DeviceOffset(0), Pattern(kBlock, 1).View()).ok());
  EXPECT_EQ(Written(device, 6), 1u);
  ASSERT_TRUE(parts.logs->Append(ZoneId(2), Pattern(2 * kBlock, 1).View()).has_value());
  EXPECT_EQ(Written(device, 2), 2u);
  EXPECT_EQ(parts.logs->ReportZone(ZoneId(2))->WrittenBytes(), 2u * kBlock);
  EXPECT_EQ(parts.main->ReportZone(ZoneId(1))->WrittenBytes(), 0u);
  // A flush of the one is none of the other.
  ASSERT_TRUE(parts.main->Flush().ok());
  EXPECT_EQ(Written(*device.Image(LossPolicy::LoseAll()), 2), 0u);
  ASSERT_TRUE(parts.logs->Flush().ok());
  EXPECT_EQ(Written(*device.Image(LossPolicy::LoseAll()), 2), 2u);
}

}  // namespace zenfs::crash_device_copies_test
