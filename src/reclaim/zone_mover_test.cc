// What a move restates, the extents after it, and the mover in a mounted volume on a device that fails, rots, or shows its commands.
#include "reclaim/zone_mover.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "base/crc32c.h"
#include "base/thread.h"
#include "file/extent_checksum.h"
#include "format/frame.h"
#include "model/state.h"
#include "testing/bit_rot.h"
#include "testing/empty_zone.h"
#include "testing/faulty_device.h"
#include "testing/watched_device.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

using Command = FaultyDevice::Command;

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

// --- in a mounted volume ---

// Returns `size` letters that depend on `seed` and on the position.
std::string TextOf(std::size_t size, std::uint64_t seed) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 251 + seed * 5) % 26);
  return text;
}

Deadline Soon() { return Deadline::After(std::chrono::seconds(60)); }

// A mount in which nobody else moves data.
class MoverRig {
 public:
  explicit MoverRig(std::uint64_t zone_size = 64 << 10, std::uint32_t zones = 48)
      : device_(
            CreateMemoryDevice({.zones = zones, .zone_size = zone_size, .max_open = 14, .max_active = 14})) {
    EXPECT_TRUE(IsOk(FormatVolume(*device_, {})));
    auto volume = Volume::Mount(Borrow(watched), {.flush_directory = "none", .reclaim = false});
    EXPECT_TRUE(IsOk(volume));
    volume_ = *std::move(volume);
  }
  ~MoverRig() {
    device.ClearFaults();
    rot.Heal();
    handles_.clear();
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    ExpectSound(*device_);
  }

  VolumeParts& parts() const { return dynamic_cast<MountedVolume&>(*volume_).mount().parts(); }
  ZoneMover& mover() const { return parts().mover; }
  Volume& volume() const { return *volume_; }
  std::uint64_t moved() const { return parts().written.cleaned; }
  ZoneId ZoneOf(DeviceOffset place) const { return device_->geometry().ZoneOf(place); }

  // Creates a log of `size` synced bytes, which stays open.
  std::shared_ptr<FramedFile> Stored(std::size_t size, std::uint64_t seed) {
    const std::string name = fmt::format("{}.log", ++logs_);
    auto handle = volume_->OpenForAppend(name, true);
    EXPECT_TRUE(IsOk(handle));
    EXPECT_TRUE(IsOk((*handle)->Append(AsBytes(TextOf(size, seed)))));
    EXPECT_TRUE(IsOk((*handle)->Sync()));
    std::optional<FileId> id;
    parts().catalog.Look([&](const CatalogView& view) { id = view.Resolve(name)->id; });
    auto file = parts().logs.Find(*id);
    EXPECT_NE(file, nullptr);
    handles_[*id] = *std::move(handle);
    names_[*id] = name;
    return file;
  }
  FileHandle& HandleOf(const FramedFile& file) { return *handles_.at(file.id()); }
  void Append(const FramedFile& file, std::string_view text) {
    ASSERT_TRUE(IsOk(HandleOf(file).Append(AsBytes(text))));
    ASSERT_TRUE(IsOk(HandleOf(file).Sync()));
  }
  // The file stays open.
  void Delete(const FramedFile& file) { EXPECT_TRUE(IsOk(volume_->Unlink(names_.at(file.id())))); }

  void Close(const FramedFile& file) { handles_.erase(file.id()); }

  LogZoneStatus StatusOf(ZoneId zone) const {
    for (const LogZoneStatus& each : parts().log.zones().Zones()) {
      if (each.zone == zone) return each;
    }
    return {};
  }
  // Fills the rest of the zone with frames of a log that is deleted.
  void FillUp(ZoneId zone) {
    while (!StatusOf(zone).closed) {
      const auto filler = Stored(8'000, 99);
      Delete(*filler);
      Close(*filler);
      if (::testing::Test::HasFailure()) return;
    }
  }
  Status Clean(ZoneId zone, const ZoneMover::Pause& pause = {}) {
    FillUp(zone);
    return mover().Empty({.zone = zone, .kind = Victim::Kind::kLog, .generation = StatusOf(zone).generation},
                         pause);
  }
  bool WasReleased(ZoneId zone) const { return parts().zones->Zone(zone).phase != ZonePhase::kLog; }

  ZoneId FirstZoneOf(const FramedFile& file) const { return ZoneOf(file.Pieces().front().place); }
  ZoneId LastZoneOf(const FramedFile& file) const { return ZoneOf(file.Pieces().back().place); }
  std::vector<Extent> ExtentsOf(const FramedFile& file) const {
    return parts().catalog.FindFile(file.id())->extents;
  }
  std::string Content(const FramedFile& file) {
    const auto content = ContentOf(HandleOf(file));
    EXPECT_TRUE(IsOk(content));
    return content.value_or("<unreadable>");
  }
  // The file as the next mount would find it after a crash now.
  std::string Recovered(const FramedFile& file) {
    const auto reader = Volume::Mount(MakeReadOnlyView(*device_), {.read_only = true});
    EXPECT_TRUE(IsOk(reader));
    const auto content = GetFile(**reader, names_.at(file.id()));
    EXPECT_TRUE(IsOk(content));
    return content.value_or("<missing>");
  }

 private:
  std::unique_ptr<EmulatorDevice> device_;

 public:
  FaultyDevice device{Borrow(*device_)};
  BitRot rot{device};
  WatchedDevice watched{Borrow(rot)};

 private:
  std::shared_ptr<Volume> volume_;
  int logs_ = 0;
  std::map<FileId, std::unique_ptr<FileHandle>> handles_;
  std::map<FileId, std::string> names_;
};

// The frames of two files in one zone, which is closed.
struct TwoFiles {
  explicit TwoFiles(MoverRig& rig)
      : small(rig.Stored(5000, 1)), large(rig.Stored(20'000, 2)), zone(rig.FirstZoneOf(*small)) {
    EXPECT_EQ(rig.FirstZoneOf(*large), zone);
    rig.FillUp(zone);
  }
  std::shared_ptr<FramedFile> small, large;
  ZoneId zone;
};

// A log of several pieces.
struct LongLog {
  const std::string text = TextOf(2'900'001, 7);
  MoverRig rig{2 << 20, 24};
  std::shared_ptr<FramedFile> file = rig.Stored(text.size(), 7);
  ZoneId last = rig.LastZoneOf(*file);
};

// An extent may be as long as a zone, and an unmount waits for the mover.
TEST(ZoneMoverTest, AStopEndsTheReadingOfALongExtent) {
  MoverRig rig(16 << 20, 24);
  ASSERT_TRUE(IsOk(PutFile(rig.volume(), "long.sst", std::string(16 << 20, 'x'))));
  const auto layout = rig.volume().Layout("long.sst");
  ASSERT_EQ(layout->extents.size(), 1u);
  const std::uint64_t before = rig.device.count(Command::kRead);
  const Status moved = rig.mover().Empty({.zone = rig.ZoneOf(layout->extents.front().place)},
                                         [&](std::chrono::nanoseconds) { rig.mover().Stop(); });
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().code(), Code::kShutdown);
  EXPECT_EQ(rig.device.count(Command::kRead), before + 1);
}

TEST(MoveFramesTest, CleanedFilesReadTheSameAndTheZoneIsReleasedAndReset) {
  MoverRig rig;
  const TwoFiles files(rig);
  rig.Stored(30'000, 3);  // its frames are in the next zones
  ASSERT_TRUE(rig.Clean(files.zone).ok());
  for (const auto& file : rig.parts().logs.All()) EXPECT_EQ(file->RangeToClean(files.zone).to, 0U);
  EXPECT_GE(rig.moved(), 25'000U);
  EXPECT_EQ(rig.Content(*files.small), TextOf(5000, 1));
  EXPECT_EQ(rig.Content(*files.large), TextOf(20'000, 2));
  EXPECT_TRUE(rig.WasReleased(files.zone));
  ASSERT_TRUE(rig.parts().zones->DrainResets(Soon()).ok());
  EXPECT_EQ(rig.device.ReportZone(files.zone)->condition, ZoneCondition::kEmpty);
  EXPECT_EQ(rig.Recovered(*files.small), TextOf(5000, 1));
  EXPECT_EQ(rig.Recovered(*files.large), TextOf(20'000, 2));
}

TEST(MoveFramesTest, FileLargerThanOnePieceIsCleanedWhole) {
  LongLog log;
  ASSERT_TRUE(IsOk(log.rig.Clean(log.last)));
  EXPECT_GE(log.rig.moved(), log.text.size());
  EXPECT_LT(log.rig.moved(), log.text.size() + 4 * kBlock)
      << "only the last block of each piece is copied again";
  EXPECT_EQ(log.rig.Content(*log.file), log.text);
  EXPECT_EQ(log.rig.Recovered(*log.file), log.text);
  EXPECT_EQ(log.rig.ExtentsOf(*log.file).back().end(), log.text.size());
}

// An unmount waits for the mover.
TEST(MoveFramesTest, AStopEndsTheMoveAfterOnePiece) {
  LongLog log;
  const Status ended = log.rig.Clean(log.last, [&](std::chrono::nanoseconds) { log.rig.mover().Stop(); });
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code(), Code::kShutdown);
  EXPECT_GT(log.rig.moved(), 0U);
  EXPECT_LE(log.rig.moved(), (1U << 20) + (256U << 10)) << "a piece, or a frame";
  EXPECT_EQ(log.rig.Content(*log.file), log.text);
  EXPECT_EQ(log.rig.Recovered(*log.file), log.text);
}

// Each round begins inside the last block of the round before.
TEST(MoveFramesTest, CleanedExtentsHaveChecksumsAlsoAfterACut) {
  MoverRig rig;
  const auto file = rig.Stored(5000, 1);
  std::string text = TextOf(5000, 1);
  for (std::uint64_t round = 0; round < 3; ++round) {
    ASSERT_TRUE(rig.Clean(rig.LastZoneOf(*file)).ok());
    std::uint64_t summed = 0;
    for (const Extent& extent : rig.ExtentsOf(*file)) {
      ASSERT_TRUE(extent.crc);
      EXPECT_EQ(*extent.crc, Crc32c(AsBytes(text).subspan(extent.file_offset, extent.length)));
      summed += extent.length;
    }
    EXPECT_EQ(summed, text.size());
    rig.Append(*file, TextOf(6000, round));
    text += TextOf(6000, round);
    EXPECT_EQ(rig.Content(*file), text);
    EXPECT_EQ(rig.Recovered(*file), text);
  }
}

// A copy with a new checksum would hide the damage.
TEST(MoveFramesTest, AFileWithARottenFrameStaysWhereItIsAndTheOthersAreMoved) {
  MoverRig rig;
  const TwoFiles files(rig);
  const DeviceOffset payload = files.small->Pieces().front().place;
  const std::uint64_t at = payload - rig.device.geometry().ZoneStart(files.zone) - kFrameHeaderBytes;
  for (const std::uint64_t byte : {std::uint64_t{0}, std::uint64_t{4999}}) {
    rig.rot.Heal();
    rig.rot.Flip(payload + byte);
    const Status cleaned = rig.Clean(files.zone);
    ASSERT_FALSE(cleaned.ok());
    EXPECT_EQ(cleaned.error().code(), Code::kCorruption);
    const std::string place = fmt::format("log zone {} at byte {}", files.zone.value, at);
    EXPECT_NE(cleaned.error().ToString().find(place), std::string::npos) << cleaned.error().ToString();
    EXPECT_TRUE(rig.ExtentsOf(*files.small).empty());
    EXPECT_NE(files.small->RangeToClean(files.zone).to, 0U);
    EXPECT_EQ(files.large->RangeToClean(files.zone).to, 0U);
  }
  EXPECT_FALSE(rig.WasReleased(files.zone));
  rig.rot.Heal();
  ASSERT_TRUE(rig.Clean(files.zone).ok());
  EXPECT_EQ(rig.Recovered(*files.small), TextOf(5000, 1));
}

// The last block of the extents is copied again. It has an extent of its own; if it does not, because reclaim has joined it
// with the one before, all of that is verified.
TEST(MoveFramesTest, ARottenLastBlockOfTheExtentsIsNotCopiedAgain) {
  for (const bool joined : {false, true}) {
    MoverRig rig;
    const auto file = rig.Stored(5000, 1);
    ASSERT_TRUE(rig.Clean(rig.LastZoneOf(*file)).ok());
    std::vector<Extent> extents = rig.ExtentsOf(*file);
    ASSERT_EQ(extents.size(), 2U);
    if (joined) {
      extents = {{0, extents[0].place, 5000, Crc32c(AsBytes(TextOf(5000, 1)))}};
      ASSERT_TRUE(rig.parts().commits.Commit({SetExtents{file->id(), 0, extents, 5000, 1}}).ok());
      file->TakeMoved(extents);
    }
    rig.Append(*file, TextOf(6000, 2));
    const ZoneId zone = rig.LastZoneOf(*file);
    rig.rot.Flip(extents.front().place + (joined ? 1 : 4096));
    const Status cleaned = rig.Clean(zone);
    ASSERT_FALSE(cleaned.ok());
    EXPECT_EQ(cleaned.error().code(), Code::kCorruption);
    EXPECT_EQ(rig.ExtentsOf(*file), extents);
    rig.rot.Heal();
    ASSERT_TRUE(rig.Clean(zone).ok());
    EXPECT_EQ(rig.Recovered(*file), TextOf(5000, 1) + TextOf(6000, 2));
  }
}

// Damage in front of the copied block stays visible: the checksum of those bytes does not change.
TEST(MoveFramesTest, ACleaningBehindARottenExtentLeavesItsChecksum) {
  MoverRig rig;
  const auto file = rig.Stored(5000, 1);
  ASSERT_TRUE(rig.Clean(rig.LastZoneOf(*file)).ok());
  const Extent front = rig.ExtentsOf(*file).front();
  rig.rot.Flip(front.place + 1);
  rig.Append(*file, TextOf(6000, 2));
  ASSERT_TRUE(rig.Clean(rig.LastZoneOf(*file)).ok());
  EXPECT_EQ(rig.ExtentsOf(*file).front(), front);
  EXPECT_FALSE(FitsChecksum(rig.rot, front));
}

TEST(MoveFramesTest, ACopyThatReadsBackDifferentlyIsNotUsed) {
  MoverRig rig;
  const TwoFiles files(rig);
  {
    const WatchedDevice::Watch watch(rig.watched, {.was_read = [&](DeviceOffset offset, ByteSpan bytes) {
                                       if (rig.ZoneOf(offset) != files.zone) bytes[100] ^= std::byte{1};
                                     }});
    const Status cleaned = rig.Clean(files.zone);
    ASSERT_FALSE(cleaned.ok());
    EXPECT_EQ(cleaned.error().code(), Code::kCorruption);
  }
  EXPECT_EQ(rig.moved(), 0U);
  EXPECT_TRUE(rig.ExtentsOf(*files.small).empty());
  EXPECT_EQ(rig.Recovered(*files.small), TextOf(5000, 1));
}

// Only a part of a frame is in the file after a truncation. All of the frame is verified.
TEST(MoveFramesTest, ATruncatedFrameIsMoved) {
  MoverRig rig;
  const auto file = rig.Stored(5000, 1);
  ASSERT_TRUE(IsOk(rig.HandleOf(*file).Truncate(3000)));
  rig.Append(*file, "more");
  ASSERT_TRUE(rig.Clean(rig.FirstZoneOf(*file)).ok());
  EXPECT_EQ(rig.ExtentsOf(*file).back().end(), 3004U);
  EXPECT_EQ(rig.Recovered(*file), TextOf(5000, 1).substr(0, 3000) + "more");
}

TEST(MoveFramesTest, ZoneWithoutLiveFramesIsNotRead) {
  MoverRig rig;
  const auto file = rig.Stored(5000, 1);
  const ZoneId zone = rig.FirstZoneOf(*file);
  rig.FillUp(zone);
  const Victim victim{.zone = zone, .kind = Victim::Kind::kLog, .generation = rig.StatusOf(zone).generation};
  rig.Delete(*file);
  rig.Close(*file);
  const std::uint64_t reads = rig.device.count(Command::kRead);
  ASSERT_TRUE(IsOk(rig.mover().Empty(victim)));
  EXPECT_EQ(rig.moved(), 0U);
  EXPECT_EQ(rig.device.count(Command::kRead), reads);
}

TEST(MoveFramesTest, FailedWriteLeavesTheFramesInPlace) {
  MoverRig rig;
  const TwoFiles files(rig);
  rig.device.Inject({.command = Command::kWrite, .times = 100});
  EXPECT_EQ(rig.Clean(files.zone).error().code(), Code::kIo);
  rig.device.ClearFaults();
  EXPECT_EQ(rig.moved(), 0U);
  EXPECT_NE(files.small->RangeToClean(files.zone).to, 0U);
  EXPECT_EQ(rig.Content(*files.small), TextOf(5000, 1));
  EXPECT_EQ(rig.Recovered(*files.small), TextOf(5000, 1));
  EXPECT_FALSE(rig.WasReleased(files.zone));
}

TEST(MoveFramesTest, FailedReadLeavesTheFramesInPlace) {
  MoverRig rig;
  const TwoFiles files(rig);
  rig.device.Inject({.command = Command::kRead, .times = FaultyDevice::kForEver});
  EXPECT_EQ(rig.Clean(files.zone).error().code(), Code::kIo);
  rig.device.ClearFaults();
  EXPECT_EQ(rig.Recovered(*files.large), TextOf(20'000, 2));
}

TEST(MoveFramesTest, CleaningSucceedsAfterAFailedCommit) {
  MoverRig rig;
  const TwoFiles files(rig);
  rig.device.Inject({.command = Command::kFlush});
  EXPECT_EQ(rig.Clean(files.zone).error().code(), Code::kIo);
  EXPECT_EQ(rig.Content(*files.small), TextOf(5000, 1));
  EXPECT_EQ(rig.Content(*files.large), TextOf(20'000, 2));
  ASSERT_TRUE(rig.Clean(files.zone).ok());
  EXPECT_EQ(rig.Recovered(*files.large), TextOf(20'000, 2));
}

// One file is deleted while the mover copies the other one, which it keeps locked.
TEST(MoveFramesTest, OtherFilesAreCleanedIfOneIsDeleted) {
  MoverRig rig;
  const TwoFiles files(rig);
  rig.device.Hold(Command::kRead);
  Status cleaned;
  Thread mover("mover", [&] { cleaned = rig.Clean(files.zone); });
  ASSERT_TRUE(rig.device.WaitUntilHeld(1, Soon()));
  std::atomic<int> deleted = 0;
  std::vector<Thread> deletes;
  for (const auto& file : {files.small, files.large}) {
    deletes.emplace_back("delete", [&, file] {
      rig.Delete(*file);
      ++deleted;
    });
  }
  EXPECT_TRUE(Await([&] { return deleted == 1; }));
  rig.device.Release();
  mover.Join();
  for (Thread& each : deletes) each.Join();
  EXPECT_EQ(CodeOf(cleaned), Code::kBusy);
  for (const auto& file : {files.small, files.large}) EXPECT_EQ(file->RangeToClean(files.zone).to, 0U);
  EXPECT_EQ(rig.Content(*files.small), TextOf(5000, 1));
  EXPECT_EQ(rig.Content(*files.large), TextOf(20'000, 2));
}

TEST(MoveFramesTest, DeletedFileThatIsStillOpenIsMovedAndReadsTheSame) {
  MoverRig rig;
  const TwoFiles files(rig);
  rig.Delete(*files.small);
  ASSERT_TRUE(rig.Clean(files.zone).ok());
  EXPECT_EQ(files.small->RangeToClean(files.zone).to, 0U);
  EXPECT_EQ(rig.Content(*files.small), TextOf(5000, 1));
  rig.Append(*files.small, "more");
  EXPECT_EQ(rig.Content(*files.small), TextOf(5000, 1) + "more");
}

// The copy is in no commit, but a reader must not find less than was synced.
TEST(MoveFramesTest, DeletedFileKeepsItsFramesIfTheFlushOfTheCopyFails) {
  MoverRig rig;
  const TwoFiles files(rig);
  rig.Delete(*files.small);
  rig.Delete(*files.large);
  rig.device.Inject({.command = Command::kFlush});
  EXPECT_FALSE(rig.Clean(files.zone).ok());
  EXPECT_EQ(rig.FirstZoneOf(*files.small), files.zone);
  EXPECT_EQ(rig.Content(*files.small), TextOf(5000, 1));
}

TEST(MoveFramesTest, FileTruncatedDuringTheCopyIsNotCleaned) {
  MoverRig rig;
  const TwoFiles files(rig);
  rig.device.Hold(Command::kRead);
  std::optional<Code> code;
  Thread mover("mover", [&] {
    const Status cleaned = rig.Clean(files.zone);
    if (!cleaned.ok()) code = cleaned.error().code();
  });
  ASSERT_TRUE(rig.device.WaitUntilHeld(1, Soon()));
  for (const auto& file : {files.small, files.large}) {
    auto truncate = file->BeginTruncate(100);
    ASSERT_TRUE(truncate);
    truncate->End(rig.parts().commits.Commit(truncate->edits()));
  }
  rig.device.Release();
  mover.Join();
  EXPECT_EQ(code, Code::kBusy);
  EXPECT_EQ(rig.Recovered(*files.small), TextOf(5000, 1).substr(0, 100));
  EXPECT_EQ(rig.Recovered(*files.large), TextOf(20'000, 2).substr(0, 100));
}

TEST(MoveFramesTest, AppendsContinueDuringTheCopy) {
  MoverRig rig;
  const TwoFiles files(rig);
  rig.device.Hold(Command::kRead);
  Thread mover("mover", [&] { EXPECT_TRUE(rig.Clean(files.zone).ok()); });
  ASSERT_TRUE(rig.device.WaitUntilHeld(1, Soon()));
  for (const auto& file : {files.small, files.large}) rig.Append(*file, "more");
  rig.device.Release();
  mover.Join();
  EXPECT_EQ(rig.Content(*files.small), TextOf(5000, 1) + "more");
  EXPECT_EQ(rig.Recovered(*files.small), TextOf(5000, 1) + "more");
  EXPECT_EQ(rig.Recovered(*files.large), TextOf(20'000, 2) + "more");
}

}  // namespace
}  // namespace zenfs
