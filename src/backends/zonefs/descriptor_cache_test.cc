#include "backends/zonefs/descriptor_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <fstream>

#include "base/thread.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

class DescriptorCacheTest : public testing::Test {
 protected:
  DescriptorCacheTest() {
    for (int i = 0; i < 16; ++i) std::ofstream(directory.File(std::to_string(i))) << i;
  }
  Result<UniqueFd> OpenFile(ZoneId zone) {
    ++opened;
    if (failures > 0) {
      --failures;
      return FailErrno(EMFILE, "open");
    }
    UniqueFd fd(::open(directory.File(std::to_string(zone.value)).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return FailErrno(errno, "open");
    return fd;
  }
  DescriptorCache Make(std::size_t bound) {
    return DescriptorCache(bound, [this](ZoneId zone) { return OpenFile(zone); });
  }
  static bool IsOpen(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

  TempDirectory directory;
  std::atomic<int> opened{0};
  std::atomic<int> failures{0};
};

TEST_F(DescriptorCacheTest, FileIsOpenedOnce) {
  DescriptorCache cache = Make(4);
  const int first = (*cache.Get(ZoneId(3)))->get();
  EXPECT_EQ((*cache.Get(ZoneId(3)))->get(), first);
  EXPECT_EQ(opened, 1);
  EXPECT_TRUE(IsOpen(first));
}

TEST_F(DescriptorCacheTest, TheOneUsedLongestAgoIsClosed) {
  DescriptorCache cache = Make(2);
  const int a = (*cache.Get(ZoneId(0)))->get();
  const int b = (*cache.Get(ZoneId(1)))->get();
  ASSERT_TRUE(cache.Get(ZoneId(0)));
  ASSERT_TRUE(cache.Get(ZoneId(2)));
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_TRUE(IsOpen(a));
  EXPECT_EQ(opened, 3);
  ASSERT_TRUE(cache.Get(ZoneId(0)));
  EXPECT_EQ(opened, 3) << "zone 0 was used after zone 1";
  ASSERT_TRUE(cache.Get(ZoneId(1)));
  EXPECT_EQ(opened, 4);
  EXPECT_FALSE(IsOpen(b) && (*cache.Get(ZoneId(2)))->get() == b) << "one number, two files";
}

TEST_F(DescriptorCacheTest, DescriptorInUseOutlivesItsEviction) {
  DescriptorCache cache = Make(1);
  auto held = *cache.Get(ZoneId(5));
  for (std::uint32_t i = 0; i < 5; ++i) ASSERT_TRUE(cache.Get(ZoneId(i)));
  char byte = 0;
  EXPECT_EQ(::pread(held->get(), &byte, 1, 0), 1);
  EXPECT_EQ(byte, '5');
  const int number = held->get();
  held.reset();
  EXPECT_FALSE(IsOpen(number));
}

TEST_F(DescriptorCacheTest, LackOfDescriptorsGivesOwnOnesBack) {
  DescriptorCache cache = Make(8);
  for (std::uint32_t i = 0; i < 6; ++i) ASSERT_TRUE(cache.Get(ZoneId(i)));
  failures = 1;
  ASSERT_TRUE(cache.Get(ZoneId(9)));
  EXPECT_EQ(cache.size(), 1u);
  failures = 2;
  EXPECT_EQ(cache.Get(ZoneId(10)).error().os_errno(), EMFILE);
}

TEST_F(DescriptorCacheTest, FailedOpenIsNotCached) {
  DescriptorCache cache = Make(8);
  EXPECT_EQ(cache.Get(ZoneId(99)).error().code(), Code::kNotFound);
  std::ofstream(directory.File("99")) << "x";
  EXPECT_TRUE(cache.Get(ZoneId(99)));
}

TEST_F(DescriptorCacheTest, ThreadsSeeTheFileThatTheyAskFor) {
  DescriptorCache cache = Make(3);
  std::vector<Thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back("reader", [&, t] {
      for (unsigned i = 0; i < 300; ++i) {
        const unsigned zone = (i * 7 + t) % 10;
        const auto descriptor = cache.Get(ZoneId(zone));
        ASSERT_TRUE(descriptor);
        char byte = 0;
        ASSERT_EQ(::pread((*descriptor)->get(), &byte, 1, 0), 1);
        ASSERT_EQ(byte, static_cast<char>('0' + zone));
      }
    });
  }
  threads.clear();
  EXPECT_LE(cache.size(), 3u);
}

}  // namespace
}  // namespace zenfs
