#include "metalog/probe.h"

#include <gmock/gmock.h>

#include <cstring>

#include "base/aligned_buffer.h"
#include "format/frame.h"
#include "metalog/metadata_scan.h"
#include "metalog/metalog_test_util.h"

namespace zenfs::probe_test {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kZones = 3;

Status WriteFirst(ZonedDevice& device, std::uint32_t zone, std::string_view bytes) {
  AlignedBuffer buffer(4096);
  buffer.Append(AsBytes(bytes));
  buffer.PadTo(4096);
  return device.Write(device.geometry().ZoneStart(ZoneId(zone)), buffer.View());
}

TEST(Probe, FindsTheFormattedVolume) {
  const auto device = CreateMemoryDevice(SmallGeometry(1 << 20));
  ZENFS_ASSERT_OK(Formatted(*device, kZones));
  const auto found = ProbeSuperblock(*device);
  ASSERT_TRUE(found) << found.error().ToString();
  EXPECT_EQ(*found, SuperblockFor(device->geometry(), kZones));
}

TEST(Probe, EmptyDeviceIsNotFound) {
  const auto device = CreateMemoryDevice(SmallGeometry(1 << 20));
  EXPECT_EQ(ProbeSuperblock(*device).error().code(), Code::kNotFound);
  EXPECT_THAT(ProbeSuperblock(*device).error().text(), HasSubstr("make one with zenfs mkfs"));
}

TEST(Probe, ForeignBytesAreNotFound) {  // R10
  const auto device = CreateMemoryDevice(SmallGeometry(1 << 20));
  ZENFS_ASSERT_OK(WriteFirst(*device, 0, std::string(4096, '\xff')));
  EXPECT_EQ(ProbeSuperblock(*device).error().code(), Code::kNotFound);
}

TEST(Probe, OneGoodCopyIsEnough) {
  const auto device = CreateMemoryDevice(SmallGeometry(1 << 20));
  Superblock superblock = SuperblockFor(device->geometry(), kZones);
  std::string damaged = EncodeSuperblock(superblock);
  damaged[100] ^= 1;
  ZENFS_ASSERT_OK(WriteFirst(*device, 0, damaged));
  EXPECT_EQ(ProbeSuperblock(*device).error().code(), Code::kCorruption);
  ZENFS_ASSERT_OK(device->SetCondition(ZoneId(1), ZoneCondition::kOffline));
  ZENFS_ASSERT_OK(WriteFirst(*device, 2, EncodeSuperblock(superblock)));
  EXPECT_TRUE(ProbeSuperblock(*device));
}

TEST(Probe, CopyOutsideTheMetadataZonesIsNotTaken) {
  const auto device = CreateMemoryDevice(SmallGeometry(1 << 20));
  ZENFS_ASSERT_OK(WriteFirst(*device, 4, EncodeSuperblock(SuperblockFor(device->geometry(), kZones))));
  EXPECT_EQ(ProbeSuperblock(*device).error().code(), Code::kCorruption);
}

TEST(Probe, AVolumeWhoseMetadataIsGoneIsNotTakenForAnEmptyDevice) {
  const auto device = CreateMemoryDevice(SmallGeometry(1 << 20, 100));
  Superblock superblock = SuperblockFor(device->geometry(), 0);
  superblock.metadata_zones = {ZoneId(0), ZoneId(1)};
  ZENFS_ASSERT_OK(Metalog::Format(*device, superblock, {}));
  std::string frame(4096, '\0');
  SealFrame(std::as_writable_bytes(std::span(frame)), {.kind = FrameKind::kLogData}, {});
  ZENFS_ASSERT_OK(WriteFirst(*device, 90, frame));
  ZENFS_ASSERT_OK(device->SetCondition(ZoneId(0), ZoneCondition::kOffline));
  EXPECT_TRUE(ProbeSuperblock(*device)) << "mkfs put a copy into zone 1";
  ZENFS_ASSERT_OK(device->SetCondition(ZoneId(1), ZoneCondition::kOffline));
  const Error error = ProbeSuperblock(*device).error();
  EXPECT_EQ(error.code(), Code::kCorruption);
  EXPECT_THAT(error.text(), HasSubstr("a frame in zone 90 at byte 0; zone 0, 1 is offline"));
  EXPECT_THAT(error.text(), ::testing::Not(HasSubstr("mkfs")));
}

// And a mount leaves them there.
TEST(Probe, MkfsPutsTheSuperblockIntoAllMetadataZones) {
  for (const std::uint64_t features : {std::uint64_t{0}, kTwoMetadataCopies}) {
    const auto device = CreateMemoryDevice(SmallGeometry(1 << 20));
    Superblock superblock = SuperblockFor(device->geometry(), 5);
    superblock.incompatible = features;
    ZENFS_ASSERT_OK(Metalog::Format(*device, superblock, InitialEdits()));
    for (int mounts = 0; mounts < 2; ++mounts) {
      const auto copies = ScanSuperblocks(*device);
      ASSERT_TRUE(copies);
      ASSERT_EQ(copies->size(), 5u);
      for (const SuperblockCopy& copy : *copies) EXPECT_TRUE(copy.superblock) << copy.zone.value;
      EXPECT_TRUE(ScanMetadata(*device, superblock)->flaws.empty());
      const auto log = Metalog::Open(*device, superblock);
      ASSERT_TRUE(log) << log.error().ToString();
    }
  }
}

// The superblock and the header of the log are overwritten, and frames behind them are not.
TEST(Probe, FramesAloneShowThatAVolumeIsThere) {
  const auto device = CreateMemoryDevice(SmallGeometry(1 << 20));
  ZENFS_ASSERT_OK(WriteFirst(*device, 1, std::string(4096, 'x')));
  std::string frame(4096, '\0');
  SealFrame(std::as_writable_bytes(std::span(frame)), {.kind = FrameKind::kCommit}, {});
  AlignedBuffer buffer(4096);
  buffer.Append(AsBytes(frame));
  ZENFS_ASSERT_OK(device->Write(device->geometry().ZoneStart(ZoneId(1)) + 4096, buffer.View()));
  EXPECT_EQ(ProbeSuperblock(*device).error().code(), Code::kCorruption);
}

TEST(Probe, ADeadFirstZoneIsNamedAndMkfsIsNotAdvised) {
  const auto device = CreateMemoryDevice(SmallGeometry(1 << 20));
  ZENFS_ASSERT_OK(device->SetCondition(ZoneId(0), ZoneCondition::kOffline));
  const Error error = ProbeSuperblock(*device).error();
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_THAT(error.text(), HasSubstr("zone 0 is offline"));
  EXPECT_THAT(error.text(), ::testing::Not(HasSubstr("mkfs")));
}

TEST(Probe, OtherGeometryIsNamedWithBothValues) {
  const auto device = CreateMemoryDevice(SmallGeometry(1 << 20));
  Superblock superblock = SuperblockFor(device->geometry(), kZones);
  superblock.zone_count = 99;
  ZENFS_ASSERT_OK(WriteFirst(*device, 0, EncodeSuperblock(superblock)));
  const auto found = ProbeSuperblock(*device);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::kInvalidArgument);
  EXPECT_THAT(found.error().text(), HasSubstr("number of zones is 6, but the file system was made for 99"));
  EXPECT_THAT(found.error().text(), HasSubstr("a zonefs has other zones than the disk below it"));
}

TEST(Probe, ConventionalZonesAreSkipped) {
  EmulatorGeometry geometry = SmallGeometry(1 << 20);
  geometry.conventional = 2;
  const auto device = CreateMemoryDevice(geometry);
  Superblock superblock = SuperblockFor(device->geometry(), 0);
  superblock.metadata_zones = {ZoneId(2), ZoneId(3)};
  ZENFS_ASSERT_OK(Metalog::Format(*device, superblock, {}));
  EXPECT_TRUE(ProbeSuperblock(*device));
}

}  // namespace
}  // namespace zenfs::probe_test
