// Truncation and cleaning.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <set>

#include "base/sync_point.h"
#include "base/thread.h"
#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

using Command = FaultyDevice::Command;

Status Truncate(WalRig& rig, FramedFile& file, std::uint64_t size) {
  ZENFS_ASSIGN_OR_RETURN(FramedFile::Rewrite rewrite, file.BeginTruncate(size));
  const Status committed = rig.Commit(rewrite.edits());
  rewrite.End(committed);
  return committed;
}

struct Copy {
  std::vector<Extent> extents;
  std::vector<ZonePin> pins;
};

// Copies `range` into zones of plain data.
Copy CopyOut(WalRig& rig, const FramedFile& file, const CleaningRange& range) {
  AlignedBuffer buffer(range.to - range.from);
  buffer.Resize(range.to - range.from);
  EXPECT_EQ(file.Read(range.from, buffer.Span()).value_or(0), buffer.size());
  buffer.PadTo(kTestBlock);
  ExtentSink sink(*rig.zones);
  SinkCursor cursor;
  Copy copy;
  std::uint64_t at = range.from;
  for (ByteView rest = buffer.View(); !rest.empty();) {
    auto placed = sink.Write(cursor, Lifetime::kNotSet, {&rest, 1}, ZoneTestRig::Soon());
    if (!placed) return {};
    copy.extents.push_back({at, placed->place, std::min(placed->length, range.to - at)});
    copy.pins.push_back(std::move(placed->pin));
    at += copy.extents.back().length;
    rest = rest.subspan(placed->length);
  }
  return copy;
}

Status Clean(WalRig& rig, FramedFile& file, ZoneId zone) {
  const CleaningRange range = file.RangeToClean(zone);
  if (range.to == 0) return {};
  const Copy copy = CopyOut(rig, file, range);
  ZENFS_ASSIGN_OR_RETURN(FramedFile::Rewrite rewrite, file.BeginCleaning(range, copy.extents));
  const Status committed = rig.Commit(rewrite.edits());
  rewrite.End(committed);
  return committed;
}

TEST(FramedFileRewriteTest, TruncatingAtEveryBoundaryKeepsWhatIsBeforeAndAppendsGoOnThere) {
  const auto fill = [](WalRig& rig) {
    rig.Mount();
    auto file = rig.NewFile();
    std::string text;
    for (const std::size_t length : {100, 5000, 1, 9000, 30, 4032}) {
      const std::string part = TestText(length, length);
      text += part;
      EXPECT_TRUE(Append(*file, part).ok());
      EXPECT_TRUE(file->WriteBack().ok());
    }
    return std::pair(file, text);
  };
  std::set<std::uint64_t> sizes;
  {
    WalRig rig(TestGeometry(16, 4));
    const auto [file, text] = fill(rig);
    for (const Piece& piece : file->Pieces()) {
      for (const std::uint64_t size :
           {piece.file_offset, piece.file_offset + 1, piece.end() - 1, piece.end()})
        sizes.insert(size);
    }
  }
  for (const std::uint64_t size : sizes) {
    SCOPED_TRACE(size);
    WalRig rig(TestGeometry(16, 4));
    auto [file, text] = fill(rig);
    ASSERT_TRUE(Truncate(rig, *file, size).ok());
    EXPECT_EQ(file->size(), size);
    text.resize(size);
    EXPECT_EQ(WalRig::Content(*file), text);
    EXPECT_EQ(rig.Recovered(file->id()), text);
    ASSERT_TRUE(Append(*file, "new bytes").ok());
    ASSERT_TRUE(file->Sync().ok());
    EXPECT_EQ(WalRig::Content(*file), text + "new bytes");
    EXPECT_EQ(rig.Recovered(file->id()), text + "new bytes");
  }
}

TEST(FramedFileRewriteTest, TruncationWritesOutWhatIsBufferedFirst) {
  WalRig rig(TestGeometry(8, 16));
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, "0123456789").ok());
  ASSERT_TRUE(Truncate(rig, *file, 4).ok());
  EXPECT_EQ(WalRig::Content(*file), "0123");
  EXPECT_EQ(rig.Recovered(file->id()), "0123");
}

TEST(FramedFileRewriteTest, TruncationBeyondTheEndIsRefused) {
  WalRig rig(TestGeometry(8, 16));
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, "abc").ok());
  EXPECT_EQ(file->BeginTruncate(4).error().code(), Code::kNotSupported);
  EXPECT_TRUE(Append(*file, "d").ok());
}

TEST(FramedFileRewriteTest, TruncationThatWasNotCommittedChangesNothing) {
  WalRig rig(TestGeometry(8, 16));
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, "abcdef").ok());
  auto rewrite = file->BeginTruncate(2);
  ASSERT_TRUE(rewrite);
  rewrite->End(Fail(Code::kIo, "not committed"));
  EXPECT_EQ(WalRig::Content(*file), "abcdef");
  ASSERT_TRUE(Append(*file, "g").ok());
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(rig.Recovered(file->id()), "abcdefg");
}

TEST(FramedFileRewriteTest, RewriteThatIsNotEndedChangesNothingAndHoldsNobodyUp) {
  WalRig rig(TestGeometry(8, 16));
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, "abcdef").ok());
  ASSERT_TRUE(file->BeginTruncate(2).ok());
  ASSERT_TRUE(Append(*file, "g").ok());
  ASSERT_TRUE(file->Sync().ok());
  const auto range = file->RangeToClean(rig.ZoneOf(file->Pieces().front().place));
  const Copy copy = CopyOut(rig, *file, range);
  ASSERT_TRUE(file->BeginCleaning(range, copy.extents).ok());
  ASSERT_TRUE(Truncate(rig, *file, 7).ok());
  EXPECT_EQ(WalRig::Content(*file), "abcdefg");
  EXPECT_EQ(rig.Recovered(file->id()), "abcdefg");
}

TEST(FramedFileRewriteTest, SyncOfBytesThatWereTruncatedMeanwhileReturns) {
  WalRig rig(TestGeometry(8, 16));
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, TestText(100, 1)).ok());
  std::atomic<bool> there = false, go = false;
  std::atomic<int> passed = 0;
  SyncPoint::Scope scope([&](std::string_view name) {
    if (name != "FramedFile::WriteBackAll" || passed++ != 0) return;
    there = true;
    there.notify_all();
    go.wait(false);
  });
  Thread syncer("syncer", [&] { EXPECT_TRUE(file->Sync().ok()); });
  there.wait(false);
  ASSERT_TRUE(Truncate(rig, *file, 50).ok());
  go = true;
  go.notify_all();
  syncer.Join();
  EXPECT_EQ(file->size(), 50U);
}

TEST(FramedFileRewriteTest, AppendsWaitForATruncationUnderWay) {
  WalRig rig(TestGeometry(8, 16));
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, "abcdef").ok());
  auto rewrite = file->BeginTruncate(2);
  ASSERT_TRUE(rewrite);
  Thread appender("appender", [&] { EXPECT_TRUE(Append(*file, "XY").ok()); });
  ASSERT_TRUE(rig.Commit(rewrite->edits()).ok());
  rewrite->End({});
  appender.Join();
  EXPECT_EQ(WalRig::Content(*file), "abXY");
}

TEST(FramedFileRewriteTest, AppendThatWaitedForATruncationOfUnknownOutcomeFailsAsAllLaterOnes) {
  WalRig rig(TestGeometry(8, 16));
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, "abcdef").ok());
  auto rewrite = file->BeginTruncate(2);
  ASSERT_TRUE(rewrite);
  std::atomic<bool> waits = false;
  SyncPoint::Scope scope([&](std::string_view name) {
    if (name != "FramedFile::Append:waits") return;
    waits = true;
    waits.notify_all();
  });
  Thread appender("appender", [&] { EXPECT_FALSE(Append(*file, "XY").ok()); });
  waits.wait(false);
  rewrite->End(Fail(Code::kUnknownOutcome, "the commit may be there or not"));
  appender.Join();
  EXPECT_FALSE(Append(*file, "Z").ok());
  EXPECT_EQ(WalRig::Content(*file), "abcdef");
}

TEST(FramedFileRewriteTest, CleanedFileReadsTheSameAndItsZoneIsReleased) {
  WalRig rig(TestGeometry(16, 4));
  rig.Mount();
  const auto file = rig.NewFile();
  const std::string text = TestText(10 * kTestBlock, 3);
  ASSERT_TRUE(Append(*file, text).ok());
  ASSERT_TRUE(file->Sync().ok());
  const ZoneId zone = rig.ZoneOf(file->Pieces().front().place);
  ASSERT_TRUE(Clean(rig, *file, zone).ok());
  EXPECT_EQ(file->RangeToClean(zone).to, 0U);
  EXPECT_TRUE(rig.WaitUntilReleased(zone));
  EXPECT_EQ(WalRig::Content(*file), text);
  EXPECT_EQ(rig.Recovered(file->id()), text);
  EXPECT_EQ(file->Pieces().front().sequence, 0U);
}

TEST(FramedFileRewriteTest, SecondCleaningBeginsInTheUnfinishedBlockOfTheFirst) {
  WalRig rig(TestGeometry(16, 4));
  rig.Mount();
  const auto file = rig.NewFile();
  std::string text;
  for (std::uint64_t i = 0; i < 30; ++i) {
    const std::string part = TestText(1500, i);
    text += part;
    ASSERT_TRUE(Append(*file, part).ok());
    ASSERT_TRUE(file->WriteBack().ok());
  }
  for (int round = 0; round < 4; ++round) {
    const std::vector<Piece> pieces = file->Pieces();
    const auto oldest = std::ranges::find_if(pieces, [](const Piece& p) { return p.sequence != 0; });
    ASSERT_NE(oldest, pieces.end());
    ASSERT_TRUE(Clean(rig, *file, rig.ZoneOf(oldest->place)).ok());
    EXPECT_EQ(WalRig::Content(*file), text);
    EXPECT_EQ(rig.Recovered(file->id()), text);
  }
  EXPECT_EQ(rig.state().Check(), std::vector<std::string>());
}

TEST(FramedFileRewriteTest, CleaningThatWasNotCommittedChangesNothing) {
  WalRig rig(TestGeometry(16, 4));
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, TestText(5000, 3)).ok());
  ASSERT_TRUE(file->Sync().ok());
  const ZoneId zone = rig.ZoneOf(file->Pieces().front().place);
  const auto range = file->RangeToClean(zone);
  const Copy copy = CopyOut(rig, *file, range);
  auto rewrite = file->BeginCleaning(range, copy.extents);
  ASSERT_TRUE(rewrite);
  rewrite->End(Fail(Code::kIo, "not committed"));
  EXPECT_NE(file->RangeToClean(zone).to, 0U);
  EXPECT_EQ(WalRig::Content(*file), TestText(5000, 3));
  EXPECT_EQ(rig.Recovered(file->id()), TestText(5000, 3));
}

TEST(FramedFileRewriteTest, CleaningDoesNotWaitForAFrameThatIsInFlight) {
  WalRig rig(TestGeometry(16, 4));
  rig.Mount();
  const auto file = rig.NewFile();
  const std::string text = TestText(4 * kTestBlock - kFrameHeaderBytes, 3);
  ASSERT_TRUE(Append(*file, text).ok());
  ASSERT_TRUE(file->Sync().ok());
  const ZoneId zone = rig.ZoneOf(file->Pieces().front().place);
  const auto range = file->RangeToClean(zone);
  const Copy copy = CopyOut(rig, *file, range);
  ASSERT_TRUE(Append(*file, "in flight").ok());
  rig.device.Hold(Command::kWrite);
  Thread syncer("syncer", [&] { EXPECT_TRUE(file->Sync().ok()); });
  ASSERT_TRUE(rig.device.WaitUntilHeld(1, ZoneTestRig::Soon()));
  auto rewrite =
      file->BeginCleaning(range, copy.extents);  // the frame may be waiting for the zone that this releases
  ASSERT_TRUE(rewrite);
  ASSERT_TRUE(Append(*file, ", appended").ok());
  ASSERT_TRUE(rig.Commit(rewrite->edits()).ok());
  rewrite->End({});
  EXPECT_EQ(WalRig::Content(*file), text + "in flight, appended");
  rig.device.Release();
  syncer.Join();
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(WalRig::Content(*file), text + "in flight, appended");
  EXPECT_EQ(rig.Recovered(file->id()), text + "in flight, appended");
  EXPECT_TRUE(rig.WaitUntilReleased(zone));
}

TEST(FramedFileRewriteTest, CleaningOfARangeThatWasTruncatedMeanwhileIsRefused) {
  WalRig rig(TestGeometry(16, 4));
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, TestText(5000, 3)).ok());
  ASSERT_TRUE(file->Sync().ok());
  const auto range = file->RangeToClean(rig.ZoneOf(file->Pieces().front().place));
  const Copy copy = CopyOut(rig, *file, range);
  ASSERT_TRUE(Truncate(rig, *file, 100).ok());
  EXPECT_EQ(file->BeginCleaning(range, copy.extents).error().code(), Code::kBusy);
  EXPECT_TRUE(Append(*file, "goes on").ok());
}

TEST(SealAtTheEndTest, SealVouchesForEveryFrame) {
  WalRig rig(TestGeometry(16, 8));
  rig.Mount();
  const auto file = rig.NewFile();
  EXPECT_FALSE(file->SealOfOpenWindow()) << "there is nothing to seal";
  ASSERT_TRUE(Append(*file, "one").ok());
  EXPECT_FALSE(file->SealOfOpenWindow()) << "bytes are not on the device";
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(Append(*file, "two").ok());
  EXPECT_FALSE(file->SealOfOpenWindow()) << "bytes are not on the device";
  ASSERT_TRUE(file->Sync().ok());
  const auto seal = file->SealOfOpenWindow();
  ASSERT_TRUE(seal);
  ASSERT_TRUE(rig.Commit({*seal}).ok());
  const auto record = rig.state().FindFile(file->id());
  EXPECT_EQ(record->size, 6U);
  EXPECT_EQ(record->windows, (std::vector<LogWindow>{{rig.state().epoch(), 1, 2, 6}}));
  EXPECT_FALSE(rig.Replay(file->id()).open_window);
  EXPECT_EQ(rig.Recovered(file->id()), "onetwo");
}

TEST(SealAtTheEndTest, FileThatCouldNotBeWrittenIsLeftToTheNextMount) {
  WalRig rig(TestGeometry(16, 8));
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, "one").ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(Append(*file, "two").ok());
  rig.device.Inject({.command = Command::kWrite, .times = 1000});
  EXPECT_FALSE(file->Sync().ok());
  rig.device.ClearFaults();
  EXPECT_FALSE(file->SealOfOpenWindow());
}

}  // namespace
}  // namespace zenfs
