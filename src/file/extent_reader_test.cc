#include "file/extent_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "device/forwarding_device.h"
#include "file/extent_list.h"
#include "zone/zone_test_rig.h"

namespace zenfs {
namespace {

// Three extents in two zones; block i of the file is filled with 'a' + i.
class ExtentReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    const DeviceOffset zone0(0), zone1 = rig_.device.geometry().ZoneStart(ZoneId(1));
    Put(zone0, {'a', 'b', 'e'});
    Put(zone1, {'c', 'd'});
    extents_ = {{0, zone0, 2 * kTestBlock},
                {2 * kTestBlock, zone1, 2 * kTestBlock},
                {4 * kTestBlock, zone0 + 2 * kTestBlock, 100}};
  }
  void Put(DeviceOffset place, std::vector<char> blocks) {
    AlignedBuffer buffer(blocks.size() * kTestBlock);
    buffer.Resize(blocks.size() * kTestBlock);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      std::memset(buffer.data() + i * kTestBlock, blocks[i], kTestBlock);
    }
    ASSERT_TRUE(rig_.device.Write(place, buffer.View()).ok());
  }
  static std::string Expected(std::uint64_t offset, std::size_t length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + (offset + i) / kTestBlock);
    return text;
  }

  ZoneTestRig rig_{TestGeometry(4, 16)};
  std::vector<Extent> extents_;
};

// A cache that holds what the device holds. It can't read `broken`.
class DeviceWithCache final : public ForwardingDevice, private HostCache {
 public:
  using ForwardingDevice::ForwardingDevice;
  using ForwardingDevice::Read;
  HostCache* host_cache() override { return this; }

  std::optional<ZoneId> broken;
  std::size_t reads = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> advised;  // offset on the device, length

 private:
  void Read(std::span<CachedRead> all) override {
    for (CachedRead& read : all) {
      ++reads;
      if (geometry().ZoneOf(read.offset) == broken) {
        read.status = Fail(Code::kIo, "broken");
        continue;
      }
      const std::uint64_t begin = RoundDown(read.offset.value, kTestBlock);
      const std::uint64_t end = RoundUp(read.offset.value + read.into.size(), kTestBlock);
      AlignedBuffer blocks(end - begin);
      blocks.Resize(end - begin);
      read.status = inner().Read(DeviceOffset(begin), blocks.Span());
      std::ranges::copy(blocks.View().subspan(read.offset.value - begin, read.into.size()),
                        read.into.begin());
    }
  }
  void Advise(DeviceOffset offset, std::uint64_t length, CacheAdvice) override {
    advised.emplace_back(offset.value, length);
  }
};

TEST_F(ExtentReaderTest, AReadThroughTheCacheMayCrossExtents) {
  DeviceWithCache device(rig_.device);
  for (const auto& [offset, length] : {std::pair<std::uint64_t, std::size_t>{0, 10},
                                       {kTestBlock + 7, 3 * kTestBlock + 50},
                                       {2 * kTestBlock - 1, 2},
                                       {4 * kTestBlock, 100}}) {
    std::string text(length, '?');
    ASSERT_TRUE(
        ReadExtents(device, extents_, offset, std::as_writable_bytes(std::span(text)), ReadSource::kCache)
            .ok());
    EXPECT_EQ(text, Expected(offset, length)) << offset;
  }
  EXPECT_GT(device.reads, 0u);
}

TEST_F(ExtentReaderTest, WhatTheCacheCannotReadIsReadFromTheDeviceOnce) {
  DeviceWithCache device(rig_.device);
  device.broken = ZoneId(1);
  for (const auto& [offset, length] :
       {std::pair<std::uint64_t, std::size_t>{2 * kTestBlock + 5, 10}, {kTestBlock, 3 * kTestBlock}}) {
    std::string text(length, '?');
    ASSERT_TRUE(
        ReadExtents(device, extents_, offset, std::as_writable_bytes(std::span(text)), ReadSource::kCache)
            .ok());
    EXPECT_EQ(text, Expected(offset, length));
  }
  device.reads = 0;
  std::string text(10, '?');
  rig_.device.Inject(
      {FaultyDevice::Command::kRead, 1, 100, ZoneId(1), Code::kIo, FaultyDevice::When::kBefore});
  const Status read = ReadExtents(device, extents_, 2 * kTestBlock, std::as_writable_bytes(std::span(text)),
                                  ReadSource::kCache);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().text().find("zone 1"), std::string::npos) << read.error().text();
  EXPECT_EQ(device.reads, 1u);
}

TEST_F(ExtentReaderTest, ARangeOutsideTheExtentsIsCorruptionWithACacheToo) {
  DeviceWithCache device(rig_.device);
  std::string text(101, '?');
  const Status status = ReadExtents(device, extents_, 4 * kTestBlock, std::as_writable_bytes(std::span(text)),
                                    ReadSource::kCache);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kCorruption);
}

TEST_F(ExtentReaderTest, AdviceIsForThePartsOfTheExtents) {
  DeviceWithCache device(rig_.device);
  const std::uint64_t zone1 = device.geometry().ZoneStart(ZoneId(1)).value;
  AdviseExtents(device, extents_, kTestBlock, 10 * kTestBlock, CacheAdvice::kWillNeed);
  using Range = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(device.advised,
            (std::vector<Range>{{kTestBlock, kTestBlock}, {zone1, 2 * kTestBlock}, {2 * kTestBlock, 100}}));
  AdviseExtents(rig_.device, extents_, 0, 10, CacheAdvice::kWillNeed);  // without a cache: nothing
}

// D14 of docs/internals/failures.md.
TEST_F(ExtentReaderTest, UnalignedReadAcrossExtentsReturnsTheBytesInOrder) {
  std::string text(3 * kTestBlock + 50, '?');
  ASSERT_TRUE(
      ReadExtents(rig_.device, extents_, kTestBlock + 7, std::as_writable_bytes(std::span(text))).ok());
  EXPECT_EQ(text, Expected(kTestBlock + 7, text.size()));
}

TEST_F(ExtentReaderTest, AlignedReadIsOneCommandWithoutACopy) {
  AlignedBuffer into(2 * kTestBlock);
  ASSERT_TRUE(ReadExtents(rig_.device, extents_, 2 * kTestBlock, into.Whole()).ok());
  EXPECT_EQ(AsText(into.Whole()), Expected(2 * kTestBlock, 2 * kTestBlock));
  EXPECT_EQ(rig_.device.count(FaultyDevice::Command::kRead), 1U);
}

TEST_F(ExtentReaderTest, AnyBytesOfOneExtentAreOneCommandForTheBlocksThatHoldThem) {
  const auto reads = [&] { return rig_.device.count(FaultyDevice::Command::kRead); };
  for (const Extent& extent : extents_) {
    for (const std::uint64_t from :
         {std::uint64_t{0}, std::uint64_t{1}, extent.length / 2, extent.length - 1}) {
      for (const std::uint64_t length : {std::uint64_t{1}, extent.length / 3, extent.length - from}) {
        if (from + length > extent.length) continue;
        const std::uint64_t before = reads();
        std::string text(length + 2, '?');
        ASSERT_TRUE(ReadExtents(rig_.device, extents_, extent.file_offset + from,
                                std::as_writable_bytes(std::span(text)).subspan(1, length))
                        .ok());
        EXPECT_EQ(text, "?" + Expected(extent.file_offset + from, length) + "?") << from;
        EXPECT_EQ(reads(), before + 1) << from << ' ' << length;
      }
    }
  }
}

TEST_F(ExtentReaderTest, AnErrorOfAnUnalignedReadNamesItsPlaceInTheFile) {
  rig_.device.Inject({.command = FaultyDevice::Command::kRead});
  std::string text(100, '?');
  const Status read = ReadExtents(rig_.device, extents_, 7, std::as_writable_bytes(std::span(text)));
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().text().find("100 bytes at file offset 7 from zone 0"), std::string::npos)
      << read.error().text();
}

TEST_F(ExtentReaderTest, EmptyReadSendsNoCommand) {
  ASSERT_TRUE(ReadExtents(rig_.device, extents_, 0, {}).ok());
  EXPECT_EQ(rig_.device.count(FaultyDevice::Command::kRead), 0U);
}

// Notes how many commands may be in flight: each reads into memory of its own.
class DeviceWithQueue final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  std::size_t deepest = 0;

  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override {
    deepest = std::max(deepest, depth);
    return inner().CreateQueue(depth);
  }
};

// A block of up to 64 KiB is read for each: a MiB of such extents would take 64 GiB at once.
TEST_F(ExtentReaderTest, ExtentsOfAByteEachAreReadInRounds) {
  constexpr std::uint64_t kBytes = 10'000;
  std::vector<Extent> extents;
  std::string expected;
  for (std::uint64_t i = 0; i < kBytes; ++i) {
    const Extent& from = extents_[i % extents_.size()];
    extents.push_back({.file_offset = i, .place = from.place, .length = 1});
    expected += Expected(from.file_offset, 1);
  }
  DeviceWithQueue device(rig_.device);
  std::string text(kBytes, '\0');
  ReadRequest request{0, std::as_writable_bytes(std::span(text)), {}};
  ReadExtentsMany(device, extents, {&request, 1});
  EXPECT_TRUE(request.status.ok());
  EXPECT_EQ(text, expected);
  EXPECT_LE(device.deepest, 300U);

  text.assign(kBytes, '\0');
  ReadBatch batch(device);
  batch.Start(extents, {&request, 1});
  batch.Finish();
  EXPECT_TRUE(request.status.ok());
  EXPECT_EQ(text, expected);
  EXPECT_LE(device.deepest, 300U);
}

// A foreign volume may have very many extents in few blocks.
TEST_F(ExtentReaderTest, ABlockOfManyExtentsIsReadOnce) {
  std::vector<Extent> extents;
  std::string expected;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Extent& from = extents_[i % extents_.size()];
    extents.push_back({.file_offset = i, .place = from.place + i / extents_.size(), .length = 1});
    expected += Expected(from.file_offset, 1);
  }
  for (const bool started : {false, true}) {
    const std::uint64_t before = rig_.device.count(FaultyDevice::Command::kRead);
    std::string text(expected.size(), '\0');
    ReadRequest request{0, std::as_writable_bytes(std::span(text)), {}};
    ReadBatch batch(rig_.device);
    if (started) {
      batch.Start(extents, {&request, 1});
      batch.Finish();
    } else {
      batch.Read(extents, {&request, 1}, ReadSource::kDevice);
    }
    EXPECT_TRUE(request.status.ok());
    EXPECT_EQ(text, expected);
    EXPECT_EQ(rig_.device.count(FaultyDevice::Command::kRead) - before, 3U);
  }
  rig_.device.Inject({FaultyDevice::Command::kRead, 2, 1, {}, Code::kIo, FaultyDevice::When::kBefore});
  std::string text(expected.size(), '\0');
  ReadRequest request{0, std::as_writable_bytes(std::span(text)), {}};
  ReadExtentsMany(rig_.device, extents, {&request, 1});
  ASSERT_FALSE(request.status.ok());
  EXPECT_EQ(request.status.error().code(), Code::kIo);
}

TEST_F(ExtentReaderTest, RangeOutsideTheExtentsIsCorruption) {
  std::string text(101, '?');
  const Status status =
      ReadExtents(rig_.device, extents_, 4 * kTestBlock, std::as_writable_bytes(std::span(text)));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kCorruption);
}

TEST_F(ExtentReaderTest, EachRequestHasItsOwnStatus) {
  std::string first(10, '?'), second(10, '?'), third(10, '?');
  std::vector<ReadRequest> requests{{0, std::as_writable_bytes(std::span(first)), {}},
                                    {2 * kTestBlock, std::as_writable_bytes(std::span(second)), {}},
                                    {9 * kTestBlock, std::as_writable_bytes(std::span(third)), {}}};
  rig_.device.Inject(
      {FaultyDevice::Command::kRead, 1, 100, ZoneId(1), Code::kIo, FaultyDevice::When::kBefore});
  ReadExtentsMany(rig_.device, extents_, requests);
  EXPECT_TRUE(requests[0].status.ok());
  EXPECT_EQ(first, Expected(0, 10));
  ASSERT_FALSE(requests[1].status.ok());
  EXPECT_EQ(requests[1].status.error().code(), Code::kIo);
  EXPECT_NE(requests[1].status.error().text().find("file offset 8192 from zone 1"), std::string::npos);
  ASSERT_FALSE(requests[2].status.ok());
  EXPECT_EQ(requests[2].status.error().code(), Code::kCorruption);
}

TEST(ExtentListTest, AdjacentExtentsJoinOnlyWithinOneZone) {
  Geometry geometry;
  geometry.zone_size = 4 * kTestBlock;
  std::vector<Extent> extents;
  AppendExtent(extents, {0, DeviceOffset(0), 2 * kTestBlock}, geometry);
  AppendExtent(extents, {2 * kTestBlock, DeviceOffset(2 * kTestBlock), 2 * kTestBlock}, geometry);
  AppendExtent(extents, {4 * kTestBlock, DeviceOffset(4 * kTestBlock), kTestBlock}, geometry);
  EXPECT_EQ(extents.size(), 2U);
  EXPECT_EQ(extents[0].length, 4 * kTestBlock);
}

TEST(ExtentListTest, ClipReturnsExactlyTheRange) {
  const std::vector<Extent> extents{{0, DeviceOffset(0), 3 * kTestBlock},
                                    {3 * kTestBlock, DeviceOffset(8 * kTestBlock), 100}};
  EXPECT_EQ(ClipExtents(extents, kTestBlock, 3 * kTestBlock + 50),
            (std::vector<Extent>{{kTestBlock, DeviceOffset(kTestBlock), 2 * kTestBlock},
                                 {3 * kTestBlock, DeviceOffset(8 * kTestBlock), 50}}));
  EXPECT_TRUE(ClipExtents(extents, 0, 0).empty());
}

// P1 of docs/internals/failures.md.
TEST(ExtentListTest, AnExtentAmongAQuarterOfAMillionIsFoundInTwentySteps) {
  constexpr std::uint64_t kExtents = 1 << 18;
  std::vector<Extent> extents;
  for (std::uint64_t i = 0; i < kExtents; ++i) extents.push_back({i * 4096, DeviceOffset(i * 8192), 4096});
  std::uint64_t most = 0;
  for (std::uint64_t i = 0; i < kExtents; i += 37) {
    std::uint64_t steps = 0;
    const auto counting = [&](std::uint64_t a, std::uint64_t b) {
      ++steps;
      return a < b;
    };
    ASSERT_EQ(FindExtent(extents, i * 4096 + 17, counting)->file_offset, i * 4096);
    most = std::max(most, steps);
  }
  EXPECT_LE(most, 20u);
}

}  // namespace
}  // namespace zenfs
