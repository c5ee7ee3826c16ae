#include "rocksdb_plugin/random_access_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

namespace zenfs {
namespace {

constexpr std::uint64_t kKib = 1024;

class FileReadaheadTest : public testing::Test {
 protected:
  // "offset+length" in KiB, or nothing.
  std::string Next(std::uint64_t offset_kib, std::uint64_t kib) {
    const auto range = readahead_.Next(offset_kib * kKib, kib * kKib);
    if (range.length == 0) return "";
    return std::to_string(range.offset / kKib) + "+" + std::to_string(range.length / kKib);
  }
  FileReadahead readahead_;
};

TEST_F(FileReadaheadTest, ReadsAnywhereAreNotReadAhead) {
  for (const std::uint64_t at : {40, 8, 16, 100, 13, 64}) EXPECT_EQ(Next(at, 4), "") << at;
}

TEST_F(FileReadaheadTest, ASecondReadInOrderBeginsAWindowThatDoubles) {
  EXPECT_EQ(Next(0, 4), "");
  EXPECT_EQ(Next(4, 4), "8+64");
  std::string windows;
  for (std::uint64_t at = 8; at < 400; at += 4) {
    if (const std::string window = Next(at, 4); !window.empty()) windows += window + " ";
  }
  EXPECT_EQ(windows, "72+128 200+256 456+512 ");
}

TEST_F(FileReadaheadTest, AWindowIsAtMostAMebibyte) {
  std::uint64_t longest = 0;
  for (std::uint64_t at = 0; at < 64'000; at += 16)
    longest = std::max(longest, readahead_.Next(at * kKib, 16 * kKib).length);
  EXPECT_EQ(longest, FileReadahead::kLargestWindow);
}

// A compaction reads a file in order while users read it.
TEST_F(FileReadaheadTest, OtherReadsDoNotEndAStream) {
  EXPECT_EQ(Next(0, 4), "");
  EXPECT_EQ(Next(4, 4), "8+64");
  std::string windows;
  for (std::uint64_t at = 8; at < 200; at += 4) {
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(Next(10'000 + 100 * at + 10 * static_cast<std::uint64_t>(i), 4), "");
    if (const std::string window = Next(at, 4); !window.empty()) windows += window + " ";
  }
  EXPECT_EQ(windows, "72+128 200+256 ");
}

TEST_F(FileReadaheadTest, EachByteIsReadAheadOnce) {
  std::uint64_t end = 0;
  for (std::uint64_t at = 0; at < 4000; at += 4) {
    const auto range = readahead_.Next(at * kKib, 4 * kKib);
    if (range.length == 0) continue;
    EXPECT_TRUE(end == 0 || range.offset == end) << range.offset;
    end = range.offset + range.length;
  }
}

// A file that consists of one repeated byte and has any size, as a file of a forged image.
class LongFile : public FileHandle {
 public:
  explicit LongFile(std::uint64_t size) : size_(size) {}
  Result<std::size_t> Read(std::uint64_t offset, ByteSpan into, ReadSource) const override {
    const std::size_t n = std::min<std::uint64_t>(into.size(), size_ - offset);
    std::memset(into.data(), 'a', n);
    ++reads;
    return n;
  }
  Result<std::size_t> ReadVerified(std::uint64_t offset, ByteSpan into) const override {
    return Read(offset, into, ReadSource::kDevice);
  }
  void ReadMany(std::span<ReadRequest>, ReadSource) const override {}
  void Advise(std::uint64_t, std::uint64_t, CacheAdvice) const override {}
  Status Append(ByteView, KnownCrc) override { return {}; }
  Status PositionedAppend(ByteView, std::uint64_t, KnownCrc) override { return {}; }
  Status Truncate(std::uint64_t) override { return {}; }
  Status Flush() override { return {}; }
  Status Sync() override { return {}; }
  Status Close() override { return {}; }
  void SetLifetime(Lifetime) override {}
  std::uint64_t size() const override { return size_; }
  FileId id() const override { return FileId(1); }
  FileShape shape() const override { return FileShape::kPlain; }

  mutable int reads = 0;

 private:
  const std::uint64_t size_;
};

std::uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(MappedFileTest, AClaimedSizeTakesNoMemoryUntilItIsRead) {
  constexpr std::uint64_t kSize = std::uint64_t{16} << 40;
  const LongFile file(kSize);
  const std::uint64_t before = ResidentBytes();
  const auto map = MappedFile::Of(file);
  if (!map && map.error().os_errno() == ENOMEM) GTEST_SKIP() << "needs 16 TiB of addresses";
  ASSERT_TRUE(map) << map.error().ToString();
  for (int i = 0; i < 2; ++i) {
    for (const std::uint64_t at : {std::uint64_t{0}, kSize / 2, kSize - 1}) {
      const auto read = (*map)->Read(at, 100);
      ASSERT_TRUE(read);
      EXPECT_EQ(read->size(), std::min<std::uint64_t>(100, kSize - at));
      EXPECT_EQ(read->front(), std::byte('a'));
    }
  }
  EXPECT_EQ(file.reads, 3);
  EXPECT_LT(ResidentBytes() - before, 32U << 20) << "the flags alone would take 64 MiB";
}

TEST(MappedFileTest, AnEmptyFileIsReadAsNothing) {
  const LongFile file(0);
  const auto map = MappedFile::Of(file);
  ASSERT_TRUE(map);
  EXPECT_TRUE((*map)->Read(0, 100)->empty());
}

}  // namespace
}  // namespace zenfs
