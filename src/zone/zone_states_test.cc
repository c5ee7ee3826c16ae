#include "zone/zone_states.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace zenfs {
namespace {

constexpr std::uint32_t kBlock = 4096;

TEST(LiveBytesTest, AnExtentThatBeginsInsideABlockHasThisBlockToo) {
  const Extent extent{.place = DeviceOffset(kBlock + 8), .length = kBlock};
  EXPECT_EQ(BlocksOf(extent, kBlock).begin, DeviceOffset(kBlock));
  EXPECT_EQ(BlocksOf(extent, kBlock).end(), DeviceOffset(3 * kBlock));
}

TEST(LiveBytesTest, PaddedLastBlockCountsWhole) {
  EXPECT_EQ(OccupiedBytes({0, DeviceOffset(0), 1}, kBlock), kBlock);
  EXPECT_EQ(OccupiedBytes({0, DeviceOffset(kBlock), kBlock + 1}, kBlock), 2 * kBlock);
}

TEST(LiveBytesTest, ABlockCutInTheMiddleCountsForThePieceBeforeTheCut) {
  // [0, 10000) cut at 5000: the first piece counts blocks 0 and 1, the second piece counts block 2.
  EXPECT_EQ(OccupiedBytes({5000, DeviceOffset(5000), 5000}, kBlock), kBlock);
  EXPECT_EQ(OccupiedBytes({0, DeviceOffset(0), 5000}, kBlock), 2 * kBlock);
}

TEST(LiveBytesTest, PiecesAddUpToTheWholeExtentForAnyCuts) {
  EXPECT_TRUE(rc::check([] {
    const std::uint64_t place = *rc::gen::inRange<std::uint64_t>(0, 50) * kBlock;
    std::uint64_t length = *rc::gen::inRange<std::uint64_t>(1, 20 * kBlock);
    std::uint64_t live = OccupiedBytes({0, DeviceOffset(place), length}, kBlock);
    while (length != 0) {
      const std::uint64_t cut = *rc::gen::inRange<std::uint64_t>(0, length);
      const std::uint64_t lost = OccupiedBytes({cut, DeviceOffset(place + cut), length - cut}, kBlock);
      RC_ASSERT(lost <= live);
      live -= lost;
      length = cut;
      RC_ASSERT(live >= length);
    }
    RC_ASSERT(live == 0U);
  }));
}

}  // namespace
}  // namespace zenfs
