#include "reclaim/zone_mover.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "model/state.h"
#include "zone/zone_test_rig.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kZone = 1 << 20;
const Geometry kGeometry{.zone_size = kZone, .zone_count = 8};

Extent At(std::uint64_t file_block, std::uint64_t zone, std::uint64_t block, std::uint64_t length) {
  return {file_block * kBlock, DeviceOffset(zone * kZone + block * kBlock), length};
}

FileRecord File(std::vector<Extent> extents) {
  FileRecord file{.id = FileId(7), .size = 0, .mtime_seconds = 99, .extents = std::move(extents)};
  file.size = file.ExtentsEnd();
  return file;
}

// State::Apply decides which edits are valid.
void ExpectApplies(const FileRecord& file, const MovedExtents& moved) {
  State state;
  ASSERT_TRUE(
      state
          .Apply(std::vector<Edit>{RaiseCounters{.next_id = 100, .next_generation = 1},
                                   CreateFile{.id = file.id}, LinkFile{kRootDirectory, "f", file.id},
                                   SetExtents{file.id, 0, file.extents, file.size, file.mtime_seconds}})
          .ok());
  const Status applied = state.Apply(std::vector<Edit>{moved.edit});
  ASSERT_TRUE(applied.ok()) << applied.error().ToString();
  EXPECT_EQ(state.FindFile(file.id)->extents, moved.all);
  EXPECT_EQ(state.FindFile(file.id)->size, file.size);
  EXPECT_EQ(state.FindFile(file.id)->mtime_seconds, file.mtime_seconds);
}

TEST(RestatedBytes, APieceRestatesTheFileFromItsFirstExtentOn) {
  std::vector<Extent> extents;
  for (std::uint64_t i = 0; i < 1000; ++i) extents.push_back(At(i, i == 400 ? 2 : 1, i % 200, kBlock));
  const FileRecord file = File(extents);
  EXPECT_EQ(RestatedBytes(file, ZoneId(2), kGeometry), 600u * 40);
  EXPECT_EQ(RestatedBytes(file, ZoneId(3), kGeometry), 0u);
  // Pieces of 1 MiB: of extents 0, 256, 513 (because one is elsewhere) and 769.
  EXPECT_EQ(RestatedBytes(file, ZoneId(1), kGeometry), (1000u + 744 + 487 + 231) * 40);
}

TEST(RestatedBytes, ALongExtentHasSeveralPieces) {
  Geometry geometry = kGeometry;
  geometry.zone_size = 16 << 20;
  const FileRecord file =
      File({{0, DeviceOffset(0), (3 << 20) + kBlock}, {(3 << 20) + kBlock, DeviceOffset(8 << 20), 5}});
  EXPECT_EQ(RestatedBytes(file, ZoneId(0), geometry), (4u * 2 + 1) * 40);
}

// Two copies are adjacent on the device, but not in the file.
TEST(ReplaceExtents, CopiesThatAreNotAdjacentInTheFileAreNotJoined) {
  const FileRecord file = File({At(0, 1, 0, 2 * kBlock), At(2, 2, 0, kBlock), At(3, 1, 2, 2 * kBlock)});
  const std::vector<Extent> from{file.extents[0], file.extents[2]};
  const std::vector<Extent> to{At(0, 5, 0, 2 * kBlock), At(3, 5, 2, 2 * kBlock)};
  const MovedExtents moved = ReplaceExtents(file, from, to, kGeometry);
  EXPECT_EQ(moved.all, (std::vector<Extent>{to[0], file.extents[1], to[1]}));
  ExpectApplies(file, moved);
}

TEST(ReplaceExtents, AdjacentCopiesAreJoined) {
  const FileRecord file = File({At(0, 1, 0, kBlock), At(1, 1, 9, kBlock), At(2, 2, 0, 100)});
  const std::vector<Extent> from{file.extents[0], file.extents[1]};
  const std::vector<Extent> to{At(0, 5, 0, kBlock), At(1, 5, 1, kBlock)};
  const MovedExtents moved = ReplaceExtents(file, from, to, kGeometry);
  EXPECT_EQ(moved.all, (std::vector<Extent>{At(0, 5, 0, 2 * kBlock), file.extents[2]}));
  ExpectApplies(file, moved);
}

TEST(ReplaceExtents, TheEditBeginsWithTheFirstMovedExtent) {
  const FileRecord file = File({At(0, 3, 0, kBlock), At(1, 1, 0, kBlock), At(2, 3, 1, 77)});
  const MovedExtents moved = ReplaceExtents(file, {file.extents[1]}, {At(1, 5, 3, kBlock)}, kGeometry);
  EXPECT_EQ(moved.edit.from_offset, kBlock);
  EXPECT_EQ(moved.edit.extents.size(), 2u);
  ExpectApplies(file, moved);
}

// The edit then begins with the neighbour.
TEST(ReplaceExtents, ACopyIsJoinedWithItsNeighbourInTheFile) {
  const FileRecord file = File({At(0, 3, 0, kBlock), At(1, 1, 0, kBlock)});
  const MovedExtents moved = ReplaceExtents(file, {file.extents[1]}, {At(1, 3, 1, kBlock)}, kGeometry);
  EXPECT_EQ(moved.all, (std::vector<Extent>{At(0, 3, 0, 2 * kBlock)}));
  EXPECT_EQ(moved.edit.from_offset, 0u);
  ExpectApplies(file, moved);
}

TEST(ReplaceExtents, OneExtentMayBecomeSeveral) {
  const FileRecord file = File({At(0, 1, 0, 4 * kBlock + 5)});
  const std::vector<Extent> to{At(0, 5, 0, kBlock), At(1, 6, 0, 3 * kBlock + 5)};
  const MovedExtents moved = ReplaceExtents(file, file.extents, to, kGeometry);
  EXPECT_EQ(moved.all, to);
  ExpectApplies(file, moved);
}

TEST(ReplaceExtents, TheRestBehindAMovedFrontHasAChecksum) {
  const std::vector<std::byte> bytes(4 * kBlock + 5, std::byte{42});
  const ByteView all(bytes);
  Extent whole = At(0, 1, 0, all.size());
  whole.crc = Crc32c(all);
  const FileRecord file = File({whole});
  Extent front = At(0, 1, 0, 3 * kBlock);
  front.crc = Crc32c(all.first(front.length));
  Extent copy = At(0, 5, 0, 3 * kBlock);
  copy.crc = front.crc;
  const MovedExtents moved = ReplaceExtents(file, {front}, {copy}, kGeometry);
  Extent rest = At(3, 1, 3, kBlock + 5);
  rest.crc = Crc32c(all.subspan(3 * kBlock));
  EXPECT_EQ(moved.all, (std::vector<Extent>{copy, rest}));
  ExpectApplies(file, moved);
}

// D9 of docs/internals/failures.md: zones and extents may be larger than 4 GiB.
TEST(ReplaceExtents, LengthsBeyondFourGiBAreNotTruncated) {
  constexpr std::uint64_t kLarge = 16ull << 30;
  const Geometry geometry{.zone_size = kLarge, .zone_count = 8};
  const std::uint64_t length = (5ull << 30) + 17;
  const Extent from{0, DeviceOffset(kLarge), length};
  const Extent to{0, DeviceOffset(3 * kLarge), length};
  const FileRecord file = File({from});
  const MovedExtents moved = ReplaceExtents(file, {from}, {to}, geometry);
  ASSERT_EQ(moved.all, std::vector<Extent>{to});
  ExpectApplies(file, moved);
}

// One file, which nobody has open.
class OneFile final : public MovableFiles {
 public:
  explicit OneFile(FileRecord file) : file_(std::make_shared<const FileRecord>(std::move(file))) {}
  Status WithFile(FileId, const std::function<Status(const FileRecord&)>& body) override {
    return body(*file_);
  }
  Status CommitMoved(std::vector<Edit>) override { return {}; }
  Status CheckRoomForExtents(std::size_t) const override { return {}; }
  std::vector<std::shared_ptr<const FileRecord>> FilesIn(ZoneId) const override { return {file_}; }
  bool NoteMoved(const FileRecord&, const std::vector<Extent>&) override { return true; }
  std::vector<std::shared_ptr<FramedFile>> DeletedLogs() const override { return {}; }
  Status WithDeletedLog(FileId, const std::function<Status()>& body) override { return body(); }
  Status SettleDeleted(const std::vector<Extent>&) override { return {}; }

 private:
  const std::shared_ptr<const FileRecord> file_;
};

// An extent may be as long as a zone, and an unmount waits for the mover.
TEST(ZoneMoverTest, AStopEndsTheReadingOfALongExtent) {
  constexpr std::uint64_t kBlocks = 4096;  // 16 pieces
  ZoneTestRig rig(TestGeometry(4, kBlocks));
  rig.Mount();
  SinkCursor cursor;
  auto extents = rig.WriteLive(cursor, Lifetime::kMedium, kBlocks);
  ASSERT_TRUE(extents);
  ASSERT_EQ(extents->size(), 1u);
  extents->front().crc = Crc32c(rig.Bytes(kBlocks));
  const ZoneId zone = rig.ZoneOf(extents->front());
  OneFile files(File(*extents));
  LogStore logs;
  std::atomic<std::uint64_t> cleaned{0};
  ZoneMover mover({.device = rig.device,
                   .zones = *rig.zones,
                   .files = files,
                   .logs = logs,
                   .sink = *rig.sink,
                   .log_sink = *rig.sink,
                   .cleaned = cleaned});
  const std::uint64_t before = rig.device.count(FaultyDevice::Command::kRead);
  const Status moved = mover.MoveExtents(zone, [&](std::chrono::nanoseconds) { mover.Stop(); });
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().code(), Code::kShutdown);
  EXPECT_EQ(rig.device.count(FaultyDevice::Command::kRead), before + 1);
  rig.zones->RemoveLive(*extents);
}

}  // namespace
}  // namespace zenfs
