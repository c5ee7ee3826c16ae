// The content of a plain file: how extents and tail buffer change together.
#include "file/plain_content.h"

#include <string>

#include "zone/zone_test_rig.h"

namespace zenfs::plain_content_test {
namespace {

struct MountedRig : ZoneTestRig {
  MountedRig() : ZoneTestRig(TestGeometry(32, 16)) { Mount(); }
};

class PlainContentTest : public testing::Test {
 protected:
  ~PlainContentTest() override { EXPECT_TRUE(content_.Sound()); }

  void Append(std::uint64_t bytes) {
    const std::string text(bytes, 'x');
    content_.Append(AsBytes(text), std::nullopt);
  }
  // An extent of `bytes` bytes at the tail buffer's offset, in its place on the device.
  std::vector<FileExtents::Placed> Place(std::uint64_t bytes, std::uint32_t crc) {
    SinkCursor cursor;
    auto placed = rig_.Write(cursor, Lifetime::kShort, RoundUp(bytes, kTestBlock) / kTestBlock);
    std::vector<FileExtents::Placed> all;
    all.emplace_back(Extent{content_.tail_offset(), placed->place, bytes, crc}, std::move(placed->pin));
    return all;
  }
  // Writes the first `bytes` of the tail buffer and keeps the last `kept` of them.
  void Write(std::uint64_t bytes, std::uint64_t kept) {
    content_.TakeWritten(Place(bytes, content_.tail().CrcOfFront(bytes)), bytes, kept);
  }

  MountedRig rig_;
  PublishedContent published_;
  PlainContent content_{*rig_.zones, rig_.device.geometry(), {}, 0, published_};
};

TEST_F(PlainContentTest, AppendedBytesAreInTheTailBufferUntilTheyAreWritten) {
  Append(kTestBlock + 10);
  EXPECT_FALSE(content_.written());
  EXPECT_EQ(published_.size, kTestBlock + 10);
  Write(kTestBlock, 0);
  EXPECT_FALSE(content_.written());
  EXPECT_EQ(content_.tail_offset(), kTestBlock);
  Write(10, 10);
  EXPECT_TRUE(content_.written());
  EXPECT_EQ(content_.tail().size(), 10U);
  EXPECT_EQ(published_.view.Get()->end(), kTestBlock + 10);
  content_.DropTail();
  EXPECT_EQ(content_.tail_offset(), content_.size());
}

TEST_F(PlainContentTest, ALastBlockThatGrewReplacesItsExtent) {
  Append(10);
  Write(10, 10);
  Append(10);
  const std::uint32_t crc = content_.tail().crc();
  Write(20, 20);
  ASSERT_EQ(content_.extents().all().size(), 1U);
  EXPECT_EQ(content_.extents().all().front().length, 20U);
  EXPECT_EQ(content_.extents().all().front().crc, KnownCrc(crc));
}

TEST_F(PlainContentTest, GatheredBytesEndBehindTheTailBuffer) {
  Append(kTestBlock);
  content_.TakeGathered(Place(3 * kTestBlock, 1), 2 * kTestBlock);
  EXPECT_TRUE(content_.written());
  EXPECT_TRUE(content_.tail().empty());
  EXPECT_EQ(content_.size(), 3 * kTestBlock);
}

TEST_F(PlainContentTest, AnOverwriteOfTheTailBufferTakesItsBytesOutOfTheExtents) {
  Append(kTestBlock + 10);
  Write(kTestBlock + 10, 10);
  const std::uint64_t revision = content_.revision();
  const std::string text(5, 'y');
  content_.Overwrite(kTestBlock + 5, AsBytes(text), Crc32c(AsBytes(text)));
  EXPECT_GT(content_.revision(), revision);
  EXPECT_EQ(content_.extents().end(), kTestBlock);
  EXPECT_EQ(content_.size(), kTestBlock + 10);
  EXPECT_EQ(content_.tail().crc(), Crc32c(content_.tail().View()));
}

TEST_F(PlainContentTest, ACutInTheTailBufferKeepsTheChecksumOfTheExtent) {
  Append(kTestBlock);
  Write(kTestBlock, kTestBlock);
  content_.Cut(100, std::nullopt);
  const std::string rest(100, 'x');
  ASSERT_EQ(content_.extents().all().size(), 1U);
  EXPECT_EQ(content_.extents().all().front().crc, KnownCrc(Crc32c(AsBytes(rest))));
  EXPECT_EQ(content_.tail().size(), 100U);
  EXPECT_EQ(published_.size, 100U);
}

TEST_F(PlainContentTest, ACutInFrontOfTheTailBufferNeedsItsChecksumFromTheCaller) {
  Append(2 * kTestBlock);
  Write(2 * kTestBlock, 0);
  content_.Cut(kTestBlock + 1, 5);
  EXPECT_EQ(content_.extents().all().front().crc, KnownCrc(5));
  content_.Cut(kTestBlock, std::nullopt);
  EXPECT_EQ(content_.extents().all().front().crc, std::nullopt);
  EXPECT_TRUE(content_.tail().empty());
}

TEST_F(PlainContentTest, OnlyAppendsToTheTailBufferKeepTheRevision) {
  std::uint64_t revision = content_.revision();
  Append(100);
  content_.Cut(100, std::nullopt);  // nothing
  EXPECT_EQ(content_.revision(), revision);
  content_.Cut(50, std::nullopt);
  EXPECT_GT(content_.revision(), revision);
  revision = content_.revision();
  Write(50, 50);
  EXPECT_GT(content_.revision(), revision);
}

}  // namespace
}  // namespace zenfs::plain_content_test
