#include "backends/emulator/page_cache_model.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "backends/emulator/emulator.h"
#include "testing/device_data.h"

namespace zenfs {
namespace {

using testing::IsEmpty;

constexpr std::uint64_t kPage = kCachePageBytes;
constexpr ZoneId kZone(1);

class PageCacheModelTest : public testing::Test {
 protected:
  // The missing runs of [begin, end) as "begin-end ...", in pages; they are filled.
  std::string Read(std::uint64_t begin, std::uint64_t end, ZoneId zone = kZone) {
    std::string text;
    for (const PageCacheModel::Run& run : model_.Use(zone, begin, end).missing) {
      text += (text.empty() ? "" : " ") + std::to_string(run.begin / kPage) + "-" +
              std::to_string(run.end / kPage);
      model_.Fill(zone, run, {});
    }
    return text;
  }

  PageCacheModel model_{4, 8 * kPage};
};

TEST_F(PageCacheModelTest, EachPageIsReadOnce) {
  EXPECT_EQ(Read(kPage + 5, kPage + 6), "1-2");
  EXPECT_EQ(Read(0, 3 * kPage + 1), "0-1 2-4");
  EXPECT_EQ(Read(0, 4 * kPage), "");
  EXPECT_EQ(Read(0, kPage, ZoneId(2)), "0-1") << "another zone";
}

TEST_F(PageCacheModelTest, ThePagesUsedLongestAgoMakeRoom) {
  EXPECT_EQ(Read(0, 8 * kPage), "0-8");
  EXPECT_EQ(Read(0, kPage), "");
  EXPECT_EQ(Read(20 * kPage, 22 * kPage), "20-22");
  EXPECT_EQ(model_.pages(), 8u);
  EXPECT_EQ(Read(0, kPage), "") << "used last";
  EXPECT_EQ(Read(3 * kPage, 4 * kPage), "");
  EXPECT_EQ(Read(kPage, 3 * kPage), "1-3");
}

TEST_F(PageCacheModelTest, AResetZoneHasNoPages) {
  EXPECT_EQ(Read(0, 2 * kPage), "0-2");
  EXPECT_EQ(Read(0, kPage, ZoneId(2)), "0-1");
  model_.DropZone(kZone);
  EXPECT_EQ(Read(0, 2 * kPage), "0-2");
  EXPECT_EQ(Read(0, kPage, ZoneId(2)), "");
}

TEST_F(PageCacheModelTest, ADroppedRangeIsReadAgain) {
  EXPECT_EQ(Read(0, 4 * kPage), "0-4");
  model_.Drop(kZone, kPage, 3 * kPage);
  EXPECT_EQ(Read(0, 4 * kPage), "1-3");
}

TEST_F(PageCacheModelTest, APageIsThereWhenItsReadIsDue) {
  const SteadyTime later = SteadyTime{} + std::chrono::seconds(5);
  model_.Fill(kZone, {0, 2 * kPage}, later);
  EXPECT_EQ(model_.Use(kZone, 0, kPage).ready, later);
  EXPECT_EQ(model_.Use(kZone, 2 * kPage, 3 * kPage).ready, SteadyTime{});
}

TEST(PageCacheModelWithoutRoom, HoldsNothing) {
  PageCacheModel model(1, kPage - 1);
  model.Fill(ZoneId(0), {0, kPage}, {});
  EXPECT_EQ(model.Use(ZoneId(0), 0, kPage).missing.size(), 1u);
}

// --- the device that uses it ---

class EmulatedCacheTest : public testing::Test {
 protected:
  void Make(const EmulatorOptions& options) {
    device_ = CreateMemoryDevice({.zones = 4, .zone_size = 1 << 20, .block_size = 4096}, options);
    ASSERT_TRUE(device_->Write(DeviceOffset(0), data_.View()).ok());
  }
  // Reads of the device that a read through the cache takes.
  std::uint64_t Reads(std::uint64_t offset, std::size_t length) {
    const std::uint64_t before = DeviceReads();
    std::vector<std::byte> found(length);
    CachedRead read{DeviceOffset(offset), found, {}};
    device_->host_cache()->Read(std::span(&read, 1));
    EXPECT_TRUE(read.status.ok());
    EXPECT_TRUE(SameBytes(found, data_.View().subspan(offset, length)));
    return DeviceReads() - before;
  }
  std::uint64_t DeviceReads() const { return device_->meter().of(EmulatorCommand::kRead).commands; }

  AlignedBuffer data_ = Pattern(256 << 10, 1);
  std::unique_ptr<EmulatorDevice> device_;
};

TEST_F(EmulatedCacheTest, WhatItHoldsTakesNoReadOfTheDevice) {
  Make({.timing = Timing::kZn540});
  EXPECT_EQ(Reads(100, 5000), 1u);
  EXPECT_EQ(Reads(100, 5000), 0u);
  EXPECT_EQ(Reads(0, 8192), 0u) << "whole pages were read";
  EXPECT_EQ(Reads(0, 12288), 1u);
}

TEST_F(EmulatedCacheTest, WhatWasReadAheadTakesNoMore) {
  Make({.timing = Timing::kZn540});
  device_->host_cache()->Advise(DeviceOffset(0), 128 << 10, CacheAdvice::kWillNeed);
  EXPECT_EQ(DeviceReads(), 1u);
  EXPECT_EQ(Reads(0, 128 << 10), 0u);
  device_->host_cache()->Advise(DeviceOffset(0), 128 << 10, CacheAdvice::kDontNeed);
  EXPECT_EQ(Reads(0, 128 << 10), 1u);
}

TEST_F(EmulatedCacheTest, AResetDropsTheZone) {
  Make({.timing = Timing::kZn540});
  EXPECT_EQ(Reads(0, 4096), 1u);
  ASSERT_TRUE(device_->Reset(ZoneId(0)).ok());
  data_ = Pattern(256 << 10, 2);
  ASSERT_TRUE(device_->Write(DeviceOffset(0), data_.View()).ok());
  EXPECT_EQ(Reads(0, 4096), 1u);
}

TEST_F(EmulatedCacheTest, HoldsNoMoreThanItsSize) {
  Make({.read_us = 1, .page_cache_bytes = 16 << 10});
  EXPECT_EQ(Reads(0, 16 << 10), 1u);
  EXPECT_EQ(Reads(0, 16 << 10), 0u);
  EXPECT_EQ(Reads(32 << 10, 4096), 1u);
  EXPECT_EQ(Reads(4096, 12 << 10), 0u);
  EXPECT_EQ(Reads(0, 4096), 1u);
}

TEST_F(EmulatedCacheTest, BeginsWithWhatIsOnTheDeviceIfItShallBeWarm) {
  const std::string path = testing::TempDir() + "warm_cache_" + std::to_string(::getpid());
  const EmulatorGeometry geometry{.zones = 4, .zone_size = 1 << 20, .block_size = 4096};
  ASSERT_TRUE(CreateEmulatedFile(path, geometry, /*overwrite=*/true).ok());
  const auto open = [&](const EmulatorOptions& options) {
    device_.reset();
    auto opened = OpenEmulatedFile(path, OpenMode::kExclusive, options);
    ASSERT_TRUE(opened.ok());
    device_ = *std::move(opened);
  };
  open({});
  ASSERT_TRUE(device_->Write(DeviceOffset(0), data_.View()).ok());
  open({.read_us = 1});
  EXPECT_EQ(Reads(0, data_.size()), 1u);
  open({.read_us = 1, .warm_cache = true});
  EXPECT_EQ(Reads(0, data_.size()), 0u);
  open({.read_us = 1, .page_cache_bytes = 16 << 10, .warm_cache = true});
  EXPECT_EQ(Reads(0, 16 << 10), 0u);
  EXPECT_EQ(Reads(16 << 10, 4096), 1u) << "no more than its size";
  device_.reset();
  std::remove(path.c_str());
}

TEST_F(EmulatedCacheTest, WithoutTimesNothingIsModelled) {
  Make({});
  EXPECT_EQ(Reads(0, 4096), 0u);
}

TEST_F(EmulatedCacheTest, BytesBeyondTheWritePointerAreRefused) {
  Make({});
  std::vector<std::byte> found(2);
  CachedRead read{DeviceOffset(data_.size() - 1), found, {}};
  device_->host_cache()->Read(std::span(&read, 1));
  EXPECT_FALSE(read.status.ok());
}

}  // namespace
}  // namespace zenfs
