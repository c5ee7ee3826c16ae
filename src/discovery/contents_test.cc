#include "discovery/contents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "discovery/discovery_test_util.h"
#include "testing/unprivileged.h"

namespace zenfs {
namespace {

using testing::HasSubstr;
using Kind = Contents::Kind;

using ContentsTest = DiscoveryTest;

TEST_F(ContentsTest, ZenfsIsKnownByUuidAndLabel) {
  const Uuid uuid = Uuid::Generate();
  const Contents contents = Probe(Emulated(MakeVolume("a.img", uuid, "orders")));
  EXPECT_EQ(contents.kind, Kind::kZenfs);
  EXPECT_EQ(contents.uuid, uuid);
  EXPECT_EQ(contents.label, "orders");
  EXPECT_FALSE(contents.identity.empty());
}

TEST_F(ContentsTest, ForeignBytesAreSomethingElse) {  // R10
  const std::string path = MakeDevice("a.img");
  EXPECT_EQ(Probe(Emulated(path)).kind, Kind::kOther);
  Write(path, std::string(4096, '\xff'));
  EXPECT_EQ(Probe(Emulated(path)).kind, Kind::kOther);
}

TEST_F(ContentsTest, ZonefsIsKnownByItsMagic) {
  const std::string path = MakeDevice("a.img");
  Write(path, std::string("SFOZ") + std::string(100, '\0'));
  EXPECT_EQ(Probe(Emulated(path)).kind, Kind::kZonefs);
}

TEST_F(ContentsTest, ZenfsInsideOfAZonefsIsNotMistakenForOne) {
  // As seen from the block device: the zone size differs from that in the superblock, which is
  // after zone 0.
  const std::string path = MakeDevice("a.img");
  Write(path, std::string("SFOZ") + std::string(100, '\0'));
  const auto device = OpenEmulatedFile(path, OpenMode::kExclusive);
  const std::string superblock = EncodeSuperblock({.uuid = Uuid::Generate(),
                                                   .block_size = 4096,
                                                   .zone_size = 768 << 10,
                                                   .zone_count = 7,
                                                   .metadata_zones = {ZoneId(0), ZoneId(1)}});
  AlignedBuffer block(4096);
  block.Append(AsBytes(superblock));
  ASSERT_TRUE((*device)->Write(DeviceOffset(1 << 20), block.View()).ok());
  EXPECT_EQ(Probe(Emulated(path)).kind, Kind::kZonefs);
}

TEST_F(ContentsTest, OnlyAnExaminationTellsEmptyFromForeign) {
  const std::string path = MakeDevice("a.img", 2);
  DeviceLook look = Examine(Emulated(path));
  EXPECT_EQ(look.contents.kind, Kind::kNothing);
  EXPECT_EQ(look.conventional, 2u);
  ASSERT_TRUE(look.geometry);
  EXPECT_EQ(look.geometry->zone_count, 8u);
  EXPECT_EQ(look.zone_capacity, 1u << 20);
  EXPECT_TRUE(look.readable);
  EXPECT_TRUE(look.writable);
  const std::string other = MakeDevice("b.img");
  Write(other, "x");
  EXPECT_EQ(Examine(Emulated(other)).contents.kind, Kind::kOther);
}

TEST_F(ContentsTest, DamagedZenfsIsUnreadable) {
  const std::string path = MakeVolume("a.img", Uuid::Generate());
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    for (const int zone : {0, 1, 2, 3, 4}) {  // the data begins at 1 MiB: docs/formats/emulated-device.md
      file.seekp(((1 + zone) << 20) + 200);
      file.put('\x55');
    }
  }
  const Contents contents = Probe(Emulated(path));
  EXPECT_EQ(contents.kind, Kind::kUnreadable);
  ASSERT_TRUE(contents.why);
  EXPECT_EQ(contents.why->code(), Code::kCorruption);
}

TEST_F(ContentsTest, WhatIsNoDeviceIsSaid) {
  const std::string fifo = directory_.File("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::ofstream(directory_.File("letter")) << "dear aunt";
  for (const std::string& path : {directory_.File("none"), directory_.path(), fifo, directory_.File("letter"),
                                  std::string("/dev/zero")}) {
    const Contents contents = Probe(Emulated(path));
    EXPECT_EQ(contents.kind, Kind::kNoDevice) << path;
    ASSERT_TRUE(contents.why) << path;
    EXPECT_THAT(contents.why->text(), HasSubstr(path));
  }
}

TEST_F(ContentsTest, ReadPermissionIsEnoughAndItsLackIsNamed) {
  std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
  const std::string path = MakeVolume("a.img", Uuid::Generate());
  const auto examine = [&](unsigned mode) {
    std::filesystem::permissions(path, std::filesystem::perms(mode));
    const Unprivileged nobody;
    return Examine(Emulated(path));
  };
  DeviceLook look = examine(0444);
  EXPECT_EQ(look.contents.kind, Kind::kZenfs);
  EXPECT_TRUE(look.readable);
  EXPECT_FALSE(look.writable);
  look = examine(0);
  EXPECT_EQ(look.contents.kind, Kind::kUnreadable);
  EXPECT_EQ(look.contents.why->code(), Code::kPermission);
  EXPECT_FALSE(look.readable);
  EXPECT_FALSE(look.geometry);
}

TEST_F(ContentsTest, DevicesBelowOthersAreNotLookedInto) {
  KnownDevice device = Emulated(MakeVolume("a.img", Uuid::Generate()));
  device.used_by = "dm-0";
  EXPECT_EQ(Probe(device).kind, Kind::kUsed);
  EXPECT_EQ(Examine(device).contents.kind, Kind::kUsed);
  EXPECT_TRUE(Examine(device).geometry);
}

TEST_F(ContentsTest, NoBytesInTheFirstBlockConfuse) {  // R10: seeded damage anywhere in a superblock
  const Uuid uuid = Uuid::Generate();
  const std::string path = MakeVolume("a.img", uuid);
  Random random(4711);
  for (int i = 0; i < 300; ++i) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp((1 << 20) + static_cast<std::streamoff>(random.Below(4096)));
    file.put(static_cast<char>(random.Below(256)));
    file.close();
    const Contents contents = Probe(Emulated(path));
    EXPECT_EQ(contents.kind, Kind::kZenfs) << "the second copy is whole";
    EXPECT_EQ(contents.uuid, uuid);
  }
}

}  // namespace
}  // namespace zenfs
