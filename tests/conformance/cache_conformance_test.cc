// Reads through the host's cache (HostCache, device/zoned_device.h): they see what the device holds, whatever the cache held before.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "conformance_test.h"

namespace zenfs {
namespace {

class CachedReads : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    if (device != nullptr && device->host_cache() == nullptr)
      GTEST_SKIP() << GetParam().name << " is read without a cache";
  }

  // True if the cache of `from` gives these bytes, or leaves them to the device.
  static testing::AssertionResult Gives(ZonedDevice& from, DeviceOffset at, ByteView expected) {
    std::vector<std::byte> found(expected.size());
    CachedRead read{at, found, {}};
    from.host_cache()->Read(std::span(&read, 1));
    if (!read.status.ok()) {
      if (read.status.error().code() == Code::kNotSupported) return testing::AssertionSuccess();
      return testing::AssertionFailure() << read.status.error().ToString();
    }
    if (SameBytes(found, expected)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "other bytes";
  }
  testing::AssertionResult CacheHolds(std::uint32_t zone, std::uint64_t at, ByteView expected) {
    return Gives(*device, At(zone, at), expected);
  }
  // Fills the cache of the host with a zone, as a program does that looks for file systems on a disk. That it reads beyond the
  // write pointer is what this library never does. Returns what keeps the cache; nothing if the device is no block device.
  UniqueFd LetAStrangerRead(std::uint32_t zone) {
    if (!device->name().starts_with("dev:")) return {};
    UniqueFd fd(::open(("/dev/" + device->name().substr(4)).c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(fd.valid());
    std::vector<std::byte> bytes(16 * block);
    EXPECT_EQ(::pread(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(At(zone).value)),
              static_cast<ssize_t>(bytes.size()));
    return fd;
  }
};

TEST_P(CachedReads, NeedNoAlignment) {
  ASSERT_TRUE(WriteBlocks(1, 0, 4).ok());
  const AlignedBuffer data = Filled(4);
  for (const auto& [from, length] : {std::pair<std::size_t, std::size_t>{0, 4 * block},
                                     {1, 1},
                                     {block - 1, 2},
                                     {3, 2 * block},
                                     {2 * block + 5, block},
                                     {0, 0}}) {
    EXPECT_TRUE(Gives(*device, At(1) + from, data.View().subspan(from, length))) << from << ", " << length;
  }
}

TEST_P(CachedReads, SeveralAtOnceEachFillTheirBuffer) {
  ASSERT_TRUE(WriteBlocks(1, 0, 8, 1).ok());
  ASSERT_TRUE(WriteBlocks(2, 0, 8, 2).ok());
  const AlignedBuffer one = Filled(8, 1);
  const AlignedBuffer two = Filled(8, 2);
  for (int round = 0; round < 2; ++round) {  // the second one finds them in the cache
    std::vector<std::vector<std::byte>> found(32, std::vector<std::byte>(700));
    std::vector<CachedRead> reads;
    for (std::size_t i = 0; i < found.size(); ++i) reads.push_back({At(1 + i % 2) + 64 * i, found[i], {}});
    device->host_cache()->Read(reads);
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_TRUE(reads[i].status.ok()) << reads[i].status.error().ToString();
      EXPECT_TRUE(SameBytes(found[i], (i % 2 == 0 ? one : two).View().subspan(64 * i, 700))) << i;
    }
  }
}

TEST_P(CachedReads, AnErrorIsOfItsReadOnly) {
  ASSERT_TRUE(WriteBlocks(1, 0, 1).ok());
  std::vector<std::byte> bytes(block);
  std::vector<std::byte> beyond(block);
  CachedRead reads[] = {{DeviceOffset(device->geometry().size_bytes()), beyond, {}}, {At(1), bytes, {}}};
  device->host_cache()->Read(reads);
  EXPECT_FALSE(reads[0].status.ok());
  EXPECT_TRUE(reads[1].status.ok());
  EXPECT_TRUE(SameBytes(bytes, Filled(1).View()));
}

TEST_P(CachedReads, BytesWrittenBehindThoseReadAreSeen) {
  for (std::uint64_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(WriteBlocks(1, i, 1, i).ok());
    for (std::uint64_t k = 0; k <= i; ++k)
      EXPECT_TRUE(CacheHolds(1, k, Filled(1, k).View())) << i << ", " << k;
  }
}

TEST_P(CachedReads, AZoneThatWasResetAndWrittenAgainIsReadAnew) {
  for (std::uint64_t round = 1; round <= 5; ++round) {
    ASSERT_TRUE(WriteBlocks(1, 0, 6, round).ok());
    device->host_cache()->Advise(At(1), 6 * block, CacheAdvice::kWillNeed);
    EXPECT_TRUE(CacheHolds(1, 0, Filled(6, round).View())) << round;
    ASSERT_TRUE(device->Reset(ZoneId(1)).ok());
  }
}

TEST_P(CachedReads, ADroppedRangeIsReadAnew) {
  ASSERT_TRUE(WriteBlocks(1, 0, 6).ok());
  EXPECT_TRUE(CacheHolds(1, 0, Filled(6).View()));
  device->host_cache()->Advise(At(1), 6 * block, CacheAdvice::kDontNeed);
  EXPECT_TRUE(CacheHolds(1, 0, Filled(6).View()));
}

TEST_P(CachedReads, WhatAStrangerReadBeforeItWasWrittenIsNotSeen) {
  ASSERT_TRUE(WriteBlocks(1, 0, 1).ok());
  const UniqueFd stranger = LetAStrangerRead(1);
  ASSERT_TRUE(WriteBlocks(1, 1, 2).ok());
  EXPECT_TRUE(CacheHolds(1, 1, Filled(2).View()));
}

// Commands of the drive pass by the cache.
TEST_P(CachedReads, WhatAStrangerReadBeforeAnAppendIsNotSeen) {
  ASSERT_TRUE(WriteBlocks(1, 0, 1).ok());
  EXPECT_TRUE(CacheHolds(1, 0, Filled(1).View()));
  const UniqueFd stranger = LetAStrangerRead(1);
  const AlignedBuffer data = Filled(2, 3);
  const auto place = device->Append(ZoneId(1), data.View());
  if (!place.ok()) GTEST_SKIP() << GetParam().name << ": " << place.error().ToString();
  EXPECT_TRUE(Gives(*device, *place, data.View()));
  if (!GetParam().persists) return;
  Reopen();
  EXPECT_TRUE(Gives(*device, *place, data.View())) << "after the next opening";
}

TEST_P(CachedReads, AReaderSeesAZoneThatItsWriterWroteAgain) {
  if (!GetParam().persists) GTEST_SKIP() << GetParam().name << " has no readers";
  auto reader = fixture->Open(OpenMode::kReadOnly);
  ASSERT_TRUE(reader) << reader.error().ToString();
  if ((*reader)->host_cache() == nullptr) GTEST_SKIP() << GetParam().name << ": readers have no cache";
  for (std::uint64_t round = 1; round <= 5; ++round) {
    for (std::uint64_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(WriteBlocks(1, 2 * i, 2, 3 * round + i).ok());
      EXPECT_TRUE(Gives(**reader, At(1, 2 * i), Filled(2, 3 * round + i).View())) << round << ", " << i;
    }
    ASSERT_TRUE(device->Reset(ZoneId(1)).ok());
  }
}

ZENFS_INSTANTIATE_CONFORMANCE(CachedReads);

}  // namespace
}  // namespace zenfs
