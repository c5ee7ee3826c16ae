#include "wal/frame_read.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "testing/bit_rot.h"
#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

// The model: for each file byte its place on the device, and whether a piece begins there.
struct IndexModel {
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
    IndexModel replaced;
    for (const Piece& piece : pieces) replaced.Append(piece);
    replaced.place.insert(replaced.place.end(), place.begin() + static_cast<long>(offset), place.end());
    replaced.begins.insert(replaced.begins.end(), begins.begin() + static_cast<long>(offset), begins.end());
    *this = std::move(replaced);
  }
};

void ExpectSame(const FrameIndex& index, const IndexModel& model) {
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
    IndexModel model;
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

// Two adjacent frames of file 7, of 5000 and 300 bytes.
class FrameReadTest : public testing::Test {
 protected:
  FrameReadTest() {
    rig_.Mount();
    for (const auto& [sequence, offset, length] :
         {std::tuple{1UL, 1000UL, 5000UL}, std::tuple{2UL, 6000UL, 300UL}}) {
      TestJob job(kOwner.value, sequence, offset, text_.substr(offset, length));
      auto placed = rig_.log->writer().Write(job.job);
      EXPECT_TRUE(placed.ok() && placed->size() == 1);
      pieces_.push_back(placed->front().ToPiece());
    }
  }
  FrameRead ReadOf(const Piece& piece, std::uint64_t from, ByteSpan into) {
    const FrameSeed seed = rig_.log->zones().SeedOf(rig_.ZoneOf(piece.place)).value();
    return {.piece = piece, .seed = seed, .from = from, .into = into};
  }
  // Reads file bytes [from, to), which are in both frames.
  Result<std::string> Read(std::uint64_t from, std::uint64_t to) {
    std::string text(to - from, '?');
    const ByteSpan into = std::as_writable_bytes(std::span(text));
    const std::uint64_t border = pieces_[1].file_offset;
    const FrameRead parts[] = {ReadOf(pieces_[0], from, into.first(border - from)),
                               ReadOf(pieces_[1], border, into.subspan(border - from))};
    ZENFS_RETURN_IF_ERROR(ReadFrames(rot_, kOwner, parts));
    return text;
  }

  static constexpr FileId kOwner{7};
  const std::string text_ = TestText(7000, 1);
  WalRig rig_{TestGeometry(16, 64)};
  BitRot rot_{rig_.device};
  std::vector<Piece> pieces_;
};

TEST_F(FrameReadTest, PartsOfFramesAreReadWithOneCommand) {
  const std::uint64_t before = rig_.Count(FaultyDevice::Command::kRead);
  for (const auto& [from, to] : {std::pair{1000UL, 6300UL}, {5999UL, 6001UL}}) {
    const auto read = Read(from, to);
    ASSERT_TRUE(read.ok()) << read.error().ToString();
    EXPECT_EQ(*read, text_.substr(from, to - from));
  }
  EXPECT_EQ(rig_.Count(FaultyDevice::Command::kRead), before + 2);
}

TEST_F(FrameReadTest, AFlippedBitAnywhereInAFrameIsAnErrorEvenIfThatPartIsNotRead) {
  for (const Piece& piece : pieces_) {
    for (const std::uint64_t byte : {-64L, -1L, 0L, 299L}) {
      rot_.Heal();
      rot_.Flip(DeviceOffset(piece.place.value + byte));
      const auto read = Read(5999, 6001);
      ASSERT_FALSE(read.ok()) << byte;
      EXPECT_EQ(read.error().code(), Code::kCorruption);
      EXPECT_NE(read.error().text().find("log zone"), std::string::npos);
    }
  }
  rot_.Heal();
  rot_.Flip(pieces_[1].place + 300);  // padding
  EXPECT_TRUE(Read(5999, 6001).ok());
}

// As a frame is read that is written again after a failed flush, or out of a sync block.
TEST_F(FrameReadTest, AFrameWithAFlippedBitIsNotWrittenAgain) {
  const Piece& piece = pieces_[1];
  const FrameSeed seed = ReadOf(piece, piece.file_offset, {}).seed;
  AlignedBuffer buffer(kTestBlock);
  EXPECT_TRUE(ReadFrame(rot_, seed, kOwner, piece, buffer).ok());
  EXPECT_TRUE(ReadSyncBlock(rot_, seed, kOwner, piece, buffer).ok());
  for (const std::uint64_t byte : {-64L, -1L, 0L, 299L}) {
    rot_.Heal();
    rot_.Flip(DeviceOffset(piece.place.value + byte));
    EXPECT_FALSE(ReadFrame(rot_, seed, kOwner, piece, buffer).ok()) << byte;
    EXPECT_FALSE(ReadSyncBlock(rot_, seed, kOwner, piece, buffer).ok()) << byte;
  }
}

// The front of the second frame is in a longer copy of the first one.
TEST_F(FrameReadTest, APieceMayBeginInTheMiddleOfAFrame) {
  pieces_[1].file_offset += 10;
  pieces_[1].place = pieces_[1].place + 10;
  pieces_[1].length -= 10;
  pieces_[1].skipped = 10;
  std::string text(290, '?');
  const FrameRead part = ReadOf(pieces_[1], 6010, std::as_writable_bytes(std::span(text)));
  ASSERT_TRUE(ReadFrames(rot_, kOwner, std::span(&part, 1)).ok());
  EXPECT_EQ(text, text_.substr(6010, 290));
}

TEST_F(FrameReadTest, TheErrorOfAnUnreadableFrameNamesIt) {
  rig_.device.Inject({.command = FaultyDevice::Command::kRead,
                      .times = FaultyDevice::kForEver,
                      .bytes = FaultyDevice::Bytes{pieces_[1].place, pieces_[1].place + 1}});
  const auto read = Read(5999, 6001);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), Code::kIo);
}

}  // namespace
}  // namespace zenfs
