// The extents of an open file, and what of them is not committed.
#include "file/file_extents.h"

#include "zone/zone_test_rig.h"

namespace zenfs::file_extents_test {
namespace {

constexpr FileId kFile{7};

struct MountedRig : ZoneTestRig {
  MountedRig() : ZoneTestRig(TestGeometry(32, 16)) { Mount(); }
};

class FileExtentsTest : public testing::Test {
 protected:
  // Writes `blocks` blocks for the end of the file. Each write goes to a zone of its own.
  std::vector<FileExtents::Placed> Place(std::uint64_t blocks) {
    SinkCursor cursor;
    auto placed = rig_.Write(cursor, lifetime_, blocks);
    lifetime_ = lifetime_ == Lifetime::kShort ? Lifetime::kExtreme : Lifetime::kShort;
    std::vector<FileExtents::Placed> all;
    all.emplace_back(Extent{extents_.end(), placed->place, placed->length, 1}, std::move(placed->pin));
    return all;
  }
  SetExtents Edit() const { return extents_.EditToCommit(kFile, 1, false); }

  MountedRig rig_;
  Lifetime lifetime_ = Lifetime::kShort;
  ViewSlots view_;
  FileExtents extents_{*rig_.zones, rig_.device.geometry(), {}, 0, view_};
};

TEST_F(FileExtentsTest, AnAppendIsPublishedAndUncommitted) {
  EXPECT_FALSE(extents_.changed());
  extents_.Append(Place(2));
  EXPECT_EQ(view_.Get()->extents, extents_.all());
  EXPECT_TRUE(extents_.changed());
  EXPECT_EQ(Edit().from_offset, 0U);
  EXPECT_EQ(Edit().extents, extents_.all());
  EXPECT_EQ(Edit().size, 2 * kTestBlock);
}

TEST_F(FileExtentsTest, ChangesDuringACommitAreInTheNextEdit) {
  extents_.Append(Place(2));
  extents_.BeginCommit();
  extents_.Append(Place(1));
  extents_.EndCommit(2 * kTestBlock);
  EXPECT_EQ(extents_.committed_size(), 2 * kTestBlock);
  ASSERT_TRUE(extents_.changed());
  EXPECT_EQ(extents_.changed_from(), 2 * kTestBlock);
  EXPECT_EQ(Edit().extents.back(), extents_.all().back());
  EXPECT_EQ(extents_.EditToCommit(kFile, 1, true).from_offset, 0U);
}

TEST_F(FileExtentsTest, AFailedCommitIsRepeatedInTheNextEdit) {
  extents_.Append(Place(2));
  extents_.BeginCommit();  // no EndCommit
  extents_.Append(Place(1));
  EXPECT_EQ(Edit().from_offset, 0U);
  EXPECT_EQ(Edit().extents, extents_.all());
}

TEST_F(FileExtentsTest, ACutIsAChangeAndAnEmptyCutIsNot) {
  extents_.Append(Place(2));
  extents_.BeginCommit();
  extents_.EndCommit(2 * kTestBlock);
  const std::uint64_t revision = extents_.revision();
  extents_.Cut(2 * kTestBlock, std::nullopt);
  EXPECT_FALSE(extents_.changed());
  EXPECT_EQ(extents_.revision(), revision);
  extents_.Cut(kTestBlock, 5);
  EXPECT_GT(extents_.revision(), revision);
  ASSERT_EQ(Edit().extents.size(), 1U);
  EXPECT_EQ(Edit().extents.front().length, kTestBlock);
  EXPECT_EQ(Edit().extents.front().crc, KnownCrc(5));
}

TEST_F(FileExtentsTest, MarksOfWritesBelongToTheCommitAfterThem) {
  EXPECT_FALSE(extents_.written_since());
  extents_.NoteWrite(FlushMark::AtOpen());
  EXPECT_TRUE(extents_.written_since());
  extents_.BeginCommit();
  extents_.EndCommit(0);
  EXPECT_FALSE(extents_.written_since());
  extents_.NoteWrite(FlushMark::AtOpen());
  extents_.BeginCommit();
  extents_.NoteWrite(FlushMark::AtOpen());  // not covered by the commit in flight
  extents_.EndCommit(0);
  EXPECT_TRUE(extents_.written_since());
}

TEST_F(FileExtentsTest, ExtentsOfACommitInFlightStayPinned) {
  extents_.Append(Place(2));
  const ZoneId zone = rig_.device.geometry().ZoneOf(extents_.all().front().place);
  extents_.BeginCommit();
  extents_.Cut(0, std::nullopt);
  EXPECT_NE(rig_.zones->Zone(zone).pins, 0U);
  extents_.EndCommit(2 * kTestBlock);
  EXPECT_EQ(rig_.zones->Zone(zone).pins, 0U);
}

}  // namespace
}  // namespace zenfs::file_extents_test
