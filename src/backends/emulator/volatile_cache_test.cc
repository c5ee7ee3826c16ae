#include "backends/emulator/volatile_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "backends/emulator/emulated_clone.h"
#include "backends/emulator/emulated_file.h"
#include "backends/emulator/emulated_file_test_util.h"
#include "backends/emulator/file_store.h"
#include "base/thread.h"
#include "testing/device_data.h"
#include "testing/temp_directory.h"

namespace zenfs::volatile_cache_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint32_t kBlock = 4096;
constexpr EmulatorGeometry kGeometry{
    .zones = 4, .zone_size = 1u << 20, .zone_capacity = 16 * kBlock, .max_open = 3, .max_active = 3};

class VolatileCacheTest : public testing::Test {
 protected:
  void Create(bool volatile_cache = true) {
    ASSERT_TRUE(CreateEmulatedFile(path, kGeometry, true, Timing::kNone, volatile_cache).ok());
  }
  std::unique_ptr<EmulatorDevice> Open() {
    auto device = OpenEmulatedFile(path, OpenMode::kExclusive);
    EXPECT_TRUE(device) << device.error().ToString();
    return device ? std::move(*device) : nullptr;
  }
  Error ErrorOfOpening(const EmulatorOptions& options = {}) {
    auto device = OpenEmulatedFile(path, OpenMode::kExclusive, options);
    return device ? Error(Code::kExists, "it opened") : device.error();
  }
  static void Write(ZonedDevice& device, std::uint32_t zone, std::uint64_t blocks) {
    ASSERT_TRUE(device.Append(ZoneId(zone), Pattern(blocks * kBlock, zone).View()));
  }
  static std::string Bytes(const std::string& file, std::uint64_t at, std::size_t size) {
    const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    std::string bytes(size, '\0');
    EXPECT_EQ(::pread(fd.get(), bytes.data(), size, static_cast<off_t>(at)), static_cast<ssize_t>(size));
    return bytes;
  }
  void Put(std::uint64_t at, std::string_view bytes) {
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_TRUE(WriteAll(fd, at, AsBytes(bytes), path).ok());
  }
  void PutWord(std::uint64_t at, std::uint64_t word) {
    Put(at, std::string_view(reinterpret_cast<const char*>(&word), sizeof word));
  }
  static std::array<std::uint64_t, kGeometry.zones> Durable(const std::string& file) {
    std::array<std::uint64_t, kGeometry.zones> words{};
    const std::string bytes = Bytes(file, LayoutOf(kGeometry, true).durable_offset, sizeof words);
    std::memcpy(words.data(), bytes.data(), sizeof words);
    return words;
  }

  TempDirectory directory;
  std::string path = directory.File("a.img");
};

TEST_F(VolatileCacheTest, DeviceWithoutItIsStillAFileOfVersionOne) {
  Create(/*volatile_cache=*/false);
  EXPECT_EQ(ReadEmulatedFileInfo(path)->version, 1u);
  EXPECT_FALSE(ReadEmulatedFileInfo(path)->volatile_cache);
  const std::string header = Bytes(path, 0, kEmulatedHeaderBytes);
  EXPECT_EQ(header[8], 1);
  EXPECT_TRUE(std::all_of(header.begin() + 120, header.end(), [](char c) { return c == 0; }));
  const std::string gap = Bytes(path, 8192, (2u << 20) - 8192);
  EXPECT_TRUE(std::all_of(gap.begin(), gap.end(), [](char c) { return c == 0; }));
}

TEST_F(VolatileCacheTest, DeviceWithAVolatileCacheIsAFileOfVersionTwo) {
  Create();
  EXPECT_EQ(ReadEmulatedFileInfo(path)->version, 2u);
  EXPECT_TRUE(ReadEmulatedFileInfo(path)->volatile_cache);
  EXPECT_TRUE(OpenEmulatedFile(path, OpenMode::kExclusive, {.volatile_cache = false})
                  .value()
                  ->geometry()
                  .volatile_cache);
}

TEST_F(VolatileCacheTest, FlushMakesEarlierWritesDurable) {
  Create();
  const auto device = Open();
  Write(*device, 1, 3);
  Write(*device, 2, 5);
  EXPECT_THAT(Durable(path), ElementsAre(0, 0, 0, 0));
  ASSERT_TRUE(device->Flush().ok());
  EXPECT_THAT(Durable(path), ElementsAre(0, 3, 5, 0));
  Write(*device, 1, 2);
  EXPECT_THAT(Durable(path), ElementsAre(0, 3, 5, 0));
  ASSERT_TRUE(device->Flush().ok());
  EXPECT_THAT(Durable(path), ElementsAre(0, 5, 5, 0));
}

TEST_F(VolatileCacheTest, FlushOfADeviceMakesNothingDurableBeforeItsEnd) {
  Create();
  const auto device = OpenEmulatedFile(path, OpenMode::kExclusive, {.flush_us = 500000}).value();
  Write(*device, 1, 3);
  Thread flush("flush", [&] { EXPECT_TRUE(device->Flush().ok()); });
  while (device->meter().of(EmulatorCommand::kFlush).commands == 0) {  // begun; waits for its latency
  }
  EXPECT_THAT(Durable(path), ElementsAre(0, 0, 0, 0));
  flush.Join();
  EXPECT_THAT(Durable(path), ElementsAre(0, 3, 0, 0));
}

// Overlapping flushes, whose begin and end the test controls.
class OverlappingFlushes : public VolatileCacheTest {
 protected:
  void SetUp() override {
    Create();
    store = FileStore::Open(path, OpenMode::kExclusive, /*hostsync=*/false).value();
    cache.emplace(*store, kGeometry);
  }
  void Write(std::uint32_t zone, std::uint64_t blocks) {
    const auto block = machine.BeginAppend(ZoneId(zone), blocks);
    ASSERT_TRUE(block);
    machine.CommitWrite(ZoneId(zone), *block, blocks);
    cache->Changed(ZoneId(zone), machine.state(ZoneId(zone)));
  }
  void Reset(std::uint32_t zone) {
    ASSERT_TRUE(machine.Reset(ZoneId(zone)).ok());
    EXPECT_TRUE(cache->Reset(ZoneId(zone)).ok());
  }

  ZoneMachine machine{kGeometry};
  std::unique_ptr<FileStore> store;
  std::optional<VolatileCache> cache;
};

TEST_F(OverlappingFlushes, WritesDuringAFlushWaitForTheNextFlush) {
  Write(1, 3);
  const auto flush = cache->BeginFlush(machine);
  Write(1, 2);
  Write(2, 1);
  EXPECT_THAT(Durable(path), ElementsAre(0, 0, 0, 0));
  EXPECT_TRUE(cache->EndFlush(flush, machine).ok());
  EXPECT_THAT(Durable(path), ElementsAre(0, 3, 0, 0));
  EXPECT_TRUE(cache->EndFlush(cache->BeginFlush(machine), machine).ok());
  EXPECT_THAT(Durable(path), ElementsAre(0, 5, 1, 0));
  EXPECT_TRUE(cache->BeginFlush(machine).empty()) << "nothing is left to look at";
}

TEST_F(OverlappingFlushes, LaterFlushThatEndsFirstCoversEarlierWrites) {
  Write(1, 3);
  const auto earlier = cache->BeginFlush(machine);
  const auto later = cache->BeginFlush(machine);
  EXPECT_TRUE(cache->EndFlush(later, machine).ok());
  EXPECT_THAT(Durable(path), ElementsAre(0, 3, 0, 0));
  EXPECT_TRUE(cache->EndFlush(earlier, machine).ok());
  EXPECT_THAT(Durable(path), ElementsAre(0, 3, 0, 0));
}

TEST_F(OverlappingFlushes, EarlierFlushThatEndsLastKeepsDurableBlocks) {
  Write(1, 3);
  const auto earlier = cache->BeginFlush(machine);
  Write(1, 2);
  EXPECT_TRUE(cache->EndFlush(cache->BeginFlush(machine), machine).ok());
  EXPECT_TRUE(cache->EndFlush(earlier, machine).ok());
  EXPECT_THAT(Durable(path), ElementsAre(0, 5, 0, 0));
}

TEST_F(OverlappingFlushes, ResetDuringAFlushLeavesNoNewBlocksDurable) {
  Write(1, 3);
  const auto flush = cache->BeginFlush(machine);
  Reset(1);
  Write(1, 6);
  EXPECT_TRUE(cache->EndFlush(flush, machine).ok());
  EXPECT_THAT(Durable(path), ElementsAre(0, 0, 0, 0));
  EXPECT_TRUE(cache->EndFlush(cache->BeginFlush(machine), machine).ok());
  EXPECT_THAT(Durable(path), ElementsAre(0, 6, 0, 0));
}

TEST_F(VolatileCacheTest, FlushAfterAReopenCoversEarlierWrites) {
  Create();
  Write(*Open(), 3, 4);
  EXPECT_THAT(Durable(path), ElementsAre(0, 0, 0, 0));
  ASSERT_TRUE(Open()->Flush().ok());
  EXPECT_THAT(Durable(path), ElementsAre(0, 0, 0, 4));
}

TEST_F(VolatileCacheTest, FilledAndFinishedZonesAreMadeDurableToo) {
  Create();
  const auto device = Open();
  Write(*device, 0, 16);
  Write(*device, 1, 2);
  ASSERT_TRUE(device->Finish(ZoneId(1)).ok());
  ASSERT_TRUE(device->Flush().ok());
  EXPECT_THAT(Durable(path), ElementsAre(16, 2, 0, 0));
}

TEST_F(VolatileCacheTest, NothingOfAResetZoneIsDurableUntilTheNextFlush) {
  Create();
  const auto device = Open();
  Write(*device, 1, 6);
  ASSERT_TRUE(device->Flush().ok());
  ASSERT_TRUE(device->Reset(ZoneId(1)).ok());
  EXPECT_THAT(Durable(path), ElementsAre(0, 0, 0, 0));
  Write(*device, 1, 2);
  EXPECT_THAT(Durable(path), ElementsAre(0, 0, 0, 0));
  ASSERT_TRUE(device->Flush().ok());
  EXPECT_THAT(Durable(path), ElementsAre(0, 2, 0, 0));
}

TEST_F(VolatileCacheTest, ResetCutShortIsFinishedByTheNextOpen) {
  Create();
  {
    const auto device = Open();
    Write(*device, 1, 6);
    ASSERT_TRUE(device->Flush().ok());
  }
  PutWord(kEmulatedHeaderBytes + 8, 0x1);  // the zone word said empty, then: killed
  EXPECT_NE(Open(), nullptr);
  EXPECT_THAT(Durable(path), ElementsAre(0, 0, 0, 0));
}

TEST_F(VolatileCacheTest, ConventionalZonesHaveNoCountOfTheirOwn) {
  EmulatorGeometry geometry = kGeometry;
  geometry.conventional = 1;
  ASSERT_TRUE(CreateEmulatedFile(path, geometry, true, Timing::kNone, true).ok());
  const auto device = Open();
  ASSERT_TRUE(device->Write(DeviceOffset(7 * kBlock), Pattern(kBlock, 1).View()).ok());
  ASSERT_TRUE(device->Flush().ok());
  EXPECT_THAT(Durable(path), ElementsAre(0, 0, 0, 0));
}

TEST_F(VolatileCacheTest, MoreDurableThanWrittenIsDamage) {
  Create();
  const std::uint64_t table = LayoutOf(kGeometry, true).durable_offset;
  Write(*Open(), 2, 3);
  PutWord(table + 2 * 8, 4);
  EXPECT_EQ(ErrorOfOpening().code(), Code::kCorruption);
  EXPECT_THAT(ErrorOfOpening().text(),
              HasSubstr("zone 2 in the table of the cache is damaged: 4 durable blocks of 3"));
  PutWord(table + 2 * 8, 3);
  EXPECT_NE(Open(), nullptr);
  PutWord(table + 3 * 8, 17);  // an empty zone with more durable blocks than a reset can leave
  EXPECT_THAT(ErrorOfOpening().text(), HasSubstr("zone 3 in the table of the cache is damaged: 17"));
}

TEST_F(VolatileCacheTest, HeaderOfTheOtherVersionIsDamage) {
  Create();
  ChangeHeader(path, [](EmulatedFileHeader& header) { header.durable_offset += 4096; });
  EXPECT_EQ(ErrorOfOpening().code(), Code::kCorruption);
  EXPECT_THAT(ErrorOfOpening().text(), HasSubstr("table of its cache at 12288, not at 8192"));
  Create(/*volatile_cache=*/false);
  ChangeHeader(path, [](EmulatedFileHeader& header) { header.version = 2; });
  EXPECT_EQ(ErrorOfOpening().code(), Code::kCorruption);
}

TEST_F(VolatileCacheTest, CloneHasTheSameCacheAndDurableBlocks) {
  Create();
  {
    const auto device = Open();
    Write(*device, 1, 3);
    ASSERT_TRUE(device->Flush().ok());
    Write(*device, 1, 2);
  }
  const std::string to = directory.File("b.img");
  ASSERT_TRUE(EmulatedClone::Begin(path, to, false).value()->Finish().ok());
  EXPECT_TRUE(ReadEmulatedFileInfo(to)->volatile_cache);
  EXPECT_NE(ReadEmulatedFileInfo(to)->uuid, ReadEmulatedFileInfo(path)->uuid);
  EXPECT_THAT(Durable(to), ElementsAre(0, 3, 0, 0));
  EXPECT_EQ(ReportOf(*OpenEmulatedFile(to, OpenMode::kExclusive).value(), ZoneId(1)).WrittenBytes(),
            5 * kBlock);
}

TEST_F(VolatileCacheTest, HostsyncIsRefused) {
  Create();
  EXPECT_EQ(ErrorOfOpening({.hostsync = true}).code(), Code::kInvalidArgument);
  EXPECT_THAT(ErrorOfOpening({.hostsync = true}).text(), HasSubstr("leave it out"));
}

}  // namespace
}  // namespace zenfs::volatile_cache_test
