#include "wal/wal_recovery.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "format/frame.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kEpoch = 7;

// Adjacent frames of 10 bytes: frame `sequence` has the bytes [(sequence - 1) * 10, sequence * 10).
ScannedFrame Frame(std::uint64_t sequence, std::uint64_t stable = 0, std::uint64_t epoch = kEpoch) {
  return {.owner = 5,
          .epoch = epoch,
          .sequence = sequence,
          .file_offset = (sequence - 1) * 10,
          .stable_sequence = stable,
          .length = 10,
          .payload = DeviceOffset(1'000'000 * epoch + sequence * 4096 + 64),
          .device_bytes = 4096,
          .zone = ZoneId(3)};
}

FileRecord Record(std::vector<LogWindow> windows = {}, std::uint64_t next_sequence = 1) {
  FileRecord record{.id = FileId(5), .shape = FileShape::kFramed};
  record.windows = std::move(windows);
  record.next_sequence = next_sequence;
  record.size = record.windows.empty() ? 0 : record.windows.back().end;
  return record;
}

// The sequences of the pieces in file order, and "lost FROM-TO" for damage.
std::string Shape(const ReplayedLog& log) {
  std::string shape;
  std::uint64_t at = 0;
  for (const Piece& piece : log.index.pieces()) {
    EXPECT_EQ(piece.file_offset, at) << "the pieces leave a gap";
    at = piece.end();
    if (!shape.empty()) shape += ' ';
    if (piece.damaged) {
      shape += "lost:" + std::to_string(piece.file_offset) + "-" + std::to_string(piece.end());
    } else if (piece.sequence == 0) {
      shape += "extent:" + std::to_string(piece.end());
    } else {
      shape += std::to_string(piece.sequence);
    }
  }
  return shape;
}

TEST(LogReplayTest, FramesWithoutAGapAreTheOpenWindow) {
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {Frame(3), Frame(1), Frame(2)});
  EXPECT_EQ(Shape(log), "1 2 3");
  EXPECT_EQ(log.open_window, (LogWindow{kEpoch, 1, 3, 30}));
  EXPECT_EQ(log.zones.at(ZoneId(3)), 3 * 4096U);
  EXPECT_TRUE(log.damage.empty());
}

TEST(LogReplayTest, FileWithoutFramesHasNoOpenWindow) {
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {});
  EXPECT_EQ(log.index.end(), 0U);
  EXPECT_FALSE(log.open_window);
}

TEST(LogReplayTest, GapEndsTheOpenWindow) {
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {Frame(1), Frame(2), Frame(4), Frame(5)});
  EXPECT_EQ(Shape(log), "1 2");
  EXPECT_EQ(log.open_window, (LogWindow{kEpoch, 1, 2, 20}));
  EXPECT_TRUE(log.damage.empty());
}

TEST(LogReplayTest, GapBelowWhatWasStableLosesExactlyItsBytes) {
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {Frame(1), Frame(3, 0), Frame(4, 3)});
  EXPECT_EQ(Shape(log), "1 lost:10-20 3 4");
  ASSERT_EQ(log.damage.size(), 1U);
  EXPECT_EQ(DamageText(log.damage[0], "file 7 (/a.log)"),
            "file 7 (/a.log): bytes 10 to 20 are lost: frame 2 of its log is missing or unreadable");
  EXPECT_TRUE(log.damage[0].near.has_value());
  EXPECT_EQ(log.open_window, (LogWindow{kEpoch, 1, 4, 40}));
}

TEST(LogReplayTest, LostStableFrameBeforeAnUnstableOneLosesOnlyItself) {
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {Frame(1), Frame(2), Frame(4, 3)});
  EXPECT_EQ(Shape(log), "1 2 lost:20-30 4");
}

TEST(LogReplayTest, GapBehindWhatWasStableIsNoDamage) {
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {Frame(1), Frame(2), Frame(4, 2), Frame(5, 2)});
  EXPECT_EQ(Shape(log), "1 2");
  EXPECT_TRUE(log.damage.empty());
}

TEST(LogReplayTest, MissingFrameOfASealedWindowLosesOnlyItsBytes) {
  const FileRecord record = Record({{4, 1, 4, 40}}, 5);
  const ReplayedLog log = ReplayLog(record, kEpoch, {Frame(1, 0, 4), Frame(2, 0, 4), Frame(4, 0, 4)});
  EXPECT_EQ(Shape(log), "1 2 lost:20-30 4");
  EXPECT_EQ(log.damage.size(), 1U);
  EXPECT_FALSE(log.open_window);
}

TEST(LogReplayTest, MissingEndOfASealedWindowIsLostAndWhatFollowsIsThere) {
  const FileRecord record = Record({{4, 1, 2, 20}}, 3);
  const ReplayedLog log = ReplayLog(record, kEpoch, {Frame(1, 0, 4), Frame(3), Frame(4)});
  EXPECT_EQ(Shape(log), "1 lost:10-20 3 4");
  EXPECT_EQ(log.open_window, (LogWindow{kEpoch, 3, 4, 40}));
}

TEST(LogReplayTest, SealedWindowWithoutAnyFrameIsLostAsAWhole) {
  const ReplayedLog log = ReplayLog(Record({{4, 1, 3, 30}}, 4), kEpoch, {});
  EXPECT_EQ(Shape(log), "lost:0-30");
}

TEST(LogReplayTest, FramesOfAnOlderEpochBeyondItsSealStayDead) {
  // Frames 2 and 3 of epoch 6 were behind a gap; epoch 7 wrote frame 2 again.
  const FileRecord record = Record({{6, 1, 1, 10}}, 2);
  const ReplayedLog log =
      ReplayLog(record, kEpoch, {Frame(1, 0, 6), Frame(2, 0, 6), Frame(3, 0, 6), Frame(2)});
  EXPECT_EQ(Shape(log), "1 2");
  EXPECT_EQ(log.index[1].place, Frame(2).payload);
  EXPECT_EQ(log.open_window, (LogWindow{kEpoch, 2, 2, 20}));
}

TEST(LogReplayTest, StaleFrameDoesNotVouchForOthers) {
  // The stable_sequence of an older epoch says nothing about this one.
  const FileRecord record = Record({{6, 1, 1, 10}}, 2);
  const ReplayedLog log = ReplayLog(record, kEpoch, {Frame(1, 0, 6), Frame(9, 8, 6), Frame(2)});
  EXPECT_EQ(Shape(log), "1 2");
  EXPECT_TRUE(log.damage.empty());
}

TEST(LogReplayTest, FramesBelowNextSequenceOfTheSameEpochAreDead) {
  // This epoch truncated the file to 10 bytes; its next frame is 4.
  const FileRecord record = Record({{kEpoch, 1, 1, 10}}, 4);
  ScannedFrame fourth = Frame(4, 3);
  fourth.file_offset = 10;
  const ReplayedLog log = ReplayLog(record, kEpoch, {Frame(1), Frame(2), Frame(3), fourth});
  EXPECT_EQ(Shape(log), "1 4");
  EXPECT_EQ(log.index.end(), 20U);
  EXPECT_TRUE(log.damage.empty());
}

// Found by fuzzing: the seal of such a file was refused, so every mount failed.
TEST(LogReplayTest, FrameThatVouchesForItselfIsPassedOver) {
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {Frame(1), Frame(2, UINT64_MAX)});
  EXPECT_EQ(Shape(log), "1");
  ASSERT_TRUE(log.open_window);
  EXPECT_EQ(log.open_window->last_sequence, 1u);
}

TEST(LogReplayTest, LastNumberOfAllIsPassedOver) {
  ScannedFrame last = Frame(1);
  last.sequence = UINT64_MAX;
  const ReplayedLog log = ReplayLog(Record({}, UINT64_MAX), kEpoch, {last});
  EXPECT_EQ(Shape(log), "");
  EXPECT_FALSE(log.open_window);
}

TEST(LogReplayTest, FrameWrittenTwiceCountsOnce) {
  ScannedFrame again = Frame(2);
  again.payload = DeviceOffset(99 * 4096 + 64);
  again.zone = ZoneId(4);
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {Frame(1), Frame(2), again, Frame(3)});
  EXPECT_EQ(Shape(log), "1 2 3");
  std::uint64_t bytes = 0;
  for (const auto& [zone, live] : log.zones) bytes += live;
  EXPECT_EQ(bytes, 3 * 4096U);
}

TEST(LogReplayTest, RepeatedFrameThatWasSplitAgreesWithTheWhole) {
  // Frame 2 is unsplit in one zone, where its write was reported as failed. Then it was split into 2 and 3;
  // 4 follows.
  ScannedFrame first = Frame(2);
  first.length = 4;
  ScannedFrame second = Frame(3);
  second.file_offset = 14;
  second.length = 6;
  ScannedFrame next = Frame(4);
  next.file_offset = 20;
  for (const bool whole : {true, false}) {
    std::vector<ScannedFrame> frames = {Frame(1), first, second, next};
    if (whole) frames.push_back(Frame(2));
    const ReplayedLog log = ReplayLog(Record(), kEpoch, frames);
    EXPECT_EQ(Shape(log), whole ? "1 2 4" : "1 2 3 4");
    EXPECT_EQ(log.index.end(), 30U);
    EXPECT_EQ(log.open_window, (LogWindow{kEpoch, 1, 4, 30}));
  }
}

// The device lost frame 1 of 3. A mount wrote all bytes again from shared memory, as two frames. The second
// has the sequence of an old frame, and ends earlier than that one.
TEST(LogReplayTest, OfFramesWithOneSequenceTheOneThatReachesFarthestIsTaken) {
  ScannedFrame first = Frame(1);
  first.length = 25;
  ScannedFrame second = Frame(2);
  second.file_offset = 25;
  second.length = 5;
  const std::vector<ScannedFrame> frames = {Frame(2), Frame(3), first, second};
  const ReplayedLog open = ReplayLog(Record(), kEpoch, frames);
  EXPECT_EQ(open.index.end(), 30U);
  const ReplayedLog sealed = ReplayLog(Record({{kEpoch, 1, 2, 30}}, 3), kEpoch + 1, frames);
  EXPECT_EQ(Shape(sealed), "1 2");
  EXPECT_EQ(sealed.index.end(), 30U);
  EXPECT_TRUE(sealed.damage.empty());
}

// A repair ignores such a frame, so a check must not report it as damage. Found by the fuzz target repair.
TEST(LogReplayTest, AFrameWithANumberThatNoWriterComesToProvesNoGap) {
  ScannedFrame frame = Frame(2, /*stable=*/1);
  frame.sequence = kCredibleEnd;
  const ReplayedLog log = ReplayLog(Record(), kEpoch, {frame});
  EXPECT_EQ(log.index.end(), 0U);
  EXPECT_TRUE(log.damage.empty());
}

TEST(LogReplayTest, PartThatIsMissingBesideTheWholeIsNoDamage) {
  const FileRecord record = Record({{kEpoch, 1, 3, 20}}, 4);
  const ReplayedLog log = ReplayLog(record, kEpoch, {Frame(1), Frame(2)});
  EXPECT_EQ(Shape(log), "1 2");
  EXPECT_TRUE(log.damage.empty());
}

TEST(LogReplayTest, WindowCutByTruncationEndsInMidFrame) {
  const FileRecord record = Record({{kEpoch, 1, 2, 13}}, 4);
  ScannedFrame fourth = Frame(4);
  fourth.file_offset = 13;
  const ReplayedLog log = ReplayLog(record, kEpoch, {Frame(1), Frame(2), Frame(3), fourth});
  EXPECT_EQ(Shape(log), "1 2 4");
  EXPECT_EQ(log.index[1].length, 3U);
  EXPECT_EQ(log.index.end(), 23U);
}

TEST(LogReplayTest, WindowWhoseFirstPartWasCleanedBeginsBehindTheExtents) {
  FileRecord record = Record({{4, 3, 4, 40}}, 5);
  record.extents = {{.file_offset = 0, .place = DeviceOffset(1 << 20), .length = 20}};
  const ReplayedLog log =
      ReplayLog(record, kEpoch, {Frame(1, 0, 4), Frame(2, 0, 4), Frame(3, 0, 4), Frame(4, 0, 4), Frame(5)});
  EXPECT_EQ(Shape(log), "extent:20 3 4 5");
  EXPECT_EQ(log.zones.at(ZoneId(3)), 3 * 4096U);
}

TEST(LogReplayTest, OpenWindowWhoseFirstPartWasCleanedBeginsBehindTheExtents) {
  FileRecord record = Record({}, 3);
  record.extents = {{.file_offset = 0, .place = DeviceOffset(1 << 20), .length = 20}};
  const ReplayedLog log = ReplayLog(record, kEpoch, {Frame(1), Frame(2), Frame(3, 2)});
  EXPECT_EQ(Shape(log), "extent:20 3");
  EXPECT_EQ(log.open_window, (LogWindow{kEpoch, 3, 3, 30}));
  EXPECT_TRUE(log.damage.empty());
}

// Metadata may claim them without a frame: 17 bytes each, and a mount must not take hours for it.
TEST(LogReplayTest, AMillionLostWindowsTakeATimeInProportion) {
  constexpr std::uint64_t kWindows = 1'000'000;
  std::vector<LogWindow> windows;
  for (std::uint64_t i = 1; i <= kWindows; ++i) windows.push_back({1, i, i, i});
  const ReplayedLog log =
      ReplayLog(Record(std::move(windows), kWindows + 1), kEpoch, {Frame(kWindows, 0, 2)});
  EXPECT_EQ(log.damage.size(), kWindows);
  EXPECT_EQ(log.damage.back().near, Frame(kWindows, 0, 2).payload);
}

}  // namespace
}  // namespace zenfs
