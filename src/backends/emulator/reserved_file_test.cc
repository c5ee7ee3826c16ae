// Emulated devices that keep their space on the host.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "backends/emulator/emulated_clone.h"
#include "backends/emulator/emulated_file_test_util.h"
#include "backends/emulator/emulator.h"
#include "backends/emulator/power_loss.h"
#include "testing/device_data.h"
#include "testing/small_tmpfs.h"
#include "testing/temp_directory.h"

namespace zenfs::reserved_file_test {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kBlock = 4096;
constexpr std::uint64_t kCapacity = 24;  // blocks
constexpr EmulatorGeometry kGeometry{.zones = 6,
                                     .zone_size = 32 * kBlock,
                                     .zone_capacity = kCapacity * kBlock,
                                     .conventional = 1,
                                     .random_area = 4 * kBlock,
                                     .random_unit = 2 * kBlock,
                                     .random_zones = 2};
constexpr std::uint64_t kDeviceBytes = (32 + 5 * kCapacity) * kBlock;
constexpr ZoneId kZone(2);

std::uint64_t SpaceOf(const std::string& path) { return ReadEmulatedFileInfo(path).value().allocated_bytes; }

Status Create(const std::string& path, bool volatile_cache = false) {
  return CreateEmulatedFile(path, kGeometry, true, Timing::kNone, volatile_cache, {.reserve = true});
}

std::unique_ptr<EmulatorDevice> Open(const std::string& path, const EmulatorOptions& options = {}) {
  auto device = OpenEmulatedFile(path, OpenMode::kExclusive, options);
  EXPECT_TRUE(device) << device.error().ToString();
  return device ? std::move(*device) : nullptr;
}

DeviceOffset At(std::uint64_t block) {
  return DeviceOffset(kZone.value * kGeometry.zone_size + block * kBlock);
}

Status Fill(ZonedDevice& device, std::uint64_t seed) {
  return device.Write(At(0), Pattern(kCapacity * kBlock, seed).View());
}

class ReservedFile : public testing::Test {
 protected:
  TempDirectory directory;
  std::string path = directory.File("a.img");
};

TEST_F(ReservedFile, HasAllOfItsSpaceFromTheStart) {
  std::vector<std::uint64_t> progress;
  std::uint64_t of = 0;
  EmulatedFileOptions options{.reserve = true};
  options.progress = [&](std::uint64_t done, std::uint64_t all) {
    progress.push_back(done);
    of = all;
  };
  ASSERT_TRUE(CreateEmulatedFile(path, kGeometry, false, Timing::kNone, false, options).ok());
  EXPECT_TRUE(ReadEmulatedFileInfo(path)->reserved);
  EXPECT_GE(SpaceOf(path), kDeviceBytes);
  EXPECT_EQ(of, kDeviceBytes);
  ASSERT_EQ(progress.size(), 6u);
  EXPECT_EQ(progress.back(), kDeviceBytes);
  ASSERT_TRUE(CreateEmulatedFile(path, kGeometry, true).ok());
  EXPECT_FALSE(ReadEmulatedFileInfo(path)->reserved);
  EXPECT_LT(SpaceOf(path), kDeviceBytes);
}

TEST_F(ReservedFile, LeavesNothingBehindIfItsCreationIsStopped) {
  std::atomic<bool> stop = false;
  EmulatedFileOptions options{.reserve = true};
  options.progress = [&](std::uint64_t done, std::uint64_t) { stop = done > kCapacity * kBlock; };
  options.stop = &stop;
  const Status made = CreateEmulatedFile(path, kGeometry, false, Timing::kNone, false, options);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), Code::kShutdown);
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST_F(ReservedFile, KeepsItWhenZonesAreReset) {
  for (const bool hostsync : {false, true}) {
    ASSERT_TRUE(Create(path).ok());
    for (int i = 0; i < 2; ++i) {  // opening looks for zones to give back
      const auto device = Open(path, {.hostsync = hostsync});
      ASSERT_TRUE(Fill(*device, 1).ok());
      ASSERT_TRUE(device->Reset(kZone).ok());
    }
    EXPECT_GE(SpaceOf(path), kDeviceBytes);
  }
}

TEST_F(ReservedFile, ShowsNothingOfAnEarlierLifeOfAZone) {
  ASSERT_TRUE(Create(path).ok());
  const auto device = Open(path);
  ASSERT_TRUE(Fill(*device, 1).ok());
  ASSERT_TRUE(device->Reset(kZone).ok());
  ASSERT_TRUE(device->Write(At(0), Pattern(kBlock, 2).View()).ok());
  ASSERT_TRUE(device->Finish(kZone).ok());
  const auto rest = ReadBack(*device, At(1), (kCapacity - 1) * kBlock);
  ASSERT_TRUE(rest);
  EXPECT_TRUE(SameBytes(rest->View(), std::vector<std::byte>((kCapacity - 1) * kBlock)));
}

TEST_F(ReservedFile, ShowsNothingOfAnEarlierLifeInARandomWriteArea) {
  ASSERT_TRUE(Create(path).ok());
  const auto device = Open(path);
  ASSERT_TRUE(Fill(*device, 1).ok());
  ASSERT_TRUE(device->Reset(kZone).ok());
  ASSERT_TRUE(device->OpenRandom(kZone).ok());
  for (std::uint64_t at = 0; at < kCapacity; at += 2) {
    if (at != 0) {
      ASSERT_TRUE(device->CommitRandom(At(at)).ok());
    }
    const auto area = ReadBack(*device, At(at), 2 * kBlock);
    ASSERT_TRUE(area) << at;
    EXPECT_TRUE(SameBytes(area->View(), std::vector<std::byte>(2 * kBlock))) << at;
  }
  EXPECT_GE(SpaceOf(path), kDeviceBytes);
}

TEST_F(ReservedFile, LosesUnflushedBlocksToZerosNotToEarlierData) {
  bool lost_some = false;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    ASSERT_TRUE(Create(path, /*volatile_cache=*/true).ok());
    {
      const auto device = Open(path);
      ASSERT_TRUE(Fill(*device, 1).ok());
      ASSERT_TRUE(device->Flush().ok());
      ASSERT_TRUE(device->Reset(kZone).ok());
      ASSERT_TRUE(device->Write(At(0), Pattern(20 * kBlock, 2).View()).ok());
    }
    ASSERT_TRUE(CutPower(path, seed));
    const auto device = Open(path);
    const AlignedBuffer written = Pattern(20 * kBlock, 2);
    const std::vector<std::byte> zeros(kBlock);
    const std::uint64_t left = ReportOf(*device, kZone).WrittenBytes() / kBlock;
    for (std::uint64_t block = 0; block < left; ++block) {
      const auto read = ReadBack(*device, At(block), kBlock);
      ASSERT_TRUE(read);
      const bool lost = SameBytes(read->View(), zeros);
      EXPECT_TRUE(lost || SameBytes(read->View(), written.View().subspan(block * kBlock, kBlock)))
          << "seed " << seed << ", block " << block;
      lost_some |= lost;
    }
    EXPECT_GE(SpaceOf(path), kDeviceBytes);
  }
  EXPECT_TRUE(lost_some);
}

TEST_F(ReservedFile, HasACloneThatKeepsItsSpaceToo) {
  ASSERT_TRUE(Create(path).ok());
  const std::string copy = directory.File("b.img");
  ASSERT_TRUE(EmulatedClone::Begin(path, copy, false).value()->Finish().ok());
  EXPECT_TRUE(ReadEmulatedFileInfo(copy)->reserved);
}

TEST_F(ReservedFile, IsNoneIfItsSpaceIsMissing) {
  ASSERT_TRUE(CreateEmulatedFile(path, kGeometry, false).ok());
  ChangeHeader(path, [](EmulatedFileHeader& header) { header.reserved = 1; });
  EXPECT_FALSE(ReadEmulatedFileInfo(path)->reserved);
  const std::uint64_t before = SpaceOf(path);
  const auto device = Open(path);
  ASSERT_TRUE(device->OpenRandom(kZone).ok());
  EXPECT_LE(SpaceOf(path), before) << "an area of a hole costs nothing";
  ASSERT_TRUE(device->Reset(kZone).ok());
  ASSERT_TRUE(Fill(*device, 1).ok());
  ASSERT_TRUE(device->Reset(kZone).ok());
  EXPECT_LE(SpaceOf(path), before) << "a reset gives the space back";
}

TEST_F(ReservedFile, IsNotFilledWhereItHasHoles) {
  ASSERT_TRUE(CreateEmulatedFile(path, kGeometry, false).ok());
  ChangeHeader(path, [](EmulatedFileHeader& header) { header.reserved = 1; });
  // The space is in the gap behind the tables.
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(WriteAll(fd, 1 << 20, Pattern(kDeviceBytes, 1).View(), path).ok());
  ASSERT_TRUE(ReadEmulatedFileInfo(path)->reserved);
  const std::uint64_t before = SpaceOf(path);
  ASSERT_TRUE(Open(path)->OpenRandom(kZone).ok());
  EXPECT_LE(SpaceOf(path), before);
}

TEST_F(ReservedFile, IsDamagedIfTheHeaderSaysAnythingElse) {
  ASSERT_TRUE(Create(path).ok());
  ChangeHeader(path, [](EmulatedFileHeader& header) { header.reserved = 2; });
  const auto device = OpenEmulatedFile(path, OpenMode::kExclusive);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code(), Code::kCorruption);
  EXPECT_THAT(device.error().text(), HasSubstr("reserved"));
}

class ReservedOnSmallHost : public testing::Test {
 protected:
  void SetUp() override {
    if (!host.mounted()) GTEST_SKIP() << "needs permission to mount a tmpfs";
  }
  SmallTmpfs host{4 << 20};
  std::string path = host.File("a.img");
};

TEST_F(ReservedOnSmallHost, EveryBlockCanBeWrittenWhenTheHostIsFull) {
  ASSERT_TRUE(Create(path).ok());
  host.FillUp();
  const auto device = Open(path);
  for (int life = 0; life < 2; ++life) {
    for (std::uint32_t zone = 1; zone < kGeometry.zones; ++zone) {
      const DeviceOffset start(zone * kGeometry.zone_size);
      ASSERT_TRUE(device->Write(start, Pattern(kCapacity * kBlock, zone).View()).ok());
      ASSERT_TRUE(device->Reset(ZoneId(zone)).ok());
    }
  }
}

TEST_F(ReservedOnSmallHost, IsRefusedBeforeAnythingIsWrittenIfTheHostHasNoRoom) {
  EmulatorGeometry large = kGeometry;
  large.zones = 64;
  const Status made = CreateEmulatedFile(path, large, false, Timing::kNone, false, {.reserve = true});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), Code::kNoSpace);
  EXPECT_THAT(made.error().text(), HasSubstr("the reserved device needs 6.03 MiB"));
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace zenfs::reserved_file_test
