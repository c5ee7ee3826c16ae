#include "wal/frame_read.h"

#include "testing/bit_rot.h"
#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

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
  EXPECT_TRUE(ReadFrame(rot_, rig_.log->zones(), kOwner.value, piece, buffer).ok());
  EXPECT_TRUE(ReadSyncBlock(rot_, seed, kOwner, piece, buffer).ok());
  for (const std::uint64_t byte : {-64L, -1L, 0L, 299L}) {
    rot_.Heal();
    rot_.Flip(DeviceOffset(piece.place.value + byte));
    EXPECT_FALSE(ReadFrame(rot_, rig_.log->zones(), kOwner.value, piece, buffer).ok()) << byte;
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
