#include "wal/frame_index.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace zenfs {
namespace {

// The model: for each file byte its place on the device, and whether a piece begins there.
struct Model {
  std::vector<std::uint64_t> place;
  std::vector<bool> begins;

  void Append(const Piece& piece) {
    for (std::uint64_t i = 0; i < piece.length; ++i) {
      place.push_back(piece.place.value + i);
      begins.push_back(i == 0);
    }
  }
  void CutAt(std::uint64_t offset) {
    if (offset >= place.size()) return;
    place.resize(offset);
    begins.resize(offset);
  }
  void ReplaceBelow(std::uint64_t offset, const std::vector<Piece>& pieces) {
    Model replaced;
    for (const Piece& piece : pieces) replaced.Append(piece);
    replaced.place.insert(replaced.place.end(), place.begin() + static_cast<long>(offset), place.end());
    replaced.begins.insert(replaced.begins.end(), begins.begin() + static_cast<long>(offset), begins.end());
    *this = std::move(replaced);
  }
};

void ExpectSame(const FrameIndex& index, const Model& model) {
  ASSERT_EQ(index.end(), model.place.size());
  for (std::uint64_t at = 0; at < index.end(); ++at) {
    const std::size_t i = index.Find(at);
    ASSERT_LT(i, index.size());
    const Piece& piece = index[i];
    ASSERT_LE(piece.file_offset, at);
    ASSERT_GT(piece.end(), at);
    ASSERT_EQ(piece.place.value + (at - piece.file_offset), model.place[at]);
    ASSERT_EQ(piece.file_offset == at, model.begins[at]);
  }
  EXPECT_EQ(index.Find(index.end()), index.size());
  EXPECT_EQ(index.Find(index.end() + 7), index.size());
}

TEST(FrameIndexTest, EmptyIndexHoldsNothing) {
  const FrameIndex index;
  EXPECT_EQ(index.end(), 0U);
  EXPECT_EQ(index.Find(0), index.size());
}

TEST(FrameIndexTest, RandomChangesLeaveEveryByteWhereTheModelHasIt) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    FrameIndex index;
    Model model;
    std::uint64_t place = 1 << 20;
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t kind = random.Below(10);
      if (kind < 7) {
        const Piece piece{
            .file_offset = index.end(), .length = 1 + random.Below(9), .place = DeviceOffset(place)};
        place += 64;
        index.Append(piece);
        model.Append(piece);
      } else if (kind < 9) {
        const std::uint64_t offset = random.Below(index.end() + 3);
        index.CutAt(offset);
        model.CutAt(offset);
      } else if (index.size() != 0) {
        const std::uint64_t end = index[random.Below(index.size())].end();
        std::vector<Piece> pieces;
        for (std::uint64_t at = 0; at < end;) {
          const std::uint64_t length = 1 + random.Below(end - at);
          pieces.push_back({.file_offset = at, .length = length, .place = DeviceOffset(place)});
          place += 64;
          at += length;
        }
        index.ReplaceBelow(end, pieces);
        model.ReplaceBelow(end, pieces);
      }
      ExpectSame(index, model);
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << " step " << step;
    }
  }
}

TEST(FrameIndexTest, ReplacingAllLeavesOnlyTheNewPieces) {
  FrameIndex index;
  index.Append({.file_offset = 0, .length = 10, .place = DeviceOffset(100), .sequence = 1});
  index.Append({.file_offset = 10, .length = 5, .place = DeviceOffset(200), .sequence = 2});
  index.ReplaceBelow(15, {{.file_offset = 0, .length = 15, .place = DeviceOffset(300)}});
  ASSERT_EQ(index.size(), 1U);
  EXPECT_EQ(index[0].sequence, 0U);
  EXPECT_EQ(index.end(), 15U);
}

// P1 of docs/internals/failures.md: a log of 1 GiB, written in records of 4 KiB and read in file order.
TEST(FrameIndexTest, APieceAmongAQuarterOfAMillionIsFoundInTwentySteps) {
  constexpr std::uint64_t kPieces = 1 << 18;
  FrameIndex index;
  for (std::uint64_t i = 0; i < kPieces; ++i) {
    index.Append(
        {.file_offset = i * 4096, .length = 4096, .place = DeviceOffset(i * 8192), .sequence = i + 1});
  }
  std::uint64_t most = 0;
  for (std::uint64_t i = 0; i < kPieces; i += 37) {
    std::uint64_t steps = 0;
    const auto counting = [&](std::uint64_t a, std::uint64_t b) {
      ++steps;
      return a < b;
    };
    ASSERT_EQ(index.Find(i * 4096 + 17, counting), i);
    most = std::max(most, steps);
  }
  EXPECT_LE(most, 20u);
}

}  // namespace
}  // namespace zenfs
