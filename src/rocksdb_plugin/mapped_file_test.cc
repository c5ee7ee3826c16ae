#include "rocksdb_plugin/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace zenfs {
namespace {

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
  Lifetime lifetime() const override { return Lifetime::kNone; }

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
