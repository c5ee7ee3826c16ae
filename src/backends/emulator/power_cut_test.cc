#include "backends/emulator/power_loss.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <vector>

#include "backends/emulator/emulated_file.h"
#include "backends/emulator/emulator.h"
#include "testing/device_data.h"
#include "testing/temp_directory.h"

namespace zenfs::power_cut_test {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kBlock = 4096;
constexpr std::uint32_t kZones = 8;
constexpr std::uint64_t kCapacity = 16;  // blocks
constexpr EmulatorGeometry kGeometry{.zones = kZones,
                                     .zone_size = 32 * kBlock,
                                     .zone_capacity = kCapacity * kBlock,
                                     .max_open = 2,
                                     .max_active = 3};

class PowerCutTest : public testing::Test {
 protected:
  void Create() { ASSERT_TRUE(CreateEmulatedFile(path, kGeometry, true, Timing::kNone, true).ok()); }
  std::unique_ptr<EmulatorDevice> Open() {
    auto device = OpenEmulatedFile(path, OpenMode::kExclusive);
    EXPECT_TRUE(device) << device.error().ToString();
    return device ? std::move(*device) : nullptr;
  }
  PowerCutLosses Cut(std::uint64_t seed) {
    const auto lost = CutPower(path, seed);
    EXPECT_TRUE(lost) << lost.error().ToString();
    return lost.value_or(PowerCutLosses{});
  }
  static AlignedBuffer Data(std::uint32_t zone, std::uint64_t block) {
    return Pattern(kBlock, zone * kCapacity + block);
  }
  // Writes at the write pointer of the zone, which the caller gives as `first`.
  static void Write(ZonedDevice& device, std::uint32_t zone, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t block = first; block < first + count; ++block) {
      ASSERT_TRUE(device.Append(ZoneId(zone), Data(zone, block).View()));
    }
  }
  static DeviceOffset Place(std::uint32_t zone, std::uint64_t block) {
    return DeviceOffset(zone * kGeometry.zone_size + block * kBlock);
  }
  static std::uint64_t Written(ZonedDevice& device, std::uint32_t zone) {
    return ReportOf(device, ZoneId(zone)).WrittenBytes() / kBlock;
  }
  // One character for each readable block: 'd' if it holds its data, '0' for zeros, '?' for
  // anything else.
  static std::string Blocks(ZonedDevice& device, std::uint32_t zone) {
    std::string found;
    for (std::uint64_t block = 0; block < kCapacity; ++block) {
      const auto read = ReadBack(device, Place(zone, block), kBlock);
      if (!read) break;
      const ByteView bytes = read->View();
      const bool zero =
          std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte(0); });
      found += SameBytes(bytes, Data(zone, block).View()) ? 'd' : zero ? '0' : '?';
    }
    return found;
  }
  static std::uint32_t Active(ZonedDevice& device) {
    const auto zones = device.Report(ZoneId(0), kZones).value();
    return static_cast<std::uint32_t>(
        std::count_if(zones.begin(), zones.end(), [](const ZoneInfo& z) { return IsActive(z.condition); }));
  }

  TempDirectory directory;
  std::string path = directory.File("a.img");
};

TEST_F(PowerCutTest, FlushedBlocksAreNeverLost) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Create();
    {
      const auto device = Open();
      Write(*device, 1, 0, 5);
      Write(*device, 2, 0, kCapacity);
      ASSERT_TRUE(device->Flush().ok());
      Write(*device, 1, 5, 7);
    }
    const PowerCutLosses lost = Cut(seed);
    EXPECT_EQ(lost.zones_at_risk, 1u);
    EXPECT_EQ(lost.blocks_at_risk, 7u);
    const auto device = Open();
    const std::string first = Blocks(*device, 1);
    ASSERT_EQ(first.substr(0, 5), "ddddd") << "seed " << seed;
    ASSERT_EQ(first.find('?'), std::string::npos);
    ASSERT_EQ(Blocks(*device, 2), std::string(kCapacity, 'd'));
    ASSERT_EQ(lost.blocks, 7 - std::count(first.begin() + 5, first.end(), 'd'));
    ASSERT_EQ(lost.zones, lost.blocks == 0 ? 0u : 1u);
  }
}

TEST_F(PowerCutTest, UnflushedBlocksAreLostAltogetherInPartAndNotAtAll) {
  int all = 0;
  int none = 0;
  int shorter = 0;
  int holes = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    Create();
    Write(*Open(), 1, 0, 10);
    Cut(seed);
    const std::string found = Blocks(*Open(), 1);
    ASSERT_EQ(found.find('?'), std::string::npos);
    all += found.empty() ? 1 : 0;
    none += found == "dddddddddd" ? 1 : 0;
    shorter += !found.empty() && found.size() < 10 ? 1 : 0;
    holes += found.find('0') != std::string::npos ? 1 : 0;
  }
  for (const int count : {all, none, shorter, holes}) EXPECT_GT(count, 12);
}

TEST_F(PowerCutTest, ZonesMeetDifferentFatesInOneCut) {
  int different = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Create();
    {
      const auto device = Open();
      Write(*device, 1, 0, 10);
      Write(*device, 2, 0, 10);
    }
    Cut(seed);
    const auto device = Open();
    const std::string one = Blocks(*device, 1);
    const std::string other = Blocks(*device, 2);
    different += one.empty() && other == "dddddddddd" ? 1 : 0;
    different += other.empty() && one == "dddddddddd" ? 1 : 0;
  }
  EXPECT_GT(different, 2);
}

TEST_F(PowerCutTest, FullZonesThatLoseBlocksKeepTheLimitOfActiveZones) {
  int closed = 0;
  int shortened = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Create();
    {
      const auto device = Open();
      for (std::uint32_t zone = 0; zone < 6; ++zone) Write(*device, zone, 0, zone < 5 ? kCapacity : 5);
    }
    Cut(seed);
    const auto device = Open();
    ASSERT_LE(Active(*device), kGeometry.max_active);
    for (std::uint32_t zone = 0; zone < 5; ++zone) {
      const ZoneCondition condition = ReportOf(*device, ZoneId(zone)).condition;
      closed += condition == ZoneCondition::kClosed ? 1 : 0;
      shortened += condition == ZoneCondition::kFull && Blocks(*device, zone).ends_with("000") ? 1 : 0;
    }
  }
  EXPECT_GT(closed, 15);
  EXPECT_GT(shortened, 15);
}

TEST_F(PowerCutTest, OpenZonesAreFoundClosed) {
  Create();
  {
    const auto device = Open();
    Write(*device, 1, 0, 2);
    ASSERT_TRUE(device->Open(ZoneId(2)).ok());
    ASSERT_TRUE(device->Flush().ok());
  }
  EXPECT_EQ(Cut(1).zones_at_risk, 0u);
  const auto device = Open();
  EXPECT_EQ(ReportOf(*device, ZoneId(1)).condition, ZoneCondition::kClosed);
  EXPECT_EQ(ReportOf(*device, ZoneId(2)).condition, ZoneCondition::kEmpty);
}

TEST_F(PowerCutTest, ResetsAndFinishesOfFlushedZonesStay) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Create();
    {
      const auto device = Open();
      Write(*device, 1, 0, 4);
      Write(*device, 2, 0, 4);
      ASSERT_TRUE(device->Flush().ok());
      ASSERT_TRUE(device->Reset(ZoneId(1)).ok());
      ASSERT_TRUE(device->Finish(ZoneId(2)).ok());
    }
    Cut(seed);
    const auto device = Open();
    ASSERT_EQ(ReportOf(*device, ZoneId(1)).condition, ZoneCondition::kEmpty);
    ASSERT_EQ(ReportOf(*device, ZoneId(2)).condition, ZoneCondition::kFull);
    ASSERT_EQ(Blocks(*device, 2), "dddd000000000000");
  }
}

TEST_F(PowerCutTest, SecondCutLosesNothing) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Create();
    Write(*Open(), 1, 0, 10);
    Cut(seed);
    const std::string found = Blocks(*Open(), 1);
    EXPECT_EQ(Cut(seed + 1).blocks_at_risk, 0u);
    ASSERT_EQ(Blocks(*Open(), 1), found);
  }
}

TEST_F(PowerCutTest, ZoneIsWrittenOnFromWhereItsPointerWasLeft) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Create();
    Write(*Open(), 1, 0, kCapacity);
    Cut(seed);
    const auto device = Open();
    const std::string found = Blocks(*device, 1);
    if (found.size() == kCapacity) continue;
    Write(*device, 1, found.size(), kCapacity - found.size());
    ASSERT_EQ(Blocks(*device, 1), found + std::string(kCapacity - found.size(), 'd'));
  }
}

TEST_F(PowerCutTest, SameSeedLosesTheSame) {
  std::set<std::string> all;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    std::array<std::string, 2> found;
    for (std::string& blocks : found) {
      Create();
      Write(*Open(), 1, 0, kCapacity);
      Cut(seed);
      blocks = Blocks(*Open(), 1);
    }
    ASSERT_EQ(found[0], found[1]) << "seed " << seed;
    all.insert(found[0]);
  }
  EXPECT_GT(all.size(), 5u);
}

// The time and the memory of a cut depend on the data in the file: a list of these blocks would take 128 GiB.
TEST_F(PowerCutTest, ClaimedBlocksInHolesAreNeitherListedNorCounted) {
  constexpr EmulatorGeometry kClaims{.zones = 8, .zone_size = std::uint64_t{1} << 40, .block_size = 512};
  constexpr std::uint64_t kBlocks = kClaims.zone_size / kClaims.block_size;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ASSERT_TRUE(CreateEmulatedFile(path, kClaims, true, Timing::kNone, true).ok());
    {
      const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
      const std::vector<std::uint64_t> words(kClaims.zones, PackZone({ZoneCondition::kFull, kBlocks}));
      const auto table = LayoutOf(kClaims, true).table_offset;
      ASSERT_TRUE(WriteAll(fd, table, std::as_bytes(std::span(words)), path).ok());
    }
    const PowerCutLosses lost = Cut(seed);
    EXPECT_EQ(lost.blocks_at_risk, kClaims.zones * kBlocks);
    const auto device = Open();
    std::uint64_t moved_back = kClaims.zones * kBlocks;
    for (std::uint32_t zone = 0; zone < kClaims.zones; ++zone)
      moved_back -= ReportOf(*device, ZoneId(zone)).WrittenBytes() / kClaims.block_size;
    EXPECT_EQ(lost.blocks, moved_back);
  }
}

TEST_F(PowerCutTest, DeviceInUseIsRefused) {
  Create();
  const auto device = Open();
  const auto cut = CutPower(path, 1);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code(), Code::kBusy);
  EXPECT_THAT(cut.error().text(), HasSubstr("in use by this process"));
}

TEST_F(PowerCutTest, DeviceWithoutAVolatileCacheIsRefusedUnchanged) {
  ASSERT_TRUE(CreateEmulatedFile(path, kGeometry, true).ok());
  Write(*Open(), 1, 0, 10);
  const auto cut = CutPower(path, 1);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code(), Code::kInvalidArgument);
  EXPECT_THAT(cut.error().text(), HasSubstr("--volatile-cache"));
  EXPECT_EQ(Blocks(*Open(), 1), "dddddddddd");
}

TEST_F(PowerCutTest, FailedZonesStayFailed) {
  Create();
  {
    const auto device = Open();
    Write(*device, 1, 0, 4);
    Write(*device, 2, 0, 4);
    ASSERT_TRUE(device->SetCondition(ZoneId(1), ZoneCondition::kOffline).ok());
    ASSERT_TRUE(device->SetCondition(ZoneId(2), ZoneCondition::kReadOnly).ok());
  }
  Cut(3);
  const auto device = Open();
  EXPECT_EQ(ReportOf(*device, ZoneId(1)).condition, ZoneCondition::kOffline);
  EXPECT_EQ(ReportOf(*device, ZoneId(2)).condition, ZoneCondition::kReadOnly);
}

}  // namespace
}  // namespace zenfs::power_cut_test
