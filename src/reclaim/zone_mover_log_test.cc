#include "reclaim/zone_mover.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/thread.h"
#include "file/extent_checksum.h"
#include "testing/bit_rot.h"
#include "testing/borrowed_device.h"
#include "testing/watched_device.h"
#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

using Command = FaultyDevice::Command;

class RigFiles final : public MovableFiles {
 public:
  explicit RigFiles(WalRig& rig) : rig_(rig) {}
  Status WithFile(FileId id, const std::function<Status(const FileRecord&)>& body) override {
    const auto record = rig_.state().FindFile(id);
    if (record == nullptr) return Fail(Code::kBusy, "the file is gone");
    return body(*record);
  }
  Status CommitMoved(std::vector<Edit> edits) override {
    if (fail_commits) return Fail(Code::kIo, "the metadata log cannot be written");
    return rig_.Commit(std::move(edits));
  }
  Status CheckRoomForExtents(std::size_t) const override { return {}; }
  std::vector<std::shared_ptr<const FileRecord>> FilesIn(ZoneId) const override { return {}; }
  bool NoteMoved(const FileRecord&, const std::vector<Extent>&) override { return true; }
  std::vector<std::shared_ptr<FramedFile>> DeletedLogs() const override { return deleted; }
  Status WithDeletedLog(FileId, const std::function<Status()>& body) override { return body(); }
  Status SettleDeleted(const std::vector<Extent>& copies) override {
    ZENFS_RETURN_IF_ERROR(rig_.device.Flush());
    rig_.zones->AddLive(copies);
    rig_.zones->RemoveLive(copies);
    return {};
  }

  std::vector<std::shared_ptr<FramedFile>> deleted;
  bool fail_commits = false;

 private:
  WalRig& rig_;
};

class CleanRig : public WalRig {
 public:
  CleanRig() : WalRig(TestGeometry(32, 8)) {
    Mount();
    sink = MakeZoneExtentSink(*zones);
  }
  ~CleanRig() override { log->Stop(); }  // its thread calls this object
  // Creates a file of `size` synced bytes.
  std::shared_ptr<FramedFile> Stored(std::size_t size, std::uint64_t seed) {
    auto file = NewFile();
    logs.Add(file);
    EXPECT_TRUE(file->Append(AsBytes(TestText(size, seed))).ok());
    EXPECT_TRUE(file->Sync().ok());
    return file;
  }
  Status Clean(ZoneId zone) {
    ZonedDevice& reads = device_of_files == nullptr ? device : *device_of_files;
    return ZoneMover({.device = reads,
                      .zones = *zones,
                      .files = files,
                      .logs = logs,
                      .sink = *sink,
                      .log_sink = *sink,
                      .cleaned = moved})
        .MoveFrames({&zone, 1});
  }
  ZoneId FirstZoneOf(const FramedFile& file) const { return ZoneOf(file.Pieces().front().place); }

  // The file stays open.
  void Delete(const std::shared_ptr<FramedFile>& file) {
    EXPECT_TRUE(Commit({UnlinkFile{kRootDirectory, std::to_string(file->id().value)}}).ok());
    logs.Remove(file->id());
    files.deleted.push_back(file);
  }

  LogStore logs;
  std::unique_ptr<ExtentSink> sink;
  RigFiles files{*this};
  std::atomic<std::uint64_t> moved{0};
};

// The frames of two files, which fill the first zone.
struct TwoFiles {
  explicit TwoFiles(CleanRig& rig)
      : small(rig.Stored(5000, 1)), large(rig.Stored(20'000, 2)), zone(rig.FirstZoneOf(*small)) {
    EXPECT_EQ(rig.FirstZoneOf(*large), zone);
  }
  std::shared_ptr<FramedFile> small, large;
  ZoneId zone;
};

// A log of several pieces, and a mover for it.
struct LongLog {
  LongLog() {
    rig.Mount();
    file = rig.NewFile();
    logs.Add(file);
    EXPECT_TRUE(file->Append(AsBytes(text)).ok());
    EXPECT_TRUE(file->Sync().ok());
    last = rig.ZoneOf(file->Pieces().back().place);
    sink = MakeZoneExtentSink(*rig.zones);
    mover.emplace(ZoneMover::Deps{.device = rig.device,
                                  .zones = *rig.zones,
                                  .files = files,
                                  .logs = logs,
                                  .sink = *sink,
                                  .log_sink = *sink,
                                  .cleaned = moved});
  }

  const std::string text = TestText(2'900'001, 7);
  WalRig rig{TestGeometry(16, 512)};
  LogStore logs;
  RigFiles files{rig};
  std::shared_ptr<FramedFile> file;
  ZoneId last;
  std::unique_ptr<ExtentSink> sink;
  std::atomic<std::uint64_t> moved{0};
  std::optional<ZoneMover> mover;
};

TEST(MoveFramesTest, CleanedFilesReadTheSameAndTheZoneIsReleasedAndReset) {
  CleanRig rig;
  const TwoFiles files(rig);
  rig.Stored(30'000, 3);  // its frames are in the next zones
  ASSERT_TRUE(rig.Clean(files.zone).ok());
  for (const auto& file : rig.logs.All()) EXPECT_EQ(file->RangeToClean(files.zone).to, 0U);
  EXPECT_GE(rig.moved, 25'000U);
  EXPECT_EQ(WalRig::Content(*files.small), TestText(5000, 1));
  EXPECT_EQ(WalRig::Content(*files.large), TestText(20'000, 2));
  EXPECT_TRUE(rig.WaitUntilReleased(files.zone));
  rig.log->Stop();
  ASSERT_TRUE(rig.zones->operations().Drain(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.ConditionOf(files.zone), ZoneCondition::kEmpty);
  EXPECT_EQ(rig.Recovered(files.small->id()), TestText(5000, 1));
  EXPECT_EQ(rig.Recovered(files.large->id()), TestText(20'000, 2));
}

TEST(MoveFramesTest, FileLargerThanOnePieceIsCleanedWhole) {
  LongLog log;
  ASSERT_TRUE(log.mover->MoveFrames({&log.last, 1}).ok());
  EXPECT_GE(log.moved, log.text.size());
  EXPECT_LT(log.moved, log.text.size() + 4 * kTestBlock)
      << "only the last block of each piece is copied again";
  EXPECT_EQ(WalRig::Content(*log.file), log.text);
  EXPECT_EQ(log.rig.Recovered(log.file->id()), log.text);
  EXPECT_EQ(log.rig.state().FindFile(log.file->id())->ExtentsEnd(), log.text.size());
}

// An unmount waits for the mover.
TEST(MoveFramesTest, AStopEndsTheMoveAfterOnePiece) {
  LongLog log;
  const Status ended =
      log.mover->MoveFrames({&log.last, 1}, [&](std::chrono::nanoseconds) { log.mover->Stop(); });
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code(), Code::kShutdown);
  EXPECT_GT(log.moved, 0U);
  EXPECT_LE(log.moved, (1U << 20) + (256U << 10)) << "a piece, or a frame";
  EXPECT_EQ(WalRig::Content(*log.file), log.text);
  EXPECT_EQ(log.rig.Recovered(log.file->id()), log.text);
}

// Each round begins inside the last block of the round before.
TEST(MoveFramesTest, CleanedExtentsHaveChecksumsAlsoAfterACut) {
  CleanRig rig;
  const auto file = rig.Stored(5000, 1);
  std::string text = TestText(5000, 1);
  for (std::uint64_t round = 0; round < 3; ++round) {
    ASSERT_TRUE(rig.Clean(rig.ZoneOf(file->Pieces().back().place)).ok());
    std::uint64_t summed = 0;
    for (const Extent& extent : rig.state().FindFile(file->id())->extents) {
      ASSERT_TRUE(extent.crc);
      EXPECT_EQ(*extent.crc, Crc32c(AsBytes(text).subspan(extent.file_offset, extent.length)));
      summed += extent.length;
    }
    EXPECT_EQ(summed, text.size());
    ASSERT_TRUE(file->Append(AsBytes(TestText(6000, round))).ok());
    ASSERT_TRUE(file->Sync().ok());
    text += TestText(6000, round);
    EXPECT_EQ(WalRig::Content(*file), text);
    EXPECT_EQ(rig.Recovered(file->id()), text);
  }
}

// A copy with a new checksum would hide the damage.
TEST(MoveFramesTest, AFileWithARottenFrameStaysWhereItIsAndTheOthersAreMoved) {
  CleanRig rig;
  BitRot rot(rig.device);
  rig.device_of_files = &rot;
  const TwoFiles files(rig);
  const DeviceOffset payload = files.small->Pieces().front().place;
  const std::uint64_t at = payload - rig.device.geometry().ZoneStart(files.zone) - kFrameHeaderBytes;
  for (const std::uint64_t byte : {std::uint64_t{0}, std::uint64_t{4999}}) {
    rot.Heal();
    rot.Flip(payload + byte);
    const Status cleaned = rig.Clean(files.zone);
    ASSERT_FALSE(cleaned.ok());
    EXPECT_EQ(cleaned.error().code(), Code::kCorruption);
    const std::string place = fmt::format("log zone {} at byte {}", files.zone.value, at);
    EXPECT_NE(cleaned.error().ToString().find(place), std::string::npos) << cleaned.error().ToString();
    EXPECT_TRUE(rig.state().FindFile(files.small->id())->extents.empty());
    EXPECT_NE(files.small->RangeToClean(files.zone).to, 0U);
    EXPECT_EQ(files.large->RangeToClean(files.zone).to, 0U);
  }
  EXPECT_FALSE(rig.WasReleased(files.zone));
  rot.Heal();
  ASSERT_TRUE(rig.Clean(files.zone).ok());
  EXPECT_EQ(rig.Recovered(files.small->id()), TestText(5000, 1));
}

// The last block of the extents is copied again. It has an extent of its own; if it does not, because reclaim has joined it
// with the one before, all of that is verified.
TEST(MoveFramesTest, ARottenLastBlockOfTheExtentsIsNotCopiedAgain) {
  for (const bool joined : {false, true}) {
    CleanRig rig;
    BitRot rot(rig.device);
    rig.device_of_files = &rot;
    const auto file = rig.Stored(5000, 1);
    ASSERT_TRUE(rig.Clean(rig.ZoneOf(file->Pieces().back().place)).ok());
    std::vector<Extent> extents = rig.state().FindFile(file->id())->extents;
    ASSERT_EQ(extents.size(), 2U);
    if (joined) {
      extents = {{0, extents[0].place, 5000, Crc32c(AsBytes(TestText(5000, 1)))}};
      ASSERT_TRUE(rig.Commit({SetExtents{file->id(), 0, extents, 5000, 1}}).ok());
      file->TakeMoved(extents);
    }
    ASSERT_TRUE(Append(*file, TestText(6000, 2)).ok());
    ASSERT_TRUE(file->Sync().ok());
    const ZoneId zone = rig.ZoneOf(file->Pieces().back().place);
    rot.Flip(extents.front().place + (joined ? 1 : 4096));
    const Status cleaned = rig.Clean(zone);
    ASSERT_FALSE(cleaned.ok());
    EXPECT_EQ(cleaned.error().code(), Code::kCorruption);
    EXPECT_EQ(rig.state().FindFile(file->id())->extents, extents);
    rot.Heal();
    ASSERT_TRUE(rig.Clean(zone).ok());
    EXPECT_EQ(rig.Recovered(file->id()), TestText(5000, 1) + TestText(6000, 2));
  }
}

// Damage in front of the copied block stays visible: the checksum of those bytes does not change.
TEST(MoveFramesTest, ACleaningBehindARottenExtentLeavesItsChecksum) {
  CleanRig rig;
  BitRot rot(rig.device);
  rig.device_of_files = &rot;
  const auto file = rig.Stored(5000, 1);
  ASSERT_TRUE(rig.Clean(rig.ZoneOf(file->Pieces().back().place)).ok());
  const Extent front = rig.state().FindFile(file->id())->extents.front();
  rot.Flip(front.place + 1);
  ASSERT_TRUE(Append(*file, TestText(6000, 2)).ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(rig.Clean(rig.ZoneOf(file->Pieces().back().place)).ok());
  EXPECT_EQ(rig.state().FindFile(file->id())->extents.front(), front);
  EXPECT_FALSE(FitsChecksum(rot, front));
}

TEST(MoveFramesTest, ACopyThatReadsBackDifferentlyIsNotUsed) {
  CleanRig rig;
  WatchedDevice watched(Borrow(rig.device));
  rig.device_of_files = &watched;
  const TwoFiles files(rig);
  {
    const WatchedDevice::Watch watch(watched, {.was_read = [&](DeviceOffset offset, ByteSpan bytes) {
                                       if (rig.ZoneOf(offset) != files.zone) bytes[100] ^= std::byte{1};
                                     }});
    const Status cleaned = rig.Clean(files.zone);
    ASSERT_FALSE(cleaned.ok());
    EXPECT_EQ(cleaned.error().code(), Code::kCorruption);
  }
  EXPECT_EQ(rig.moved, 0U);
  EXPECT_TRUE(rig.state().FindFile(files.small->id())->extents.empty());
  EXPECT_EQ(rig.Recovered(files.small->id()), TestText(5000, 1));
}

// Only a part of a frame is in the file after a truncation. All of the frame is verified.
TEST(MoveFramesTest, ATruncatedFrameIsMoved) {
  CleanRig rig;
  const auto file = rig.Stored(5000, 1);
  auto cut = file->BeginTruncate(3000);
  ASSERT_TRUE(cut.ok());
  const Status committed = rig.Commit(cut->edits());
  cut->End(committed);
  ASSERT_TRUE(Append(*file, "more").ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(rig.Clean(rig.ZoneOf(file->Pieces().front().place)).ok());
  EXPECT_EQ(rig.state().FindFile(file->id())->ExtentsEnd(), 3004U);
  EXPECT_EQ(rig.Recovered(file->id()), TestText(5000, 1).substr(0, 3000) + "more");
}

TEST(MoveFramesTest, ZoneWithoutLiveFramesIsNotRead) {
  CleanRig rig;
  rig.Stored(5000, 1);
  const std::uint64_t reads = rig.Count(Command::kRead);
  ASSERT_TRUE(rig.Clean(ZoneId(31)).ok());
  EXPECT_EQ(rig.moved, 0U);
  EXPECT_EQ(rig.Count(Command::kRead), reads);
}

TEST(MoveFramesTest, FailedWriteLeavesTheFramesInPlace) {
  CleanRig rig;
  const TwoFiles files(rig);
  rig.device.Inject({.command = Command::kWrite, .times = 100});
  EXPECT_EQ(rig.Clean(files.zone).error().code(), Code::kIo);
  rig.device.ClearFaults();
  EXPECT_EQ(rig.moved, 0U);
  EXPECT_NE(files.small->RangeToClean(files.zone).to, 0U);
  EXPECT_EQ(WalRig::Content(*files.small), TestText(5000, 1));
  EXPECT_EQ(rig.Recovered(files.small->id()), TestText(5000, 1));
  EXPECT_FALSE(rig.WasReleased(files.zone));
}

TEST(MoveFramesTest, FailedReadLeavesTheFramesInPlace) {
  CleanRig rig;
  const TwoFiles files(rig);
  rig.device.Inject({.command = Command::kRead, .times = 100});
  EXPECT_EQ(rig.Clean(files.zone).error().code(), Code::kIo);
  rig.device.ClearFaults();
  EXPECT_EQ(rig.Recovered(files.large->id()), TestText(20'000, 2));
}

TEST(MoveFramesTest, CleaningSucceedsAfterAFailedCommit) {
  CleanRig rig;
  const TwoFiles files(rig);
  rig.files.fail_commits = true;
  EXPECT_EQ(rig.Clean(files.zone).error().code(), Code::kIo);
  EXPECT_EQ(WalRig::Content(*files.small), TestText(5000, 1));
  EXPECT_EQ(WalRig::Content(*files.large), TestText(20'000, 2));
  rig.files.fail_commits = false;
  ASSERT_TRUE(rig.Clean(files.zone).ok());
  EXPECT_EQ(rig.Recovered(files.large->id()), TestText(20'000, 2));
}

TEST(MoveFramesTest, OtherFilesAreCleanedIfOneIsDeleted) {
  CleanRig rig;
  const TwoFiles files(rig);
  // The file is deleted in the catalog, but still open, so LogStore::All() still returns it.
  ASSERT_TRUE(rig.Commit({UnlinkFile{kRootDirectory, std::to_string(files.small->id().value)}}).ok());
  EXPECT_EQ(rig.Clean(files.zone).error().code(), Code::kBusy);
  EXPECT_EQ(files.large->RangeToClean(files.zone).to, 0U);
  EXPECT_EQ(WalRig::Content(*files.small), TestText(5000, 1));
}

TEST(MoveFramesTest, DeletedFileThatIsStillOpenIsMovedAndReadsTheSame) {
  CleanRig rig;
  const TwoFiles files(rig);
  rig.Delete(files.small);
  ASSERT_TRUE(rig.Clean(files.zone).ok());
  EXPECT_EQ(files.small->RangeToClean(files.zone).to, 0U);
  EXPECT_EQ(WalRig::Content(*files.small), TestText(5000, 1));
  ASSERT_TRUE(files.small->Append(AsBytes("more")).ok());
  ASSERT_TRUE(files.small->Sync().ok());
  EXPECT_EQ(WalRig::Content(*files.small), TestText(5000, 1) + "more");
}

// The copy is in no commit, but a reader must not find less than was synced.
TEST(MoveFramesTest, DeletedFileKeepsItsFramesIfTheFlushOfTheCopyFails) {
  CleanRig rig;
  const TwoFiles files(rig);
  rig.Delete(files.small);
  rig.Delete(files.large);
  rig.device.Inject({.command = Command::kFlush});
  EXPECT_FALSE(rig.Clean(files.zone).ok());
  EXPECT_EQ(rig.FirstZoneOf(*files.small), files.zone);
  EXPECT_EQ(WalRig::Content(*files.small), TestText(5000, 1));
}

TEST(MoveFramesTest, FileTruncatedDuringTheCopyIsNotCleaned) {
  CleanRig rig;
  const TwoFiles files(rig);
  rig.device.Hold(Command::kRead);
  std::optional<Code> code;
  Thread folder("folder", [&] {
    const Status cleaned = rig.Clean(files.zone);
    if (!cleaned.ok()) code = cleaned.error().code();
  });
  ASSERT_TRUE(rig.device.WaitUntilHeld(1, ZoneTestRig::Soon()));
  for (const auto& file : {files.small, files.large}) {
    auto truncate = file->BeginTruncate(100);
    ASSERT_TRUE(truncate);
    truncate->End(rig.Commit(truncate->edits()));
  }
  rig.device.Release();
  folder.Join();
  EXPECT_EQ(code, Code::kBusy);
  EXPECT_EQ(rig.Recovered(files.small->id()), TestText(5000, 1).substr(0, 100));
  EXPECT_EQ(rig.Recovered(files.large->id()), TestText(20'000, 2).substr(0, 100));
}

TEST(MoveFramesTest, AppendsContinueDuringTheCopy) {
  CleanRig rig;
  const TwoFiles files(rig);
  rig.device.Hold(Command::kRead);
  Thread folder("folder", [&] { EXPECT_TRUE(rig.Clean(files.zone).ok()); });
  ASSERT_TRUE(rig.device.WaitUntilHeld(1, ZoneTestRig::Soon()));
  for (const auto& file : {files.small, files.large}) {
    ASSERT_TRUE(file->Append(AsBytes("more")).ok());
    ASSERT_TRUE(file->Sync().ok());
  }
  rig.device.Release();
  folder.Join();
  EXPECT_EQ(WalRig::Content(*files.small), TestText(5000, 1) + "more");
  EXPECT_EQ(rig.Recovered(files.small->id()), TestText(5000, 1) + "more");
  EXPECT_EQ(rig.Recovered(files.large->id()), TestText(20'000, 2) + "more");
}

}  // namespace
}  // namespace zenfs
