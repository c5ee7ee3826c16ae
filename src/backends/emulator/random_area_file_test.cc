// Random write areas of an emulated device in a file: what survives the process, and a loss of power.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <set>

#include "backends/emulator/emulated_clone.h"
#include "backends/emulator/emulated_file.h"
#include "backends/emulator/emulated_file_test_util.h"
#include "backends/emulator/power_loss.h"
#include "testing/device_data.h"
#include "testing/temp_directory.h"

namespace zenfs::random_area_file_test {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kBlock = 4096;
constexpr std::uint64_t kArea = 4;  // blocks
constexpr EmulatorGeometry kGeometry{.zones = 4,
                                     .zone_size = 32 * kBlock,
                                     .zone_capacity = 24 * kBlock,
                                     .max_open = 3,
                                     .max_active = 3,
                                     .random_area = kArea * kBlock,
                                     .random_unit = 2 * kBlock,
                                     .random_zones = 2};

class RandomAreaFile : public testing::Test {
 protected:
  void Create(bool volatile_cache = false) {
    ASSERT_TRUE(CreateEmulatedFile(path, kGeometry, true, Timing::kNone, volatile_cache).ok());
  }
  std::unique_ptr<EmulatorDevice> Open(OpenMode mode = OpenMode::kExclusive) {
    auto device = OpenEmulatedFile(path, mode);
    EXPECT_TRUE(device) << device.error().ToString();
    return device ? std::move(*device) : nullptr;
  }
  Error ErrorOfOpening() {
    auto device = OpenEmulatedFile(path, OpenMode::kExclusive);
    return device ? Error(Code::kExists, "it opened") : device.error();
  }
  static Status Put(ZonedDevice& device, std::uint64_t block, std::uint64_t seed) {
    return device.Write(DeviceOffset(block * kBlock), Pattern(kBlock, seed).View());
  }
  // The seed of each readable block of zone 0; 0: zeros, ?: something else.
  static std::string Seeds(ZonedDevice& device) {
    std::string text;
    for (std::uint64_t block = 0; block < 24; ++block) {
      const auto read = ReadBack(device, DeviceOffset(block * kBlock), kBlock);
      if (!read) break;
      char seed = SameBytes(read->View(), std::vector<std::byte>(kBlock)) ? '0' : '?';
      for (std::uint64_t i = 1; i < 10; ++i) {
        if (SameBytes(read->View(), Pattern(kBlock, i).View())) seed = static_cast<char>('0' + i);
      }
      text += seed;
    }
    return text;
  }
  static std::uint64_t Written(ZonedDevice& device) {
    return ReportOf(device, ZoneId(0)).WrittenBytes() / kBlock;
  }
  // What different seeds of a power cut leave of the zone that `work` wrote, as "pointer:blocks".
  std::set<std::string> Cuts(const std::function<void(ZonedDevice&)>& work) {
    std::set<std::string> found;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      Create(/*volatile_cache=*/true);
      {
        const auto device = Open();
        EXPECT_TRUE(device->OpenRandom(ZoneId(0)).ok());
        work(*device);
      }
      EXPECT_TRUE(CutPower(path, seed));
      const auto device = Open();
      found.insert(std::to_string(Written(*device)) + ":" + Seeds(*device));
    }
    return found;
  }

  TempDirectory directory;
  std::string path = directory.File("a.img");
};

TEST_F(RandomAreaFile, IsOfVersionThreeAndTellsItsAreas) {
  for (const bool cache : {false, true}) {
    Create(cache);
    const auto info = ReadEmulatedFileInfo(path);
    ASSERT_TRUE(info) << info.error().ToString();
    EXPECT_EQ(info->version, 3u);
    EXPECT_EQ(info->volatile_cache, cache);
    EXPECT_EQ(info->geometry, kGeometry);
  }
}

TEST_F(RandomAreaFile, AreaAndBlocksAreFoundAgain) {
  Create();
  {
    const auto device = Open();
    ASSERT_TRUE(device->OpenRandom(ZoneId(0)).ok());
    ASSERT_TRUE(Put(*device, 1, 1).ok());
    ASSERT_TRUE(Put(*device, 4, 2).ok());  // moves the area by a unit
  }
  for (const OpenMode mode : {OpenMode::kReadOnly, OpenMode::kExclusive}) {
    const auto device = Open(mode);
    const ZoneInfo zone = ReportOf(*device, ZoneId(0));
    EXPECT_EQ(zone.condition, ZoneCondition::kExplicitlyOpen);
    EXPECT_TRUE(zone.random_area);
    EXPECT_EQ(Written(*device), 2u);
    EXPECT_EQ(Seeds(*device), "010020");
  }
  EXPECT_TRUE(Put(*Open(), 4, 3).ok());
  EXPECT_EQ(Seeds(*Open()), "010030");
}

TEST_F(RandomAreaFile, ResetLeavesZerosForTheNextArea) {
  Create();
  const auto device = Open();
  ASSERT_TRUE(device->Write(DeviceOffset(0), Pattern(8 * kBlock, 1).View()).ok());
  ASSERT_TRUE(device->Reset(ZoneId(0)).ok());
  ASSERT_TRUE(device->OpenRandom(ZoneId(0)).ok());
  EXPECT_EQ(Seeds(*device), "0000");
}

TEST_F(RandomAreaFile, ClonesHaveThemToo) {
  Create(/*volatile_cache=*/true);
  {
    const auto device = Open();
    ASSERT_TRUE(device->OpenRandom(ZoneId(0)).ok());
    ASSERT_TRUE(Put(*device, 1, 1).ok());
  }
  const std::string to = directory.File("b.img");
  ASSERT_TRUE(EmulatedClone::Begin(path, to, false).value()->Finish().ok());
  const auto clone = OpenEmulatedFile(to, OpenMode::kExclusive).value();
  EXPECT_TRUE(ReportOf(*clone, ZoneId(0)).random_area);
  EXPECT_EQ(Seeds(*clone), "0100");
}

TEST_F(RandomAreaFile, AreaInTheZoneWordOfADeviceWithoutThemIsDamage) {
  EmulatorGeometry plain = kGeometry;
  plain.random_area = plain.random_unit = plain.random_zones = 0;
  ASSERT_TRUE(CreateEmulatedFile(path, plain, true).ok());
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const std::uint64_t word = 0x13;
  ASSERT_TRUE(WriteAll(fd, kEmulatedHeaderBytes, std::as_bytes(std::span(&word, 1)), path).ok());
  EXPECT_EQ(ErrorOfOpening().code(), Code::kCorruption);
  EXPECT_THAT(ErrorOfOpening().text(), HasSubstr("and a random write area"));
}

TEST_F(RandomAreaFile, HeaderWithAnAreaInAnotherVersionIsDamage) {
  Create();
  ChangeHeader(path, [](EmulatedFileHeader& header) { header.version = kEmulatedFileVersion; });
  EXPECT_EQ(ErrorOfOpening().code(), Code::kCorruption);
  Create();
  ChangeHeader(path, [](EmulatedFileHeader& header) { header.random_area = 0; });
  EXPECT_EQ(ErrorOfOpening().code(), Code::kCorruption);
}

TEST_F(RandomAreaFile, LargeAreaIsRefusedWithAVolatileCacheOnly) {
  EmulatorGeometry large = kGeometry;
  large.zone_size = large.zone_capacity = 128 * kBlock;
  large.random_area = 66 * kBlock;
  const Status created = CreateEmulatedFile(path, large, true, Timing::kNone, true);
  EXPECT_EQ(created.error().code(), Code::kInvalidArgument);
  EXPECT_THAT(created.error().text(), HasSubstr("264 KiB is above 256 KiB (64 blocks)"));
  EXPECT_TRUE(CreateEmulatedFile(path, large, true).ok());
}

// Writes to random places until it is killed; reports each complete write with one byte.
[[noreturn]] void Overwrite(const std::string& path, int progress) {
  const auto device = OpenEmulatedFile(path, OpenMode::kExclusive);
  if (!device || !(*device)->OpenRandom(ZoneId(0)).ok()) ::_exit(1);
  for (std::uint64_t n = 0;; ++n) {
    const std::uint64_t block = n % 3;
    const Status put = (*device)->Write(DeviceOffset(block * kBlock), Pattern(kBlock, n).View());
    if (!put.ok() || ::write(progress, ".", 1) != 1) ::_exit(1);
  }
}

TEST_F(RandomAreaFile, CompleteOverwritesSurviveAKill) {
  for (std::uint64_t round = 0; round < 20; ++round) {
    Create();
    int raw[2];
    ASSERT_EQ(::pipe2(raw, O_CLOEXEC), 0);
    const UniqueFd progress(raw[0]);
    const pid_t child = ::fork();
    if (child == 0) Overwrite(path, raw[1]);
    ::close(raw[1]);
    std::uint64_t complete = 0;
    char byte = 0;
    while (complete < 10 + round && ::read(progress.get(), &byte, 1) == 1) ++complete;
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    while (::read(progress.get(), &byte, 1) == 1) ++complete;
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child met an error";
    const auto device = Open();
    EXPECT_TRUE(ReportOf(*device, ZoneId(0)).random_area);
    for (std::uint64_t n = complete - 3; n < complete; ++n) {
      const auto found = ReadBack(*device, DeviceOffset(n % 3 * kBlock), kBlock);
      ASSERT_TRUE(found);
      // The write after the last complete one may have been executed too.
      EXPECT_TRUE(SameBytes(found->View(), Pattern(kBlock, n).View()) ||
                  (n + 3 == complete && SameBytes(found->View(), Pattern(kBlock, complete).View())));
    }
  }
}

TEST_F(RandomAreaFile, UnflushedBlocksOfTheAreaAreLostEachForItself) {
  const auto found = Cuts([](ZonedDevice& device) {
    ASSERT_TRUE(Put(device, 0, 1).ok());
    ASSERT_TRUE(Put(device, 2, 2).ok());
  });
  EXPECT_EQ(found, (std::set<std::string>{"0:0000", "0:1000", "0:0020", "0:1020"}));
}

TEST_F(RandomAreaFile, FlushedBlocksOfTheAreaAreNeverLost) {
  const auto found = Cuts([](ZonedDevice& device) {
    ASSERT_TRUE(Put(device, 0, 1).ok());
    ASSERT_TRUE(Put(device, 2, 2).ok());
    ASSERT_TRUE(device.Flush().ok());
    ASSERT_TRUE(Put(device, 2, 3).ok());  // the older block is not kept, so this one is not lost
    ASSERT_TRUE(Put(device, 3, 4).ok());
  });
  EXPECT_EQ(found, (std::set<std::string>{"0:1030", "0:1034"}));
}

TEST_F(RandomAreaFile, UnflushedMoveOfTheAreaMayBeLost) {
  const auto found = Cuts([](ZonedDevice& device) {
    ASSERT_TRUE(Put(device, 3, 1).ok());
    ASSERT_TRUE(device.Flush().ok());
    ASSERT_TRUE(Put(device, 5, 2).ok());
  });
  EXPECT_EQ(found, (std::set<std::string>{"0:0001", "2:000100", "2:000102"}));
}

TEST_F(RandomAreaFile, FinishedZoneKeepsTheFlushedBlocks) {
  const auto found = Cuts([](ZonedDevice& device) {
    ASSERT_TRUE(Put(device, 1, 1).ok());
    ASSERT_TRUE(device.Flush().ok());
    ASSERT_TRUE(Put(device, 3, 2).ok());
    ASSERT_TRUE(device.Finish(ZoneId(0)).ok());
  });
  for (const std::string& zone : found) EXPECT_THAT(zone, HasSubstr(":01"));
  EXPECT_GT(found.size(), 3u);
}

TEST_F(RandomAreaFile, FlushCoversBlocksOfAnEarlierProcess) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Create(/*volatile_cache=*/true);
    {
      const auto device = Open();
      ASSERT_TRUE(device->OpenRandom(ZoneId(0)).ok());
      ASSERT_TRUE(Put(*device, 1, 1).ok());
    }
    {
      const auto device = Open();
      ASSERT_TRUE(device->Flush().ok());
      ASSERT_TRUE(Put(*device, 2, 2).ok());
    }
    const auto losses = CutPower(path, seed);
    ASSERT_TRUE(losses);
    EXPECT_EQ(losses->blocks_at_risk, 1u);
    EXPECT_THAT(Seeds(*Open()), testing::AnyOf("0100", "0120"));
  }
}

TEST_F(RandomAreaFile, SecondCutLosesNothing) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Create(/*volatile_cache=*/true);
    {
      const auto device = Open();
      ASSERT_TRUE(device->OpenRandom(ZoneId(0)).ok());
      for (const std::uint64_t block : {0, 3, 5, 7, 8}) ASSERT_TRUE(Put(*device, block, 1).ok());
    }
    ASSERT_TRUE(CutPower(path, seed));
    const std::string found = Seeds(*Open());
    EXPECT_EQ(CutPower(path, seed + 1)->blocks_at_risk, 0u);
    EXPECT_EQ(Seeds(*Open()), found);
  }
}

TEST_F(RandomAreaFile, ZoneOfALostAreaIsWrittenOn) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Create(/*volatile_cache=*/true);
    {
      const auto device = Open();
      ASSERT_TRUE(device->OpenRandom(ZoneId(0)).ok());
      for (const std::uint64_t block : {0, 3, 5, 7}) ASSERT_TRUE(Put(*device, block, 1).ok());
    }
    ASSERT_TRUE(CutPower(path, seed));
    const auto device = Open();
    const std::uint64_t pointer = Written(*device);
    std::string expected = Seeds(*device).substr(0, pointer + kArea) + "00";
    ASSERT_TRUE(
        Put(*device, pointer + kArea + 1, 2).ok());  // what was lost behind the area does not come back
    expected.back() = '2';
    EXPECT_EQ(Seeds(*device), expected);
  }
}

}  // namespace
}  // namespace zenfs::random_area_file_test
