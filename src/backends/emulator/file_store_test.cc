// Large writes beside the host's page cache.
#include "backends/emulator/file_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "testing/device_data.h"
#include "testing/temp_directory.h"

namespace zenfs::file_store_test {
namespace {

constexpr std::uint64_t kBytes = 1 << 20;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLarge = 256 << 10;

class ImageFileTest : public testing::Test {
 protected:
  ImageFile Open(bool direct) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::ftruncate(fd.get(), kBytes), 0);
    return {path, std::move(fd), kBytes, direct};
  }
  static void Write(ImageFile& file, std::uint64_t at, ByteView bytes) {
    ASSERT_TRUE(file.Write(at, std::span(&bytes, 1)).ok());
  }
  static void ExpectAt(const ImageFile& file, std::uint64_t at, ByteView bytes) {
    std::vector<std::byte> read(bytes.size());
    ASSERT_TRUE(file.Read(at, read).ok());
    EXPECT_TRUE(SameBytes(read, bytes)) << "at " << at;
  }
  static std::size_t CachedPages(const ImageFile& file) {
    void* const map = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, file.fd(), 0);
    EXPECT_NE(map, MAP_FAILED);
    std::vector<unsigned char> resident(kBytes / kPage);
    EXPECT_EQ(::mincore(map, kBytes, resident.data()), 0);
    ::munmap(map, kBytes);
    return static_cast<std::size_t>(
        std::ranges::count_if(resident, [](unsigned char c) { return (c & 1) != 0; }));
  }
  bool OnTmpfs() const {
    struct statfs host{};
    return ::statfs(directory.path().c_str(), &host) == 0 && host.f_type == TMPFS_MAGIC;
  }

  TempDirectory directory;
  std::string path = directory.File("a.img");
};

TEST_F(ImageFileTest, OnlySmallWritesOfADirectFileAreInThePageCache) {
  if (OnTmpfs()) GTEST_SKIP() << "needs a directory that is not on a tmpfs, which is nothing but page cache";
  ImageFile file = Open(/*direct=*/true);
  Write(file, 0, Pattern(kLarge, 1).View());
  EXPECT_EQ(CachedPages(file), 0u);
  Write(file, kLarge, Pattern(kPage, 2).View());
  EXPECT_EQ(CachedPages(file), 1u);
}

TEST_F(ImageFileTest, WithoutItAllWritesAreInThePageCache) {
  ImageFile file = Open(/*direct=*/false);
  Write(file, 0, Pattern(kLarge, 1).View());
  EXPECT_GE(CachedPages(file), kLarge / kPage);
}

TEST_F(ImageFileTest, ReadsSeeADirectWriteOverCachedPages) {
  ImageFile file = Open(/*direct=*/true);
  for (std::uint64_t at = 0; at < kLarge; at += kPage) Write(file, at, Pattern(kPage, 1).View());
  ExpectAt(file, 0, Pattern(kPage, 1).View());
  const AlignedBuffer large = Pattern(kLarge, 2);
  Write(file, 0, large.View());
  ExpectAt(file, 0, large.View());
  Write(file, kPage, Pattern(kPage, 3).View());
  ExpectAt(file, 0, large.View().first(kPage));
  ExpectAt(file, kPage, Pattern(kPage, 3).View());
}

TEST_F(ImageFileTest, LargeWritesThatTheHostCannotTakeDirectlyAreWrittenToo) {
  ImageFile file = Open(/*direct=*/true);
  const AlignedBuffer large = Pattern(kLarge, 4);
  Write(file, 0, large.View().subspan(512, kLarge - kPage));  // an unaligned buffer
  ExpectAt(file, 0, large.View().subspan(512, kLarge - kPage));
  Write(file, 512, large.View().first(kLarge - 512));  // an unaligned place and length
  ExpectAt(file, 512, large.View().first(kLarge - 512));
}

}  // namespace
}  // namespace zenfs::file_store_test
