// The extents that the records of plain files name: a reader takes no more of them than all slots may have.
#include <sstream>

#include "base/clock.h"
#include "base/sync_point.h"
#include "buffers/buffer_area_test_rig.h"
#include "format/buffer_area_layout.h"

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
  // Updates `buffers` a few times, as many as files are opened. Returns how often a slot's `what` happened.
  int CountDuringUpdates(LiveBuffers& buffers, std::string_view what) {
    int count = 0;
    const SyncPoint::Scope counted([&](std::string_view name) { count += name == what ? 1 : 0; });
    for (int file = 0; file < 5; ++file) buffers.Update(Whose(), Deadline::After(std::chrono::seconds(10)));
    return count;
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

TEST_F(RecordedExtentsTest, AreDecodedOnceForEachRecord) {
  constexpr std::string_view kDecode = "LiveBuffers::DecodeSlot";
  AppendBuffer one = Recorded(1, 100, 4096);
  AppendBuffer two = Recorded(2, 100, 4096);
  LiveBuffers buffers;
  EXPECT_EQ(CountDuringUpdates(buffers, kDecode), 2);
  const FlushedBytes before = buffers.PiecesOf(FileId(1)).front();
  EXPECT_EQ(one.Append(AsBytes(std::string_view("yz")), 9), 2u);
  EXPECT_EQ(CountDuringUpdates(buffers, kDecode), 0) << "the record is the same";
  const FlushedBytes& after = buffers.PiecesOf(FileId(1)).front();
  EXPECT_EQ(AsText(after.piece.bytes), "xyz");
  EXPECT_EQ(after.piece.appended_seconds, 9u);
  EXPECT_EQ(after.piece.uncommitted, before.piece.uncommitted) << "a reader's copy";
  two.Release();
  two = Recorded(2, 50, 4096);
  EXPECT_EQ(CountDuringUpdates(buffers, kDecode), 1);
  EXPECT_EQ(ExtentsOf(buffers), 150u);
  one.Cut(2);
  EXPECT_EQ(CountDuringUpdates(buffers, kDecode), 1) << "its bytes were read anew";
  EXPECT_EQ(AsText(buffers.PiecesOf(FileId(1)).front().piece.bytes), "xy");
  one.Release();
  two.Release();
  EXPECT_EQ(CountDuringUpdates(buffers, kDecode), 0);
  EXPECT_TRUE(buffers.pieces().empty());
}

TEST_F(RecordedExtentsTest, ARefusedFileIsReadOnceUntilItChanges) {
  constexpr std::string_view kRead = "LiveBuffers::ReadSlot";
  AppendBuffer sound = Buffer(1, 0, "sound");
  AppendBuffer tail = Recorded(5, 100, 0);
  const WallClockOverride later(WallSeconds() + 10);  // the file's time is over
  LiveBuffers buffers;
  EXPECT_EQ(CountDuringUpdates(buffers, kRead), 2);
  EXPECT_TRUE(buffers.damaged());
  EXPECT_TRUE(buffers.ChangedSincePeek().all);
  // Its maker publishes something else.
  tail.Release();
  EXPECT_EQ(CountDuringUpdates(buffers, kRead), 1);
  EXPECT_EQ(buffers.problem(), "");
  EXPECT_EQ(buffers.pieces().size(), 1u);
  sound.Release();
}

TEST_F(RecordedExtentsTest, AMendedFileIsReadAgain) {
  AppendBuffer sound = Buffer(1, 0, "sound");
  std::ostringstream whole;
  whole << std::ifstream(path_(), std::ios::binary).rdbuf();
  Overwrite(whole.str().find("sound"), 'S');
  const WallClockOverride later(WallSeconds() + 10);
  LiveBuffers buffers;
  EXPECT_EQ(CountDuringUpdates(buffers, "LiveBuffers::ReadSlot"), 2)
      << "again, in case the writer was at work";
  EXPECT_TRUE(buffers.damaged());
  std::filesystem::copy_file(path_(), path_() + "m");
  std::filesystem::rename(path_() + "m", path_());
  Overwrite(whole.str().find("sound"), 's');
  EXPECT_EQ(CountDuringUpdates(buffers, "LiveBuffers::ReadSlot"), 1);
  EXPECT_EQ(buffers.problem(), "");
  EXPECT_EQ(buffers.pieces().size(), 1u);
  sound.Release();
}

}  // namespace
}  // namespace zenfs
