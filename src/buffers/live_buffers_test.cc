// The append buffers of a mount that runs, as readers see them.
#include "buffers/live_buffers.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/sync_point.h"
#include "buffers/buffer_area_test_rig.h"
#include "format/buffer_area_layout.h"

namespace zenfs {
namespace {

class LiveBuffersTest : public BufferAreaTest {
 protected:
  void Update() { buffers_.Update(Whose(), Deadline::After(std::chrono::seconds(10))); }
  std::string TextOf(std::uint64_t owner) {
    std::string text;
    for (const FlushedBytes& flushed : buffers_.PiecesOf(FileId(owner)))
      text += std::string(AsText(flushed.piece.bytes));
    return text;
  }
  AppendBuffer Tail(std::uint64_t owner, std::uint64_t order, std::string_view text) {
    const std::string record = EncodeTailRecord({.order = order, .uncommitted = {}});
    AppendBuffer tail;
    EXPECT_TRUE(tail.BeginTail(area_, owner, 10, AsBytes(record)));
    EXPECT_EQ(tail.Append(AsBytes(text), 7), text.size());
    return tail;
  }

  LiveBuffers buffers_;
  std::vector<AppendBuffer> keep_;
};

TEST_F(LiveBuffersTest, EachUpdateSeesWhatIsPublishedThen) {
  Update();
  EXPECT_TRUE(buffers_.pieces().empty());
  EXPECT_TRUE(buffers_.MakerLives());
  AppendBuffer buffer = Buffer(5, 100, "abc");
  Update();
  EXPECT_EQ(TextOf(5), "abc");
  const FlushedBytes before = buffers_.pieces().front();
  EXPECT_EQ(before.piece.file_offset, 100u);
  EXPECT_TRUE(before.Unchanged());
  EXPECT_EQ(buffer.Append(AsBytes(std::string_view("defg")), 8), 4u);
  EXPECT_FALSE(before.Unchanged());
  Update();
  EXPECT_EQ(TextOf(5), "abcdefg");
  EXPECT_EQ(AsText(before.piece.bytes), "abc");
  buffer.Cut(2);
  EXPECT_EQ(buffer.Append(AsBytes(std::string_view("XXXXXXXX")), 9), 8u);
  Update();
  EXPECT_EQ(TextOf(5), "abXXXXXXXX") << "it was cut and is longer than before";
  EXPECT_EQ(AsText(before.piece.bytes), "abc") << "a reader's bytes stay";
  buffer.Clear();
  Update();
  EXPECT_TRUE(buffers_.pieces().empty());
  EXPECT_EQ(buffers_.problem(), "");
}

TEST_F(LiveBuffersTest, OnlyFilesOfChangedSlotsAreChanged) {
  AppendBuffer one = Buffer(1, 0, "one");
  AppendBuffer two = Buffer(2, 0, "two");
  Update();
  EXPECT_TRUE(buffers_.ChangedSincePeek().all) << "there was nothing to compare with";
  buffers_.Peek();
  Update();
  EXPECT_TRUE(buffers_.ChangedSincePeek().none());
  buffers_.Peek();
  EXPECT_EQ(two.Append(AsBytes(std::string_view("!")), 8), 1u);
  Update();
  EXPECT_FALSE(buffers_.ChangedSincePeek().all);
  EXPECT_EQ(buffers_.ChangedSincePeek().owners, std::set<FileId>{FileId(2)});
  one.Clear();
  two.Clear();
}

// The new slot is published before the old one is emptied. A reader may have passed the one and not reached the other.
TEST_F(LiveBuffersTest, ATailThatMovesToAnotherSlotDuringALookIsSeen) {
  for (const std::string_view point : {"LiveBuffers::ReadSlots", "LiveBuffers::ReadSlotBytes"}) {
    AppendBuffer tail = Tail(7, 1, "first");
    int moves = 0;
    {
      const SyncPoint::Scope during([&](std::string_view name) {
        if (name != point || moves != 0) return;
        ++moves;
        AppendBuffer next = Tail(7, 2, "second");
        std::swap(tail, next);
        next.Release();
        AppendBuffer other = Buffer(8, 0, "another file takes the slot");
        other.Cut(7);
        keep_.push_back(std::move(other));
      });
      Update();
    }
    EXPECT_EQ(moves, 1) << point;
    EXPECT_EQ(TextOf(7), "second") << point;
    EXPECT_EQ(buffers_.problem(), "");
    tail.Release();
    for (AppendBuffer& buffer : keep_) buffer.Release();
    keep_.clear();
    buffers_ = LiveBuffers();
  }
}

TEST_F(LiveBuffersTest, TheBuffersOfAnotherMountAreReadOnceTheyAreNamed) {
  AppendBuffer old = Buffer(1, 0, "old");
  Update();
  const WhoseBuffers before = Whose();
  old.Clear();
  const auto first = area_;
  area_ = Make(8);
  AppendBuffer buffer = Buffer(1, 0, "new");
  buffers_.Update(before, Deadline::After(std::chrono::seconds(10)));
  EXPECT_EQ(TextOf(1), "");
  WhoseBuffers now = Whose();
  now.epoch = 8;
  buffers_.Peek();
  buffers_.Update(now, Deadline::After(std::chrono::seconds(10)));
  EXPECT_TRUE(buffers_.ChangedSincePeek().all);
  EXPECT_EQ(TextOf(1), "new");
  buffer.Clear();
}

// Resident bytes of the mappings that have one of `places`. Not of the whole process: a sanitizer has a shadow of its memory.
std::uint64_t ResidentBytes(const std::vector<std::uintptr_t>& places) {
  std::ifstream smaps("/proc/self/smaps");
  std::uint64_t resident = 0;
  bool counts = false;
  for (std::string line; std::getline(smaps, line);) {
    std::uintptr_t begin = 0, end = 0;
    std::uint64_t kib = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      counts = std::ranges::any_of(places, [&](std::uintptr_t at) { return begin <= at && at < end; });
    } else if (counts && std::sscanf(line.c_str(), "Rss: %lu kB", &kib) == 1) {
      resident += kib << 10;
    }
  }
  return resident;
}

// No writer publishes a hole, but another program may.
TEST_F(LiveBuffersTest, HolesInPublishedBytesTakeNoMemory) {
  constexpr std::uint32_t kSlots = 1024;
  area_ = Make(7, kSlots);
  const auto memory = SharedMemory::Open(path_(), SharedMemory::Access::kRead);
  ASSERT_TRUE(memory);
  const auto header = ReadBufferAreaHeader(memory->view());
  ASSERT_TRUE(header);
  const std::string zeros(kBufferBytes - kBufferAreaPayloadAt, '\0');
  std::fstream file(path_(), std::ios::in | std::ios::out | std::ios::binary);
  for (std::uint64_t slot = 0; slot < kSlots; ++slot) {
    const std::uint32_t crc = Crc32c(AsBytes(zeros), BufferAreaSeed(volume_, 7, slot, 0));
    const std::uint64_t control[] = {PublishedWord(static_cast<std::uint32_t>(zeros.size()), crc), slot, 0,
                                     0};
    file.seekp(static_cast<std::streamoff>(header->controls_offset + slot * sizeof(BufferAreaControl)));
    file.write(reinterpret_cast<const char*>(control), sizeof control);
  }
  file.flush();
  Update();
  EXPECT_EQ(buffers_.problem(), "");
  ASSERT_EQ(buffers_.pieces().size(), kSlots);
  std::vector<std::uintptr_t> places;
  for (const FlushedBytes& flushed : buffers_.pieces())
    places.push_back(reinterpret_cast<std::uintptr_t>(flushed.piece.bytes.data()));
  EXPECT_LT(ResidentBytes(places), kSlots * kBufferBytes / 8);
  EXPECT_EQ(TextOf(5), zeros);
}

// The extents that the records of plain files name: a reader takes no more of them than all slots may have.
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
  constexpr std::string_view kDecode = "LiveBuffers::MakePieces:slot";
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
  constexpr std::string_view kRead = "LiveBuffers::ReadSlotBytes";
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
  EXPECT_EQ(CountDuringUpdates(buffers, "LiveBuffers::ReadSlotBytes"), 2)
      << "again, in case the writer was at work";
  EXPECT_TRUE(buffers.damaged());
  std::filesystem::copy_file(path_(), path_() + "m");
  std::filesystem::rename(path_() + "m", path_());
  Overwrite(whole.str().find("sound"), 's');
  EXPECT_EQ(CountDuringUpdates(buffers, "LiveBuffers::ReadSlotBytes"), 1);
  EXPECT_EQ(buffers.problem(), "");
  EXPECT_EQ(buffers.pieces().size(), 1u);
  sound.Release();
}

}  // namespace
}  // namespace zenfs
