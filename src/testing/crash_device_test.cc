#include "testing/crash_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/crc32c.h"
#include "testing/device_data.h"
#include "testing/split_device.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kBlock = 4096;

EmulatorGeometry Small() {
  return {.zones = 4, .zone_size = 8 * kBlock, .zone_capacity = 6 * kBlock, .max_open = 2, .max_active = 2};
}

Status WriteBlocks(CrashDevice& device, std::uint32_t zone, std::uint64_t block, std::uint64_t count,
                   std::uint64_t seed = 1) {
  return device.Write(device.geometry().ZoneStart(ZoneId(zone)) + block * kBlock,
                      Pattern(count * kBlock, seed).View());
}

std::uint64_t Written(CrashDevice& device, std::uint32_t zone) {
  return ReportOf(device, ZoneId(zone)).WrittenBytes() / kBlock;
}

// The zone's blocks as one text: the checksum of each block, 0 for zeros, X for an unreadable one.
std::string Describe(CrashDevice& device, std::uint32_t zone) {
  static const std::uint32_t kZeroCrc = Crc32c(std::vector<std::byte>(kBlock));
  std::string text(ConditionName(ReportOf(device, ZoneId(zone)).condition));
  for (std::uint64_t b = 0; b < Written(device, zone); ++b) {
    const auto block = ReadBack(device, device.geometry().ZoneStart(ZoneId(zone)) + b * kBlock, kBlock);
    const std::uint32_t crc = block ? Crc32c(block->View()) : 0;
    text += !block ? " X" : crc == kZeroCrc ? " 0" : " " + std::to_string(crc);
  }
  return text;
}

TEST(CrashDeviceTest, FlushedDataSurvivesEveryLoss) {
  CrashDevice device(Small());
  ASSERT_TRUE(WriteBlocks(device, 0, 0, 2).ok());
  ASSERT_TRUE(device.Flush().ok());
  ASSERT_TRUE(WriteBlocks(device, 0, 2, 2, 2).ok());
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto found = device.Image(seed == 0 ? LossPolicy::LoseAll() : LossPolicy::Random(seed));
    ASSERT_GE(Written(*found, 0), 2u);
    EXPECT_TRUE(
        SameBytes(ReadBack(*found, DeviceOffset(0), 2 * kBlock)->View(), Pattern(2 * kBlock, 1).View()));
  }
}

TEST(CrashDeviceTest, ZerosAreKnownIfTheyAreShown) {
  for (const bool shown : {false, true}) {
    CrashDevice device(Small());
    if (shown) device.ShowZeros();
    AlignedBuffer blocks = Pattern(4 * kBlock, 1);
    std::ranges::fill(blocks.Span().subspan(kBlock, 2 * kBlock), std::byte{0});
    const DeviceOffset zone = device.geometry().ZoneStart(ZoneId(1));
    ASSERT_TRUE(device.Write(zone, blocks.View()).ok());
    const auto image = device.Image(LossPolicy::KeepAll());
    for (CrashDevice* one : {&device, image.get()}) {
      EXPECT_EQ(one->KnownZeros(zone, 8 * kBlock), 0u);
      EXPECT_EQ(one->KnownZeros(zone + kBlock, kBlock), shown ? kBlock : 0);
      EXPECT_EQ(one->KnownZeros(zone + kBlock, 8 * kBlock), shown ? 2 * kBlock : 0);
      EXPECT_EQ(one->KnownZeros(zone + 3 * kBlock, 8 * kBlock), 0u);
      EXPECT_EQ(one->KnownZeros(zone + 4 * kBlock, 9 * kBlock), shown ? 4 * kBlock : 0) << "not written";
    }
    const auto lost = device.Image(LossPolicy::LoseAll());
    EXPECT_EQ(lost->KnownZeros(zone, kBlock), shown ? kBlock : 0);
    ASSERT_TRUE(device.SetCondition(ZoneId(1), ZoneCondition::kOffline).ok());
    EXPECT_EQ(device.KnownZeros(zone + kBlock, kBlock), 0u);
  }
}

TEST(CrashDeviceTest, LoseAllLosesUnflushedDataAndClosesZones) {
  CrashDevice device(Small());
  ASSERT_TRUE(WriteBlocks(device, 0, 0, 2).ok());
  ASSERT_TRUE(device.Open(ZoneId(1)).ok());
  ASSERT_TRUE(device.Flush().ok());
  ASSERT_TRUE(WriteBlocks(device, 0, 2, 1).ok());
  ASSERT_TRUE(device.Reset(ZoneId(1)).ok());
  ASSERT_TRUE(device.Finish(ZoneId(1)).ok());
  const auto found = device.Image(LossPolicy::LoseAll());
  EXPECT_EQ(Written(*found, 0), 2u);
  EXPECT_EQ(ReportOf(*found, ZoneId(0)).condition, ZoneCondition::kClosed);
  EXPECT_EQ(ReportOf(*found, ZoneId(1)).condition, ZoneCondition::kEmpty);
}

TEST(CrashDeviceTest, KeepAllKeepsAllDataUnflushed) {
  CrashDevice device(Small());
  ASSERT_TRUE(WriteBlocks(device, 0, 0, 2).ok());
  const auto found = device.Image(LossPolicy::KeepAll());
  EXPECT_EQ(Describe(*found, 0), Describe(device, 0));
  EXPECT_EQ(ReportOf(*found, ZoneId(0)).condition, ZoneCondition::kImplicitlyOpen);
  EXPECT_EQ(Written(*found->Image(LossPolicy::LoseAll()), 0), 0u);
}

TEST(CrashDeviceTest, LostResetBringsTheOldDataBack) {
  CrashDevice device(Small());
  ASSERT_TRUE(WriteBlocks(device, 0, 0, 6).ok());
  ASSERT_TRUE(device.Flush().ok());
  const std::string before = Describe(device, 0);
  ASSERT_TRUE(device.Reset(ZoneId(0)).ok());
  ASSERT_TRUE(WriteBlocks(device, 0, 0, 1, 2).ok());
  EXPECT_EQ(Describe(*device.Image(LossPolicy::LoseAll()), 0), before);
}

TEST(CrashDeviceTest, ImagesAreIndependentOfTheDevice) {
  CrashDevice device(Small());
  ASSERT_TRUE(WriteBlocks(device, 0, 0, 1).ok());
  ASSERT_TRUE(device.Flush().ok());
  const auto found = device.Image(LossPolicy::LoseAll());
  ASSERT_TRUE(WriteBlocks(*found, 0, 1, 1, 7).ok());
  EXPECT_EQ(found->commands(), 1u);
  EXPECT_EQ(Written(device, 0), 1u);
  ASSERT_TRUE(device.Reset(ZoneId(0)).ok());
  EXPECT_EQ(Written(*found, 0), 2u);
}

TEST(CrashDeviceTest, StopsAfterTheChosenCommand) {
  CrashDevice device(Small());
  device.StopAfter(2);
  ASSERT_TRUE(WriteBlocks(device, 0, 0, 1).ok());
  ASSERT_TRUE(device.Flush().ok());
  EXPECT_TRUE(ReadBack(device, DeviceOffset(0), kBlock)) << "the power goes with the next change";
  const Status status = WriteBlocks(device, 0, 1, 1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kIo);
  EXPECT_THAT(status.error().text(), HasSubstr("power lost"));
  EXPECT_TRUE(device.stopped());
  EXPECT_FALSE(ReadBack(device, DeviceOffset(0), kBlock));
  EXPECT_FALSE(device.Report(ZoneId(0), 1));
  EXPECT_FALSE(device.Flush().ok());
  EXPECT_EQ(device.commands(), 2u);
  EXPECT_EQ(Written(*device.Image(LossPolicy::LoseAll()), 0), 1u);
}

TEST(CrashDeviceTest, EnumerationGivesEveryCutAndEveryTear) {
  CrashDevice device(Small());
  ASSERT_TRUE(WriteBlocks(device, 0, 0, 1, 1).ok());
  ASSERT_TRUE(WriteBlocks(device, 0, 1, 2, 2).ok());
  const auto found = device.EnumerateImages(1000);
  ASSERT_TRUE(found.complete);
  std::set<std::string> outcomes;
  for (const auto& image : found.images) outcomes.insert(Describe(*image, 0));
  const auto crc = [](std::uint64_t seed, std::size_t size, std::size_t at) {
    return std::to_string(Crc32c(Pattern(size * kBlock, seed).View(at * kBlock, kBlock)));
  };
  const std::string a = crc(1, 1, 0), b = crc(2, 2, 0), c = crc(2, 2, 1);
  EXPECT_TRUE(outcomes.contains("empty"));
  for (const std::string& outcome :
       std::vector<std::string>{a, a + " " + b, a + " " + b + " " + c, a + " 0 " + c, a + " X " + c,
                                "0 " + b + " " + c, "X " + b, "0 0 0", a + " " + b + " X"}) {
    EXPECT_TRUE(outcomes.contains("closed " + outcome)) << outcome;
  }
}

TEST(CrashDeviceTest, TooManyCombinationsGiveASampleOfTheAskedSize) {
  CrashDevice device(Small());
  for (std::uint32_t zone = 0; zone < 2; ++zone) {
    for (std::uint64_t b = 0; b < 5; ++b) ASSERT_TRUE(WriteBlocks(device, zone, b, 1).ok());
  }
  const auto found = device.EnumerateImages(20);
  EXPECT_FALSE(found.complete);
  EXPECT_EQ(found.images.size(), 20u);
}

TEST(CrashDeviceTest, HoleShowsDataFromBeforeTheReset) {
  CrashDevice device(Small());
  ASSERT_TRUE(WriteBlocks(device, 0, 0, 2, 1).ok());
  ASSERT_TRUE(device.Reset(ZoneId(0)).ok());
  ASSERT_TRUE(device.Flush().ok());
  ASSERT_TRUE(WriteBlocks(device, 0, 0, 2, 2).ok());
  std::set<std::string> outcomes;
  for (const auto& image : device.EnumerateImages(1000).images) outcomes.insert(Describe(*image, 0));
  const AlignedBuffer old = Pattern(2 * kBlock, 1), fresh = Pattern(2 * kBlock, 2);
  EXPECT_TRUE(outcomes.contains("closed " + std::to_string(Crc32c(old.View(0, kBlock))) + " " +
                                std::to_string(Crc32c(fresh.View(kBlock, kBlock)))));
}

TEST(CrashDeviceTest, NoImageExceedsTheActiveLimit) {
  CrashDevice device(Small());
  ASSERT_TRUE(WriteBlocks(device, 0, 0, 1).ok());
  ASSERT_TRUE(WriteBlocks(device, 1, 0, 1).ok());
  ASSERT_TRUE(device.Flush().ok());
  ASSERT_TRUE(device.Finish(ZoneId(0)).ok());
  ASSERT_TRUE(WriteBlocks(device, 2, 0, 1).ok());
  const auto found = device.EnumerateImages(1000);
  ASSERT_TRUE(found.complete);
  for (const auto& image : found.images) {
    int active = 0;
    for (std::uint32_t z = 0; z < 4; ++z) active += IsActive(ReportOf(*image, ZoneId(z)).condition) ? 1 : 0;
    EXPECT_LE(active, 2);
  }
}

// Makes a flush lose block 1 of zone 0, but not the flushed block 0, with the first seed that does
// so.
void DropBlockOne(CrashDevice& device) {
  ASSERT_TRUE(WriteBlocks(device, 0, 0, 1).ok());
  ASSERT_TRUE(device.Flush().ok());
  ASSERT_TRUE(WriteBlocks(device, 0, 1, 1, 2).ok());
  for (std::uint64_t seed = 0; !device.dropped(); ++seed) device.DropCache(seed);
}

TEST(CrashDeviceTest, BlocksDroppedByAFailedFlushAreReadUntilTheCacheIsLost) {
  CrashDevice device(Small());
  const std::string before = [&] {
    CrashDevice well(Small());
    EXPECT_TRUE(WriteBlocks(well, 0, 0, 1).ok());
    EXPECT_TRUE(WriteBlocks(well, 0, 1, 1, 2).ok());
    return Describe(well, 0);
  }();
  ASSERT_NO_FATAL_FAILURE(DropBlockOne(device));
  EXPECT_EQ(Describe(device, 0), before);
  EXPECT_NE(Describe(*device.Image(LossPolicy::KeepAll()), 0), before);
}

TEST(CrashDeviceTest, ALaterFlushDoesNotMakeDroppedBlocksDurable) {
  CrashDevice device(Small());
  ASSERT_NO_FATAL_FAILURE(DropBlockOne(device));
  ASSERT_TRUE(WriteBlocks(device, 0, 2, 1, 3).ok());
  ASSERT_TRUE(device.Flush().ok());
  const auto found = device.Image(LossPolicy::LoseAll());
  ASSERT_EQ(Written(*found, 0), 3u);
  const auto block = [&](std::uint64_t n) { return ReadBack(*found, DeviceOffset(n * kBlock), kBlock); };
  EXPECT_TRUE(SameBytes(block(0)->View(), Pattern(kBlock, 1).View()));
  EXPECT_TRUE(!block(1) || !SameBytes(block(1)->View(), Pattern(kBlock, 2).View()));
  EXPECT_TRUE(SameBytes(block(2)->View(), Pattern(kBlock, 3).View()));
}

TEST(CrashDeviceTest, SameSeedGivesTheSameImage) {
  CrashDevice device(Small());
  for (std::uint64_t b = 0; b < 5; ++b) ASSERT_TRUE(WriteBlocks(device, 0, b, 1, b).ok());
  std::set<std::string> outcomes;
  for (std::uint64_t seed = 1; seed < 60; ++seed) {
    const std::string once = Describe(*device.Image(LossPolicy::Random(seed)), 0);
    EXPECT_EQ(Describe(*device.Image(LossPolicy::Random(seed)), 0), once);
    outcomes.insert(once);
  }
  EXPECT_GT(outcomes.size(), 10u);
}

// Zone 0 has a random write area of 4 blocks; a commit takes 2.
class CrashedRandomArea : public ::testing::Test {
 protected:
  static EmulatorGeometry Geometry() {
    EmulatorGeometry geometry = Small();
    geometry.random_area = 4 * kBlock;
    geometry.random_unit = 2 * kBlock;
    geometry.random_zones = 1;
    return geometry;
  }
  void SetUp() override { ASSERT_TRUE(device.OpenRandom(ZoneId(0)).ok()); }

  // The seed of the pattern in each block up to `blocks`; 0: zeros, X: unreadable, ?: something else.
  static std::string Seeds(CrashDevice& found, std::uint64_t blocks) {
    std::string text;
    for (std::uint64_t block = 0; block < blocks; ++block) {
      const auto read = ReadBack(found, DeviceOffset(block * kBlock), kBlock);
      char seed = read ? '?' : 'X';
      if (read && SameBytes(read->View(), std::vector<std::byte>(kBlock))) seed = '0';
      for (std::uint64_t i = 1; read && i < 10; ++i) {
        if (SameBytes(read->View(), Pattern(kBlock, i).View())) seed = static_cast<char>('0' + i);
      }
      text += seed;
    }
    return text;
  }
  Status Put(std::uint64_t block, std::uint64_t seed) { return WriteBlocks(device, 0, block, 1, seed); }
  std::set<std::string> FoundAtRandom(std::uint64_t blocks) const {
    std::set<std::string> found;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      found.insert(Seeds(*device.Image(LossPolicy::Random(seed)), blocks));
    }
    return found;
  }

  CrashDevice device{Geometry()};
};

TEST_F(CrashedRandomArea, LoseAllKeepsTheFlushedBlocksAndTheArea) {
  ASSERT_TRUE(Put(1, 1).ok());
  ASSERT_TRUE(device.Flush().ok());
  ASSERT_TRUE(Put(1, 2).ok());
  ASSERT_TRUE(Put(3, 3).ok());
  const auto found = device.Image(LossPolicy::LoseAll());
  EXPECT_EQ(Seeds(*found, 4), "0100");
  const ZoneInfo zone = ReportOf(*found, ZoneId(0));
  EXPECT_EQ(zone.condition, ZoneCondition::kClosed);
  EXPECT_TRUE(zone.random_area);
  EXPECT_EQ(zone.WrittenBytes(), 0u);
}

TEST_F(CrashedRandomArea, KeepAllKeepsEverything) {
  ASSERT_TRUE(Put(1, 1).ok());
  ASSERT_TRUE(Put(1, 2).ok());
  EXPECT_EQ(Seeds(*device.Image(LossPolicy::KeepAll()), 4), "0200");
}

TEST_F(CrashedRandomArea, LoseAllBeforeAFlushLosesTheArea) {
  ASSERT_TRUE(Put(1, 1).ok());
  const auto found = device.Image(LossPolicy::LoseAll());
  EXPECT_EQ(ReportOf(*found, ZoneId(0)).condition, ZoneCondition::kEmpty);
  EXPECT_FALSE(ReportOf(*found, ZoneId(0)).random_area);
}

TEST_F(CrashedRandomArea, EachUnflushedBlockIsOldOrNewOrUnreadable) {
  ASSERT_TRUE(Put(0, 1).ok());
  ASSERT_TRUE(Put(1, 1).ok());
  ASSERT_TRUE(device.Flush().ok());
  ASSERT_TRUE(WriteBlocks(device, 0, 1, 1, 2).ok());
  ASSERT_TRUE(WriteBlocks(device, 0, 2, 1, 2).ok());
  const std::set<std::string> found = FoundAtRandom(4);
  for (const char* blocks : {"1100", "1200", "1120", "1220", "1X00", "1X20", "11X0", "12X0"}) {
    EXPECT_TRUE(found.contains(blocks)) << blocks;
  }
  for (const std::string& blocks : found) EXPECT_THAT(blocks, testing::MatchesRegex("1[12X][02X]0"));
}

TEST_F(CrashedRandomArea, EnumerationContainsOldAndNewOfEachBlock) {
  ASSERT_TRUE(Put(0, 1).ok());
  ASSERT_TRUE(device.Flush().ok());
  ASSERT_TRUE(Put(0, 2).ok());
  ASSERT_TRUE(Put(2, 3).ok());
  const CrashDevice::Images all = device.EnumerateImages(100);
  ASSERT_TRUE(all.complete);
  std::set<std::string> found;
  for (const auto& image : all.images) found.insert(Seeds(*image, 4));
  EXPECT_EQ(found, (std::set<std::string>{"1000", "2000", "1030", "2030"}));
}

TEST_F(CrashedRandomArea, AnUnflushedCommitMayBeLostAndItsBlocksStay) {
  ASSERT_TRUE(device.Flush().ok());
  ASSERT_TRUE(Put(0, 1).ok());
  ASSERT_TRUE(Put(4, 2).ok());  // moves the area by one unit
  const CrashDevice::Images all = device.EnumerateImages(100);
  ASSERT_TRUE(all.complete);
  std::set<std::string> found;
  for (const auto& image : all.images) {
    const std::uint64_t written = Written(*image, 0);
    found.insert(std::to_string(written) + ":" + Seeds(*image, written + 4));
  }
  EXPECT_EQ(found,
            (std::set<std::string>{"0:0000", "0:1000", "2:000000", "2:100000", "2:000020", "2:100020"}));
}

TEST_F(CrashedRandomArea, BlockBehindTheAreaIsGoneAfterALostCommit) {
  ASSERT_TRUE(device.Flush().ok());
  ASSERT_TRUE(Put(4, 2).ok());
  for (const auto& image : device.EnumerateImages(100).images) {
    if (Written(*image, 0) != 0) continue;
    ASSERT_TRUE(WriteBlocks(*image, 0, 5, 1, 3).ok());
    EXPECT_EQ(Seeds(*image, 6), "000003");
  }
}

TEST_F(CrashedRandomArea, FinishedZoneKeepsTheFlushedBlocks) {
  ASSERT_TRUE(Put(2, 1).ok());
  ASSERT_TRUE(device.Flush().ok());
  ASSERT_TRUE(Put(2, 2).ok());
  ASSERT_TRUE(device.Finish(ZoneId(0)).ok());
  EXPECT_EQ(FoundAtRandom(4), (std::set<std::string>{"0010", "0020", "00X0"}));
}

TEST_F(CrashedRandomArea, OldBlocksAreZerosAfterAReset) {
  ASSERT_TRUE(Put(0, 1).ok());
  ASSERT_TRUE(device.Flush().ok());
  ASSERT_TRUE(device.Reset(ZoneId(0)).ok());
  ASSERT_TRUE(device.OpenRandom(ZoneId(0)).ok());
  ASSERT_TRUE(Put(0, 2).ok());
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto found = device.Image(LossPolicy::Random(seed));
    const ZoneInfo zone = ReportOf(*found, ZoneId(0));
    if (!zone.random_area) {
      EXPECT_EQ(zone.condition, ZoneCondition::kEmpty);
      continue;
    }
    const std::string block = Seeds(*found, 1);
    EXPECT_TRUE(block == "0" || block == "1" || block == "2" || block == "X") << block;
  }
}

TEST_F(CrashedRandomArea, ImagesKeepTheLimitOfAreas) {
  ASSERT_TRUE(device.Flush().ok());
  ASSERT_TRUE(device.Reset(ZoneId(0)).ok());
  ASSERT_TRUE(device.OpenRandom(ZoneId(1)).ok());
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto found = device.Image(LossPolicy::Random(seed));
    EXPECT_FALSE(ReportOf(*found, ZoneId(0)).random_area && ReportOf(*found, ZoneId(1)).random_area);
  }
}

TEST_F(CrashedRandomArea, DroppedOverwriteShowsTheFlushedBlockAfterwards) {
  ASSERT_TRUE(Put(0, 1).ok());
  ASSERT_TRUE(device.Flush().ok());
  ASSERT_TRUE(Put(0, 2).ok());
  std::uint64_t seed = 0;
  while (!device.dropped()) device.DropCache(++seed);
  ASSERT_TRUE(device.Flush().ok());
  EXPECT_EQ(Seeds(device, 1), "2");
  EXPECT_EQ(Seeds(*device.Image(LossPolicy::LoseAll()), 1), "1");
}

// --- bytes that rot, and copies of two joined devices ---

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

}  // namespace
}  // namespace zenfs
