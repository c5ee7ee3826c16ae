#include <gmock/gmock.h>

#include "testing/crash_device.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

std::uint64_t Changes(const EmulatorDevice& device) {
  std::uint64_t commands = 0;
  for (const EmulatorCommand kind :
       {EmulatorCommand::kWrite, EmulatorCommand::kAppend, EmulatorCommand::kManagement}) {
    commands += device.meter().of(kind).commands;
  }
  return commands;
}

// R11 of docs/internals/failures.md.
TEST(FormatVolume, RefusesAnExistingFileSystemWithoutTouchingIt) {
  const auto device = CreateMemoryDevice(SmallGeometry());
  const auto first = FormatVolume(*device, {});
  ASSERT_TRUE(IsOk(first));
  const std::uint64_t before = Changes(*device);
  const auto second = FormatVolume(*device, {});
  EXPECT_EQ(CodeOf(second), Code::kExists);
  EXPECT_EQ(second.error().text(), "Existing filesystem found, use --force if you want to replace it.");
  EXPECT_EQ(Changes(*device), before);
  const auto forced = FormatVolume(*device, {.force = true});
  ASSERT_TRUE(IsOk(forced));
  EXPECT_NE(forced->uuid, first->uuid);
}

// A volume that was made through zonefs, which has fewer zones than its disk.
TEST(FormatVolume, SaysThatAnExistingFileSystemWasMadeForOtherZones) {
  const auto device = CreateMemoryDevice(SmallGeometry());
  ASSERT_TRUE(IsOk(FormatVolume(*device, {})));
  EmulatorGeometry geometry = SmallGeometry();
  ++geometry.zones;
  const auto disk = CreateMemoryDevice(geometry);
  AlignedBuffer superblock(RoundUp(kSuperblockBytes, geometry.block_size));
  superblock.Resize(superblock.capacity());
  ASSERT_TRUE(IsOk(device->Read(DeviceOffset(0), superblock.Span())));
  ASSERT_TRUE(IsOk(disk->ZonedDevice::Write(DeviceOffset(0), superblock.View())));
  const auto refused = FormatVolume(*disk, {});
  ASSERT_EQ(CodeOf(refused), Code::kExists);
  EXPECT_THAT(refused.error().text(), testing::HasSubstr("a zonefs has other zones than the disk below it"));
  EXPECT_TRUE(IsOk(FormatVolume(*disk, {.force = true})));
}

// R11 of docs/internals/failures.md.
TEST(FormatVolume, RefusesADeviceWithForeignData) {
  const auto device = CreateMemoryDevice(SmallGeometry());
  AlignedBuffer block(4096);
  block.PadTo(4096);
  block.Resize(0);
  block.Append(AsBytes("not a file system"));
  block.PadTo(4096);
  ASSERT_TRUE(IsOk(device->ZonedDevice::Write(device->geometry().ZoneStart(ZoneId(5)), block.View())));
  const auto refused = FormatVolume(*device, {});
  EXPECT_EQ(CodeOf(refused), Code::kExists);
  EXPECT_NE(refused.error().text().find("data of an unknown kind in 1 zone,"), std::string::npos);
  ASSERT_TRUE(IsOk(FormatVolume(*device, {.force = true})));
  EXPECT_TRUE(IsOk(Volume::Mount(Borrow(*device), {})));
}

TEST(FormatVolume, ReadOnlyZoneOfAnEmptyDeviceIsNoForeignData) {
  const auto device = CreateMemoryDevice(SmallGeometry());
  ASSERT_TRUE(IsOk(device->SetCondition(ZoneId(9), ZoneCondition::kReadOnly)));
  EXPECT_TRUE(IsOk(FormatVolume(*device, {})));
}

TEST(FormatVolume, RefusesAForeignFileSystemByName) {
  EmulatorGeometry geometry = SmallGeometry();
  geometry.conventional = 2;
  const auto device = CreateMemoryDevice(geometry);
  AlignedBuffer block(4096);
  block.Append(AsBytes(std::string(0x400, '\0') + std::string("\x10\x20\xf5\xf2", 4)));
  block.PadTo(4096);
  ASSERT_TRUE(IsOk(device->ZonedDevice::Write(DeviceOffset(0), block.View())));
  const auto refused = FormatVolume(*device, {});
  EXPECT_EQ(CodeOf(refused), Code::kExists);
  EXPECT_NE(refused.error().text().find("F2FS"), std::string::npos);
}

TEST(FormatVolume, SaysWhatATooSmallDeviceLacks) {
  EmulatorGeometry geometry = SmallGeometry();
  geometry.zones = 7;
  const auto few = FormatVolume(*CreateMemoryDevice(geometry), {});
  EXPECT_EQ(CodeOf(few), Code::kInvalidArgument);
  EXPECT_NE(few.error().text().find("at least 8"), std::string::npos);
  geometry.zones = 40;
  geometry.zone_capacity = 32 << 10;
  const auto small = FormatVolume(*CreateMemoryDevice(geometry), {});
  EXPECT_EQ(CodeOf(small), Code::kInvalidArgument);
  EXPECT_NE(small.error().text().find("at least 64 KiB"), std::string::npos);
}

TEST(FormatVolume, SixtyFourZonesOfferEightyNinePercentOfTheirCapacity) {
  EmulatorGeometry geometry = SmallGeometry();
  geometry.zones = 64;
  const auto device = CreateMemoryDevice(geometry);
  const auto made = FormatVolume(*device, {});
  ASSERT_TRUE(IsOk(made));
  const auto volume = Volume::Mount(Borrow(*device), {});
  ASSERT_TRUE(IsOk(volume));
  EXPECT_GE(made->free_bytes * 100, (*volume)->Space().total * 89);
  EXPECT_EQ(made->metadata_zones.size(), 5u);
  EXPECT_EQ(made->metadata_copies, 2u);
}

TEST(FormatVolume, OneCopyOfTheMetadataIsExplained) {
  const auto made = [](std::uint32_t zones, std::uint32_t slots, std::uint32_t metadata_zones) {
    EmulatorGeometry geometry = SmallGeometry();
    geometry.zones = zones;
    geometry.max_open = geometry.max_active = slots;
    return FormatVolume(*CreateMemoryDevice(geometry), {.metadata_zones = metadata_zones}).value();
  };
  EXPECT_EQ(made(40, 8, 0).metadata_copies, 2u);
  EXPECT_EQ(made(40, 8, 0).why_one_copy, "");
  EXPECT_EQ(made(39, 8, 0).metadata_copies, 1u);
  EXPECT_EQ(made(39, 8, 0).metadata_zones.size(), 3u);
  EXPECT_EQ(made(39, 8, 0).why_one_copy,
            "two copies take 5 zones, which is more than an eighth of the 39 usable ones");
  EXPECT_EQ(made(40, 7, 0).why_one_copy, "the device allows too few active zones for two copies");
  EXPECT_EQ(made(39, 0, 5).metadata_copies, 2u);
  EXPECT_EQ(made(64, 0, 4).why_one_copy, "two copies need 5 metadata zones");
}

// S2 of docs/internals/failures.md.
TEST(FormatVolume, FreeBytesAreWhatAMountReports) {
  for (const std::uint32_t zones : {10u, 20u, 40u, 100u}) {
    EmulatorGeometry geometry = SmallGeometry();
    geometry.zones = zones;
    geometry.conventional = 1;
    const auto device = CreateMemoryDevice(geometry);
    const auto made = FormatVolume(*device, {});
    ASSERT_TRUE(IsOk(made));
    const auto volume = Volume::Mount(Borrow(*device), {});
    ASSERT_TRUE(IsOk(volume));
    auto log = (*volume)->Create("x.log");  // so that the log takes all its zones
    ASSERT_TRUE(IsOk(log));
    ASSERT_TRUE(IsOk((*log)->Append(AsBytes("x"))));
    ASSERT_TRUE(IsOk((*log)->Sync()));
    const Deadline deadline = Deadline::After(std::chrono::seconds(30));
    int equal = 0;  // in a row: the log takes its zones in the background
    std::uint64_t free = 0;
    while (equal < 20 && !deadline.Passed()) {
      SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
      free = (*volume)->Space().free;
      equal = free == made->free_bytes ? equal + 1 : 0;
    }
    EXPECT_EQ(equal, 20) << zones << " zones: " << free << " bytes are free, not " << made->free_bytes;
  }
}

TEST(FormatVolume, SkipsOfflineZonesForMetadata) {
  const auto device = CreateMemoryDevice(SmallGeometry());
  ASSERT_TRUE(IsOk(device->SetCondition(ZoneId(1), ZoneCondition::kOffline)));
  const auto made = FormatVolume(*device, {});
  ASSERT_TRUE(IsOk(made));
  EXPECT_EQ(made->metadata_zones, (std::vector<ZoneId>{ZoneId(0), ZoneId(2), ZoneId(3)}));
  EXPECT_TRUE(IsOk(Volume::Mount(Borrow(*device), {})));
}

}  // namespace
}  // namespace zenfs
