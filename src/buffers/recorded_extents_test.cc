// The extents that the records of plain files name: a reader takes no more of them than all slots may have.
#include "buffers/buffer_area_test_rig.h"
#include "format/tail_record.h"

namespace zenfs {
namespace {

class RecordedExtentsTest : public BufferAreaTest {
 protected:
  // A record of `count` extents of `length` bytes, and a byte behind them.
  AppendBuffer Recorded(std::uint64_t owner, std::uint64_t count, std::uint64_t length) {
    SetExtents edit{.id = FileId(owner), .from_offset = 0, .size = count * length};
    for (std::uint64_t i = 0; i < count; ++i)
      edit.extents.push_back(
          {.file_offset = i * length, .place = DeviceOffset(i * length), .length = length});
    AppendBuffer tail;
    EXPECT_TRUE(tail.BeginTail(area_, owner, edit.size,
                               AsBytes(EncodeTailRecord({.order = 1, .uncommitted = std::move(edit)}))));
    EXPECT_EQ(tail.Append(AsBytes(std::string_view("x")), 7), 1u);
    return tail;
  }
  static std::uint64_t ExtentsOf(const LiveBuffers& buffers) {
    std::uint64_t extents = 0;
    for (const FlushedBytes& flushed : buffers.pieces()) extents += flushed.piece.uncommitted->extents.size();
    return extents;
  }
  // After the death of the writer, with `tail` published.
  void ExpectRefused(AppendBuffer tail) {
    KeepPlace();
    Die(std::move(tail));
    const LiveBuffers reader = Look(Whose());
    EXPECT_TRUE(reader.damaged());
    EXPECT_NE(reader.problem().find("slot 0"), std::string::npos) << reader.problem();
    EXPECT_TRUE(reader.pieces().empty());
    const auto left = OpenOrphanedBuffers(Whose());
    ASSERT_EQ(CodeOf(left), Code::kCorruption);
    EXPECT_NE(left.error().text().find("discard_unsynced"), std::string::npos) << left.error().text();
  }
};

TEST_F(RecordedExtentsTest, ThoseOfAllSlotsTogetherAreBounded) {
  constexpr std::uint32_t kSlots = 1024;
  area_ = Make(7, kSlots);
  const std::uint64_t most = area_->extents_max();
  EXPECT_EQ(most * kSlots, kRecordedExtentsMax);
  std::vector<AppendBuffer> tails;
  for (std::uint64_t owner = 1; owner <= 3; ++owner) tails.push_back(Recorded(owner, most, 4096));
  EXPECT_EQ(ExtentsOf(Look(Whose())), 3 * most);
  for (AppendBuffer& tail : tails) tail.Release();
}

TEST_F(RecordedExtentsTest, MoreThanTheShareOfASlotAreDamage) {
  area_ = Make(7, 1024);
  ExpectRefused(Recorded(5, area_->extents_max() + 1, 4096));
}

TEST_F(RecordedExtentsTest, ThoseWithoutBytesAreDamage) { ExpectRefused(Recorded(5, 20'000, 0)); }

}  // namespace
}  // namespace zenfs
