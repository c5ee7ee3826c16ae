#include "metalog/pair_zones.h"

#include <gmock/gmock.h>

#include "backends/emulator/emulator.h"
#include "metalog/probe.h"
#include "testing/crash_device.h"
#include "testing/faulty_device.h"

namespace zenfs::pair_zones_test {
namespace {

constexpr EmulatorGeometry kGeometry = {.zones = 8, .zone_size = 128 << 10, .max_open = 4, .max_active = 4};

Superblock OfLogDevice(std::uint32_t block_size = kGeometry.block_size) {
  const Uuid uuid = *Uuid::Parse("01234567-89ab-4def-8123-456789abcdef");
  return {.uuid = uuid,
          .seed = uuid,
          .block_size = block_size,
          .zone_size = kGeometry.zone_size,
          .zone_count = kGeometry.zones,
          .incompatible = kIsLogDevice,
          .metadata_zones = {ZoneId(0), ZoneId(1)},
          .log_zones = 6,
          .first_log_zone = ZoneId(2),
          .peer = "emu:/main.img"};
}

Status Write(ZonedDevice& device, std::uint64_t epoch) {
  return WritePairRecord(device, OfLogDevice(device.geometry().block_size),
                         {.epoch = epoch, .key = Uuid::Generate()});
}

// 0 if there is no record.
std::uint64_t EpochOn(ZonedDevice& device) {
  const auto newest = ReadPairRecord(device, OfLogDevice(device.geometry().block_size));
  EXPECT_TRUE(newest.ok());
  return *newest ? (*newest)->epoch : 0;
}

TEST(PairZones, TheNewestRecordOfBothZonesCounts) {
  FaultyDevice device(CreateMemoryDevice(kGeometry));
  EXPECT_EQ(EpochOn(device), 0U);
  for (std::uint64_t epoch = 1; epoch < 3 * kPairRecordsPerZone; ++epoch) {
    ASSERT_TRUE(Write(device, epoch).ok()) << epoch;
    ASSERT_EQ(EpochOn(device), epoch);
    ASSERT_EQ(FindSuperblock(device).value(), OfLogDevice());
  }
}

TEST(PairZones, AFailedWriteToOneZoneIsMadeUpForByTheOther) {
  for (std::uint32_t zone = 0; zone < 2; ++zone) {
    for (const auto when : {FaultyDevice::When::kBefore, FaultyDevice::When::kAfter}) {
      FaultyDevice device(CreateMemoryDevice(kGeometry));
      ASSERT_TRUE(Write(device, 1).ok());
      device.Inject({.command = FaultyDevice::Command::kWrite, .zone = ZoneId(zone), .when = when});
      EXPECT_TRUE(Write(device, 2).ok());
      EXPECT_EQ(EpochOn(device), 2U);
      EXPECT_TRUE(Write(device, 3).ok());
      EXPECT_EQ(EpochOn(device), 3U);
    }
  }
}

TEST(PairZones, AZoneThatTheDriveEndsEarlyIsBegunAgain) {
  FaultyDevice device(CreateMemoryDevice(kGeometry));
  ASSERT_TRUE(Write(device, 1).ok());
  for (const ZoneId zone : {ZoneId(0), ZoneId(1)}) ASSERT_TRUE(device.Finish(zone).ok());
  device.Inject({.command = FaultyDevice::Command::kWrite, .code = Code::kZoneFull});
  EXPECT_TRUE(Write(device, 2).ok());
  EXPECT_EQ(EpochOn(device), 2U);
}

TEST(PairZones, IfNoZoneTakesTheRecordTheOldOneStays) {
  FaultyDevice device(CreateMemoryDevice(kGeometry));
  ASSERT_TRUE(Write(device, 1).ok());
  device.Inject({.command = FaultyDevice::Command::kWrite, .times = FaultyDevice::kForEver});
  EXPECT_FALSE(Write(device, 2).ok());
  EXPECT_EQ(EpochOn(device), 1U);
  EXPECT_TRUE(FindSuperblock(device).ok());
}

TEST(PairZones, AnUnreadableBlockCostsNoRecord) {
  FaultyDevice device(CreateMemoryDevice(kGeometry));
  ASSERT_TRUE(Write(device, 1).ok());
  device.Inject(
      {.command = FaultyDevice::Command::kRead, .times = FaultyDevice::kForEver, .zone = ZoneId(0)});
  EXPECT_EQ(EpochOn(device), 1U);
}

// With room, and without, where each zone is begun again. With blocks of 512 bytes, a part of a record may be durable.
TEST(PairZones, APowerLossLeavesTheSuperblockAndTheOldOrTheNewRecord) {
  for (const std::uint32_t block_size : {512U, 4096U}) {
    EmulatorGeometry geometry = kGeometry;
    geometry.block_size = block_size;
    const std::uint64_t zone_is_full = kPairRecordsPerZone;
    for (const std::uint64_t before : {std::uint64_t{5}, std::uint64_t{31}, zone_is_full}) {
      CrashDevice whole(geometry);
      for (std::uint64_t epoch = 1; epoch <= before; ++epoch) ASSERT_TRUE(Write(whole, epoch).ok());
      for (std::uint64_t cut = 0;; ++cut) {
        const auto device = whole.Image(LossPolicy::KeepAll());
        device->StopAfter(cut);
        const bool done = Write(*device, before + 1).ok();
        auto [images, complete] = device->EnumerateImages(500);
        EXPECT_TRUE(complete);
        for (const auto& image : images) {
          EXPECT_TRUE(FindSuperblock(*image).ok()) << cut;
          const std::uint64_t epoch = EpochOn(*image);
          EXPECT_TRUE(epoch == before + 1 || (epoch == before && !done)) << epoch << " after command " << cut;
          EXPECT_TRUE(Write(*image, before + 2).ok());
          EXPECT_EQ(EpochOn(*image), before + 2) << "after command " << cut;
        }
        if (done) break;
      }
    }
  }
}

}  // namespace
}  // namespace zenfs::pair_zones_test
