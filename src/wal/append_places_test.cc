#include "wal/zone_append.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

constexpr std::uint64_t kBlock = 4096;

DeviceOffset Block(std::uint64_t number) { return DeviceOffset(number * kBlock); }

class AppendPlacesTest : public testing::Test {
 protected:
  AppendPlacesTest() { places_.Restart(Block(10)); }
  bool Take(std::uint64_t block, std::uint64_t blocks = 1) {
    return places_.Take(Block(block), blocks * kBlock, Block(20));
  }

  AppendPlaces places_;
};

TEST_F(AppendPlacesTest, EveryOrderOfCompletionsIsNormal) {
  for (const std::uint64_t block : {13, 11, 10, 12, 15, 14}) EXPECT_TRUE(Take(block)) << block;
  EXPECT_TRUE(Take(16, 4));
}

TEST_F(AppendPlacesTest, NoByteIsTakenTwice) {
  ASSERT_TRUE(Take(12, 2));
  EXPECT_FALSE(Take(12));
  EXPECT_FALSE(Take(13));
  EXPECT_FALSE(Take(11, 2));
  EXPECT_FALSE(Take(10, 5));
  ASSERT_TRUE(Take(10, 2));
  for (std::uint64_t block = 10; block < 14; ++block) EXPECT_FALSE(Take(block)) << block;
  EXPECT_TRUE(Take(14));
}

TEST_F(AppendPlacesTest, NoPlaceIsOutsideOfTheReservedRoom) {
  EXPECT_FALSE(Take(9));
  EXPECT_FALSE(Take(9, 2));
  EXPECT_FALSE(Take(20));
  EXPECT_FALSE(Take(19, 2));
  EXPECT_TRUE(Take(19));
  EXPECT_TRUE(Take(10));
}

TEST_F(AppendPlacesTest, ANewStartForgetsWhatWasTaken) {
  ASSERT_TRUE(Take(12));
  places_.Restart(Block(12));
  EXPECT_TRUE(Take(12));
  EXPECT_FALSE(Take(11));
}

}  // namespace
}  // namespace zenfs
