// A zone of an emulated device may claim to be full of bytes that its file does not have. What looks at the volume takes time for
// the bytes that are there, and none for those that are claimed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "backends/emulator/emulator.h"
#include "base/aligned_buffer.h"
#include "base/unique_fd.h"
#include "base/zeros.h"
#include "device/remembered_holes.h"
#include "metalog/zone_reader.h"
#include "testing/borrowed_device.h"
#include "testing/random_bytes.h"
#include "testing/temp_directory.h"
#include "volume/fsck/check_volume.h"
#include "volume/fsck/scrub.h"
#include "volume/volume_test_util.h"
#include "wal/wal_recovery.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kZoneBytes = std::uint64_t{64} << 30;

class ClaimedLengthTest : public testing::Test {
 protected:
  ClaimedLengthTest() {
    EXPECT_TRUE(IsOk(CreateEmulatedFile(
        path_, {.zones = 24, .zone_size = kZoneBytes, .max_open = 14, .max_active = 14}, false)));
  }
  std::unique_ptr<EmulatorDevice> Open(OpenMode mode) {
    auto device = OpenEmulatedFile(path_, mode, {});
    EXPECT_TRUE(IsOk(device));
    return *std::move(device);
  }
  // Makes `log` hold one synced line, and its zone and all of the metadata full of nothing, beneath the volume. Returns the zones.
  static std::vector<ZoneId> FillWithNothing(const Volume& volume, FileHandle& log, EmulatorDevice& device) {
    EXPECT_TRUE(IsOk(log.Append(AsBytes("a line"))));
    EXPECT_TRUE(IsOk(log.Sync()));
    std::vector<ZoneId> zones;
    for (const ZoneStatus& zone : volume.Zones()) {
      const bool scanned = zone.phase == ZonePhase::kMetadata || zone.phase == ZonePhase::kLog;
      if (scanned && device.Finish(zone.id).ok()) zones.push_back(zone.id);
    }
    return zones;
  }
  static std::uint64_t BytesRead(const EmulatorDevice& device) {
    return device.meter().of(EmulatorCommand::kRead).bytes;
  }

  TempDirectory directory_;
  const std::string path_ = directory_.File("device");
};

TEST_F(ClaimedLengthTest, ZonesThatAreFullOfNothingAreNotRead) {
  const auto device = Open(OpenMode::kExclusive);
  ASSERT_TRUE(IsOk(FormatVolume(*device, {.metadata_zones = 8})));
  {
    const auto volume = *Volume::Mount(Borrow(*device), {});
    const auto log = *volume->Create("a.log");
    ASSERT_GE(FillWithNothing(*volume, *log, *device).size(), 8u);
    const auto reader = Open(OpenMode::kReadOnly);
    const auto report = CheckVolume(*reader, {});
    ASSERT_TRUE(IsOk(report));
    EXPECT_EQ(report->frames, 1u);
    EXPECT_TRUE(IsOk(ScrubVolume(*reader, {})));
    EXPECT_TRUE(IsOk(Volume::Mount(Borrow(*reader), {.read_only = true})));
    EXPECT_LT(BytesRead(*reader), std::uint64_t{256} << 20);
    IgnoreError(volume->Unmount());
  }
  const std::uint64_t before = BytesRead(*device);
  const auto again = Volume::Mount(Borrow(*device), {});
  ASSERT_TRUE(IsOk(again));
  EXPECT_EQ(*GetFile(**again, "a.log"), "a line");
  EXPECT_LT(BytesRead(*device) - before, std::uint64_t{256} << 20);
}

// A block of garbage each MiB, in an image that costs its maker a 256th of what it claims.
TEST_F(ClaimedLengthTest, BetweenFewBlocksLittleIsRead) {
  constexpr std::uint64_t kDots = 32;
  const auto device = Open(OpenMode::kExclusive);
  ASSERT_TRUE(IsOk(FormatVolume(*device, {.metadata_zones = 8})));
  const auto volume = *Volume::Mount(Borrow(*device), {});
  const auto log = *volume->Create("a.log");
  const std::vector<ZoneId> zones = FillWithNothing(*volume, *log, *device);
  ASSERT_GE(zones.size(), 8u);
  {
    const UniqueFd file(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    const std::uint64_t data = ReadEmulatedFileInfo(path_)->file_bytes - 24 * kZoneBytes;
    const std::string garbage = RandomBytes(4096, 1);
    for (const ZoneId zone : zones) {
      for (std::uint64_t i = 1; i <= kDots; ++i) {
        const std::uint64_t at = data + zone.value * kZoneBytes + i * ((1 << 20) + 4096);
        ASSERT_EQ(::pwrite(file.get(), garbage.data(), garbage.size(), static_cast<off_t>(at)), 4096);
      }
    }
  }
  const auto reader = Open(OpenMode::kReadOnly);
  ASSERT_TRUE(IsOk(CheckVolume(*reader, {})));
  // A check goes through a damaged zone several times.
  EXPECT_LT(BytesRead(*reader), zones.size() * kDots << 20);
  IgnoreError(log->Close());
  IgnoreError(volume->Unmount());
}

// A reader knows the zone as full. Its reads would fail, a block at a time.
TEST_F(ClaimedLengthTest, AZoneThatWasResetMeanwhileIsNotReadEither) {
  const auto device = Open(OpenMode::kExclusive);
  ASSERT_TRUE(IsOk(device->Finish(ZoneId(5))));
  const auto reader = Open(OpenMode::kReadOnly);
  ASSERT_TRUE(IsOk(device->Reset(ZoneId(5))));
  const DeviceOffset start = reader->geometry().ZoneStart(ZoneId(5));
  EXPECT_EQ(reader->KnownZeros(start, kZoneBytes), kZoneBytes);
  ASSERT_TRUE(IsOk(device->SetCondition(ZoneId(5), ZoneCondition::kOffline)));
  EXPECT_EQ(reader->KnownZeros(start, kZoneBytes), 0u) << "it can't be read";
}

// A reader knows the zone as full. Nothing of it can be read, and a scan tries no block after the other.
TEST_F(ClaimedLengthTest, AZoneThatCanNotBeReadAnyMoreEndsAScan) {
  constexpr std::uint64_t kBytes = 8 << 20;
  for (const bool cut : {false, true}) {
    SCOPED_TRACE(cut ? "cut off" : "offline");
    const std::string path = directory_.File(cut ? "cut" : "offline");
    ASSERT_TRUE(IsOk(CreateEmulatedFile(path, {.zones = 24, .zone_size = kBytes}, false)));
    const auto device = *OpenEmulatedFile(path, OpenMode::kExclusive);
    const DeviceOffset start = device->geometry().ZoneStart(ZoneId(5));
    AlignedBuffer data(kBytes);
    data.Append(AsBytes(RandomBytes(kBytes, 1)));
    ASSERT_TRUE(IsOk(device->Write(start, data.View())));
    const auto reader = *OpenEmulatedFile(path, OpenMode::kReadOnly);
    if (cut) {
      ASSERT_EQ(::truncate(path.c_str(), 1 << 20), 0);
    } else {
      ASSERT_TRUE(IsOk(device->SetCondition(ZoneId(5), ZoneCondition::kOffline)));
    }
    ZoneReader metadata(*reader, ZoneId(5), kBytes);
    EXPECT_TRUE(IsZeros(metadata.View(0, kBlock)));
    EXPECT_TRUE(metadata.met_unreadable());
    EXPECT_LE(metadata.end(), 1u << 20);
    ZoneWindow log(*reader, start, 0, kBytes);
    EXPECT_NE(AsText(log.From(0, kBlock).first(kBlock)), AsText(data.View(0, kBlock)));
    EXPECT_LE(log.end(), 1u << 20);
  }
}

// A device that fails for some commands, reports included, and is well again.
TEST_F(ClaimedLengthTest, AShortFaultOfTheDeviceEndsNoScan) {
  class Faulty final : public ForwardingDevice {
   public:
    using ForwardingDevice::ForwardingDevice;
    using ForwardingDevice::Read;
    Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override {
      if (Fails()) return Fail(Code::kIo, "a fault");
      return inner().Report(first, count);
    }
    Status Read(DeviceOffset offset, ByteSpan into) override {
      return Fails() ? Fail(Code::kIo, "a fault") : inner().Read(offset, into);
    }
    int left = 2;

   private:
    bool Fails() { return left > 0 && left-- > 0; }
  };
  constexpr std::uint64_t kBytes = 64 << 10;
  const auto device = Open(OpenMode::kExclusive);
  AlignedBuffer data(kBytes);
  data.Append(AsBytes(RandomBytes(kBytes, 1)));
  const DeviceOffset start = device->geometry().ZoneStart(ZoneId(5));
  ASSERT_TRUE(IsOk(device->Write(start, data.View())));
  Faulty first(*device);
  ZoneReader metadata(first, ZoneId(5), kBytes);
  const std::string_view text = AsText(data.View());
  EXPECT_EQ(AsText(metadata.View(0, kBytes)), text);
  EXPECT_EQ(metadata.end(), kBytes);
  Faulty second(*device);
  ZoneWindow log(second, start, 0, kBytes);
  EXPECT_EQ(AsText(log.From(0, kBytes)), text);
  EXPECT_EQ(log.end(), kBytes);
}

// An image without a superblock, whose file is cut off between the report and a read.
TEST_F(ClaimedLengthTest, ASearchForRemainsEndsWithTheDevice) {
  class CutOff final : public ForwardingDevice {
   public:
    CutOff(ZonedDevice& device, std::string path, int reads)
        : ForwardingDevice(device), path_(std::move(path)), left_(reads) {}
    using ForwardingDevice::Read;
    Status Read(DeviceOffset offset, ByteSpan into) override {
      if (--left_ == 0 && ::truncate(path_.c_str(), 4096) != 0) ADD_FAILURE() << path_;
      return inner().Read(offset, into);
    }

   private:
    const std::string path_;
    int left_;
  };
  AlignedBuffer data(1 << 20);
  data.Append(AsBytes(RandomBytes(1 << 20, 1)));
  for (int reads = 1; reads <= 100; reads += 3) {
    const std::string path = directory_.File("cut" + std::to_string(reads));
    ASSERT_TRUE(IsOk(CreateEmulatedFile(path, {.zones = 24, .zone_size = 1 << 20}, false)));
    const auto device = *OpenEmulatedFile(path, OpenMode::kExclusive);
    for (std::uint32_t zone = 0; zone < 4; ++zone)
      ASSERT_TRUE(IsOk(device->Write(device->geometry().ZoneStart(ZoneId(zone)), data.View())));
    CutOff cut(*device, path, reads);
    EXPECT_FALSE(ProbeSuperblock(cut).ok()) << reads;
    ::unlink(path.c_str());
  }
}

// What was not written reads as zeros although the file is gone.
TEST_F(ClaimedLengthTest, WhatAFinishFilledIsKnownInAFileThatWasCutOff) {
  const auto device = Open(OpenMode::kExclusive);
  ASSERT_TRUE(IsOk(device->Finish(ZoneId(5))));
  ASSERT_EQ(::truncate(path_.c_str(), 1 << 20), 0);
  EXPECT_EQ(device->KnownZeros(device->geometry().ZoneStart(ZoneId(5)), kZoneBytes), kZoneBytes);
}

// Between them are less than 64 KiB.
TEST_F(ClaimedLengthTest, BlocksNearEachOtherCostNoMoreThanTheirSurroundings) {
  const auto device = Open(OpenMode::kExclusive);
  ASSERT_TRUE(IsOk(device->Finish(ZoneId(5))));
  const std::uint64_t data = ReadEmulatedFileInfo(path_)->file_bytes - 24 * kZoneBytes;
  const std::string garbage = RandomBytes(4096, 1);
  const UniqueFd file(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  std::uint64_t blocks = 0;
  for (std::uint64_t group = 0; group < 16; ++group) {
    for (std::uint64_t i = 0; i < 4; ++i, ++blocks) {
      const std::uint64_t at = data + 5 * kZoneBytes + (group << 22) + i * (60 << 10);
      ASSERT_EQ(::pwrite(file.get(), garbage.data(), garbage.size(), static_cast<off_t>(at)), 4096);
    }
  }
  const std::uint64_t before = BytesRead(*device);
  ScanLogZone(*device, {}, {.zone = ZoneId(5)}, *device->ReportZone(ZoneId(5)), [](const ScannedFrame&) {});
  EXPECT_LT(BytesRead(*device) - before, blocks * (160 << 10));
}

// Many zones in front of allocated space without data, where the host takes long to find the next data.
TEST_F(ClaimedLengthTest, OneHoleOverManyZonesIsAskedForOnce) {
  class Counted final : public ForwardingDevice {
   public:
    using ForwardingDevice::ForwardingDevice;
    std::uint64_t KnownZeros(DeviceOffset from, std::uint64_t length) override {
      ++questions;
      return inner().KnownZeros(from, length);
    }
    int questions = 0;
  };
  constexpr std::uint64_t kBytes = 1 << 20;
  const std::string path = directory_.File("small");
  ASSERT_TRUE(IsOk(CreateEmulatedFile(path, {.zones = 24, .zone_size = kBytes}, false)));
  const auto device = *OpenEmulatedFile(path, OpenMode::kExclusive);
  AlignedBuffer zeros(kBytes);
  zeros.Resize(kBytes);
  std::ranges::fill(zeros.Span(), std::byte{0});
  const auto start = [&](std::uint32_t zone) { return device->geometry().ZoneStart(ZoneId(zone)); };
  for (std::uint32_t zone = 0; zone < 24; ++zone)
    ASSERT_TRUE(IsOk(device->Write(start(zone), zeros.View())));  // takes no space
  Counted counted(*device);
  RememberedHoles pass(counted);
  for (std::uint32_t zone = 0; zone < 24; ++zone) EXPECT_EQ(pass.KnownZeros(start(zone), kBytes), kBytes);
  EXPECT_EQ(counted.questions, 1);
}

// An undo, reclaim and a restore write what they read.
TEST_F(ClaimedLengthTest, ZerosInAHoleTakeNoSpace) {
  const auto device = Open(OpenMode::kExclusive);
  AlignedBuffer zeros(1 << 20);
  zeros.Resize(zeros.capacity());
  std::ranges::fill(zeros.Span(), std::byte{0});
  const std::uint64_t before = ReadEmulatedFileInfo(path_)->allocated_bytes;
  const DeviceOffset start = device->geometry().ZoneStart(ZoneId(5));
  for (std::uint64_t i = 0; i < 32; ++i) ASSERT_TRUE(IsOk(device->Write(start + (i << 20), zeros.View())));
  EXPECT_LT(ReadEmulatedFileInfo(path_)->allocated_bytes, before + (1 << 20));
  const std::string data = RandomBytes(1 << 20, 1);
  AlignedBuffer found(1 << 20);
  found.Append(AsBytes(data));
  ASSERT_TRUE(IsOk(device->Write(start + (32 << 20), found.View())));
  ASSERT_TRUE(IsOk(device->Read(start + (31 << 20), found.Span())));
  EXPECT_TRUE(IsZeros(found.View()));
  ASSERT_TRUE(IsOk(device->Read(start + (32 << 20), found.Span())));
  EXPECT_EQ(AsText(found.View()), data);
}

}  // namespace
}  // namespace zenfs
