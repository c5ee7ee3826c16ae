#include "volume/fsck/invalid_blocks.h"

#include <gtest/gtest.h>

namespace zenfs::invalid_blocks_test {
namespace {

constexpr std::uint64_t kBlock = 4096;
using Place = InvalidBlocks::Place;

FrameHeader Header(std::uint64_t owner, std::uint64_t file_offset) {
  return {.owner = owner, .file_offset = file_offset};
}

TEST(InvalidBlocksTest, AHeaderLeadsToTheBlockThatClaimsTheLowestOffset) {
  InvalidBlocks blocks;
  blocks.Add({ZoneId(3), 0}, Header(7, 300));
  blocks.Add({ZoneId(3), kBlock}, Header(8, 100));
  blocks.Add({ZoneId(4), 0}, Header(7, 100));
  blocks.Add({ZoneId(5), 0}, Header(7, 100));  // an older copy
  EXPECT_EQ(blocks.Claiming(FileId(7), 0, 1000), (Place{ZoneId(4), 0}));
  EXPECT_EQ(blocks.Claiming(FileId(7), 101, 301), (Place{ZoneId(3), 0}));
  EXPECT_EQ(blocks.Claiming(FileId(7), 101, 300), std::nullopt);
  EXPECT_EQ(blocks.Claiming(FileId(9), 0, 1000), std::nullopt);
}

TEST(InvalidBlocksTest, TheNextBlockBehindAFrameIsFoundInItsZoneOnly) {
  InvalidBlocks blocks;
  EXPECT_EQ(blocks.First(), std::nullopt);
  blocks.Add({ZoneId(3), 0});
  blocks.Add({ZoneId(3), kBlock});
  blocks.SeeFrame();  // at 2
  blocks.SeeFrame();  // at 3
  blocks.Add({ZoneId(3), 4 * kBlock});
  blocks.SeeFrame();  // at 5
  blocks.Add({ZoneId(4), 0});
  EXPECT_EQ(blocks.First(), (Place{ZoneId(3), 0}));
  EXPECT_EQ(blocks.Behind({ZoneId(3), 2 * kBlock + 64}), (Place{ZoneId(3), 4 * kBlock}));
  EXPECT_EQ(blocks.Behind({ZoneId(3), 3 * kBlock + 64}), (Place{ZoneId(3), 4 * kBlock}));
  EXPECT_EQ(blocks.Behind({ZoneId(3), 5 * kBlock + 64}), std::nullopt);
}

// A log zone of an image may have nothing else.
TEST(InvalidBlocksTest, AMillionBlocksTakeTheMemoryOfAFewThousandAndNoQuestionWalksThem) {
  constexpr std::uint64_t kBlocks = 1'000'000;
  InvalidBlocks blocks;
  for (std::uint64_t i = 0; i < kBlocks; ++i) blocks.Add({ZoneId(3), i * kBlock});
  EXPECT_EQ(blocks.size(), 1u);
  for (std::uint64_t i = 0; i < kBlocks; ++i) blocks.Add({ZoneId(4), i * kBlock}, Header(7, i));
  EXPECT_EQ(blocks.size(), 2 + InvalidBlocks::kHeadersKept);
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    ASSERT_EQ(blocks.Claiming(FileId(7), i, i + 1).has_value(), i < InvalidBlocks::kHeadersKept);
    ASSERT_EQ(blocks.Behind({ZoneId(3), kBlock}), std::nullopt);
  }
}

}  // namespace
}  // namespace zenfs::invalid_blocks_test
