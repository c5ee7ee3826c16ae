#include "file/extent_list.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/random.h"
#include "testing/random_bytes.h"

namespace zenfs {
namespace {

constexpr std::uint32_t kBlock = 4096;
const Geometry kGeometry{.block_size = kBlock, .zone_size = 64 * kBlock, .zone_count = 1000};

// Divides `content` into extents of random lengths. The first is at `place`; no two are adjacent on the device.
std::vector<Extent> Divide(const std::string& content, std::uint64_t place, Random& random) {
  std::vector<Extent> extents;
  for (std::uint64_t at = 0; at < content.size();) {
    const std::uint64_t length = std::min<std::uint64_t>(content.size() - at, (1 + random.Below(5)) * kBlock);
    extents.push_back({at, DeviceOffset(place), length, Crc32c(AsBytes(content).subspan(at, length))});
    at += length;
    place += RoundUp(length, kBlock) + kBlock;
  }
  return extents;
}

void ExpectWholeAndSummed(const std::vector<Extent>& extents, const std::string& content) {
  std::uint64_t at = 0;
  for (const Extent& extent : extents) {
    ASSERT_EQ(extent.file_offset, at);
    EXPECT_EQ(extent.crc, Crc32c(AsBytes(content).subspan(at, extent.length))) << "at byte " << at;
    at = extent.end();
  }
  EXPECT_EQ(at, content.size());
}

// Bytes that are written behind the change continue the last extent, as they do in a writer's zone.
TEST(SpliceExtents, EachExtentHasAChecksumForAnyDivisionOfBothLists) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::string committed = RandomBytes(1 + random.Below(20 * kBlock), random.Next());
    std::uint64_t from = random.Below(committed.size() + 1);
    const bool goes_on = random.OneIn(2);
    if (goes_on) from = RoundDown(from, kBlock);
    std::string content = committed.substr(0, from);
    std::vector<Extent> own = Divide(content, 0, random);
    const ExtentChange change{from, own.empty() ? std::nullopt : std::optional(own.back())};
    if (goes_on) {
      const std::string more = RandomBytes(1 + random.Below(9 * kBlock), random.Next());
      const DeviceOffset behind = own.empty() ? DeviceOffset(0) : own.back().place + own.back().length;
      AppendExtent(own, {from, behind, more.size(), Crc32c(AsBytes(more))}, kGeometry);
      content += more;
    }
    const std::vector<Extent> moved = Divide(committed, 500 * kGeometry.zone_size, random);
    const SplicedExtents spliced = SpliceExtents(moved, own, change, kGeometry);
    ASSERT_NO_FATAL_FAILURE(ExpectWholeAndSummed(spliced.all, content)) << "round " << i;
    ASSERT_EQ(spliced.before.has_value(), from != 0);
    if (from == 0) continue;
    EXPECT_EQ(spliced.before->end(), from);
    for (const Extent& extent : spliced.all)
      EXPECT_EQ(kGeometry.ZoneOf(extent.place) >= ZoneId(500), extent.file_offset < from);
    // A second move before the next commit.
    const SplicedExtents again = SpliceExtents(Divide(committed, 700 * kGeometry.zone_size, random),
                                               spliced.all, {from, spliced.before}, kGeometry);
    ASSERT_NO_FATAL_FAILURE(ExpectWholeAndSummed(again.all, content)) << "round " << i;
  }
}

TEST(SpliceExtents, OnlyTheDividedExtentHasNoChecksumIfOneIsUnknown) {
  const std::string content = RandomBytes(10 * kBlock, 1);
  Random random(1);
  const std::vector<Extent> moved = {
      {0, DeviceOffset(0), 4 * kBlock, Crc32c(AsBytes(content).first(4 * kBlock))},
      {4 * kBlock, DeviceOffset(100 * kBlock), 6 * kBlock, Crc32c(AsBytes(content).subspan(4 * kBlock))}};
  const std::vector<Extent> own = {{0, DeviceOffset(300 * kBlock), 7 * kBlock, std::nullopt}};
  const SplicedExtents spliced = SpliceExtents(moved, own, {7 * kBlock, own.back()}, kGeometry);
  ASSERT_EQ(spliced.all.size(), 2u);
  EXPECT_EQ(spliced.all[0], moved[0]);
  EXPECT_EQ(spliced.all[1].length, 3 * kBlock);
  EXPECT_FALSE(spliced.all[1].crc);
}

}  // namespace
}  // namespace zenfs
