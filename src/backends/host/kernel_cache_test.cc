// What the kernel's cache holds after advice, seen on a plain file.
#include "backends/host/kernel_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "backends/host/plain_io.h"
#include "base/clock.h"
#include "testing/device_data.h"

namespace zenfs {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBytes = 32 << 20;  // more than a host reads ahead at once

class KernelCacheTest : public testing::Test, private CacheTarget {
 protected:
  void SetUp() override {
    std::string path = "/var/tmp/zenfs-kernel-cache-XXXXXX";  // a tmpfs can drop nothing
    const UniqueFd made(::mkstemp(path.data()));
    ASSERT_TRUE(made.valid());
    const ByteView bytes = data_.View();
    ASSERT_TRUE(WritePlainly(made.get(), 0, std::span(&bytes, 1)).Moved(kBytes));
    ASSERT_EQ(::fsync(made.get()), 0);
    fd_ = OpenBuffered(made.get()).value_or(UniqueFd());
    ::unlink(path.c_str());
    ASSERT_TRUE(fd_.valid());
    memory_ = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd_.get(), 0);
    ASSERT_NE(memory_, MAP_FAILED);
    cache_.Advise(DeviceOffset(0), kBytes, CacheAdvice::kDontNeed);
    if (PagesHeld() != 0) GTEST_SKIP() << "/var/tmp is on a file system that keeps all its pages in memory";
  }
  void TearDown() override {
    if (memory_ != MAP_FAILED) ::munmap(memory_, kBytes);
  }
  // Whether the cache holds each page.
  std::vector<bool> Held() const {
    std::vector<unsigned char> pages(kBytes / kPage);
    EXPECT_EQ(::mincore(memory_, kBytes, pages.data()), 0);
    std::vector<bool> held;
    for (const unsigned char page : pages) held.push_back((page & 1) != 0);
    return held;
  }
  std::size_t PagesHeld() const { return std::ranges::count(Held(), true); }

  const AlignedBuffer data_ = Pattern(kBytes, 1);
  KernelCache cache_{*this};

 private:
  Result<IoPlace> PlaceCached(DeviceOffset offset, std::uint64_t) override {
    return IoPlace{.fd = fd_.get(), .offset = offset.value, .keep = {}};
  }

  UniqueFd fd_;
  void* memory_ = MAP_FAILED;
};

TEST_F(KernelCacheTest, ALongRangeIsReadAheadWhole) {
  cache_.Advise(DeviceOffset(0), kBytes, CacheAdvice::kWillNeed);
  // The kernel may drop the first pages before it has read the last ones: nobody uses them.
  std::vector<bool> seen(kBytes / kPage);
  const Deadline deadline = Deadline::After(std::chrono::seconds(30));
  while (std::ranges::count(seen, false) != 0 && !deadline.Passed()) {
    const std::vector<bool> held = Held();
    for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = seen[i] || held[i];
    SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
  }
  EXPECT_EQ(std::ranges::count(seen, false), 0);
}

TEST_F(KernelCacheTest, AReadKeepsWhatItAskedForAndNoMore) {
  std::vector<std::byte> found(kPage);
  CachedRead read{DeviceOffset(10 * kPage), found, {}};
  cache_.Read(std::span(&read, 1));
  ASSERT_TRUE(read.status.ok());
  EXPECT_TRUE(SameBytes(found, data_.View().subspan(10 * kPage, kPage)));
  EXPECT_EQ(PagesHeld(), 1u);
}

}  // namespace
}  // namespace zenfs
