// Plans of truncations and cleanings, and the account of stable frames, without a device.
#include "wal/frame_map.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <vector>

#include "base/clock.h"
#include "model/state.h"

namespace zenfs {
namespace {

constexpr Geometry kMapGeometry{.block_size = 4096, .zone_size = 1 << 20, .zone_count = 8};
constexpr FileId kFile(7);
constexpr std::uint64_t kMapEpoch = 3;
const FlushMark kMark = FlushMark::AtOpen();

// Each frame of this file is at the start of zone `sequence`; its extent is in zone 0.
Piece FrameAt(std::uint64_t sequence, std::uint64_t file_offset, std::uint64_t length) {
  return {.file_offset = file_offset,
          .length = length,
          .place = kMapGeometry.ZoneStart(ZoneId(static_cast<std::uint32_t>(sequence))),
          .sequence = sequence,
          .frame_bytes = RoundUp(length + 64, kMapGeometry.block_size)};
}

// bytes      0 .... 8192 | 9000 10000 | 11000 12000 | 13000 14000
//            extent      | frames 1 2 | frames 3 4  | frames 5 6 of the open window
class FrameMapTest : public testing::Test {
 protected:
  FrameMapTest() : state_(MakeState()), map_(*state_.FindFile(kFile), MakeIndex(), kMapEpoch, 100) {
    map_.Publish(FrameAt(5, 12'000, 1000), kMark);
    map_.Publish(FrameAt(6, 13'000, 1000), kMark);
  }

  static State MakeState() {
    const std::array edits = std::to_array<Edit>(
        {RaiseCounters{8, 0}, CreateFile{kFile, FileShape::kFramed, Lifetime::kShort, 100},
         LinkFile{kRootDirectory, "1.log", kFile}, BeginEpoch{2},
         SetExtents{kFile, 0, {{.file_offset = 0, .place = DeviceOffset(0), .length = 8192}}, 8192, 100},
         SealLog{kFile, {{1, 1, 2, 10'000}, {2, 3, 4, 12'000}}, 5, 12'000, 100}, BeginEpoch{kMapEpoch}});
    State state;
    const Status applied = state.Apply(edits);
    EXPECT_TRUE(applied.ok()) << applied.error().ToString();
    return state;
  }
  static FrameIndex MakeIndex() {
    FrameIndex index;
    index.Append({.file_offset = 0, .length = 8192, .place = DeviceOffset(0)});
    index.Append(FrameAt(1, 8192, 808));
    for (std::uint64_t i = 2; i <= 4; ++i) index.Append(FrameAt(i, 7000 + i * 1000, 1000));
    return index;
  }

  // Commits `plan` and returns the file's record.
  FileRecord Commit(const RewritePlan& plan) {
    const Status applied = state_.Apply(plan.edits);
    EXPECT_TRUE(applied.ok()) << applied.error().ToString();
    EXPECT_EQ(state_.Check(), std::vector<std::string>());
    map_.Apply(plan);
    return *state_.FindFile(kFile);
  }
  FileRecord Truncate(std::uint64_t size) { return Commit(map_.PlanTruncation(size, {}, 200, kMark)); }
  static CleaningRange Front(std::uint64_t to) { return {.from = 8192, .to = to}; }
  static std::vector<Extent> Copy(std::uint64_t to) {
    return {{.file_offset = 8192, .place = kMapGeometry.ZoneStart(ZoneId(7)), .length = to - 8192}};
  }
  RewritePlan Clean(std::uint64_t to) { return map_.PlanCleaning(Front(to), Copy(to)).value(); }

  State state_;
  FrameMap map_;
};

TEST_F(FrameMapTest, TruncationInsideASealedWindowEndsThatWindowAndDropsTheLaterOnes) {
  const FileRecord record = Truncate(11'500);
  EXPECT_EQ(record.windows, (std::vector<LogWindow>{{1, 1, 2, 10'000}, {2, 3, 4, 11'500}}));
  EXPECT_EQ(record.next_sequence, 7U) << "frames 5 and 6 are dead";
  EXPECT_EQ(record.size, 11'500U);
  EXPECT_EQ(map_.end(), 11'500U);
}

TEST_F(FrameMapTest, TruncationBetweenTwoWindowsKeepsTheFirstWhole) {
  EXPECT_EQ(Truncate(10'000).windows, (std::vector<LogWindow>{{1, 1, 2, 10'000}}));
}

TEST_F(FrameMapTest, TruncationInsideTheOpenWindowSealsTheRest) {
  const FileRecord record = Truncate(12'500);
  EXPECT_EQ(record.windows.back(), (LogWindow{kMapEpoch, 5, 5, 12'500}));
  EXPECT_EQ(record.next_sequence, 7U);
}

TEST_F(FrameMapTest, TruncationInsideAnExtentKeepsTheChecksummedFront) {
  const Extent front{.file_offset = 0, .place = DeviceOffset(0), .length = 5000, .crc = 17};
  const FileRecord record = Commit(map_.PlanTruncation(5000, front, 200, kMark));
  EXPECT_EQ(record.extents, std::vector<Extent>{front});
  EXPECT_TRUE(record.windows.empty());
}

TEST_F(FrameMapTest, TruncationToAnySizeGivesARecordThatTheMetadataAcceptsAndTheFileContinues) {
  const std::uint64_t end = map_.end();
  for (std::uint64_t size = 0; size <= end; size += 8) {  // meets every boundary
    SCOPED_TRACE(size);
    State state = state_;
    FrameMap map(*state.FindFile(kFile), MakeIndex(), kMapEpoch, 100);
    map.Publish(FrameAt(5, 12'000, 1000), kMark);
    map.Publish(FrameAt(6, 13'000, 1000), kMark);
    const RewritePlan plan = map.PlanTruncation(size, {}, 200, kMark);
    ASSERT_TRUE(state.Apply(plan.edits).ok());
    EXPECT_EQ(state.Check(), std::vector<std::string>());
    map.Apply(plan);
    EXPECT_EQ(map.end(), size);
    EXPECT_EQ(map.stable_end(), size);
    map.Publish(FrameAt(7, size, 10), kMark);
    EXPECT_EQ(map.end(), size + 10);
  }
}

TEST_F(FrameMapTest, PlanChangesNothing) {
  const RewritePlan cut = map_.PlanTruncation(100, {}, 200, kMark);
  const RewritePlan cleaned = Clean(14'000);
  EXPECT_EQ(map_.end(), 14'000U);
  EXPECT_EQ(map_.pieces().size(), 7U);
  EXPECT_EQ(map_.SealOfOpenWindow(200)->windows.size(), 3U);
}

TEST_F(FrameMapTest, CleaningThatEndsInsideASealedWindowLeavesItsLaterFrames) {
  const FileRecord record = Commit(Clean(11'000));
  EXPECT_EQ(record.ExtentsEnd(), 11'000U);
  EXPECT_EQ(record.windows, (std::vector<LogWindow>{{2, 4, 4, 12'000}}));
  EXPECT_EQ(record.next_sequence, 5U) << "the open window is as before";
  EXPECT_EQ(record.size, 12'000U);
  EXPECT_EQ(map_.pieces()[1].sequence, 0U);
  EXPECT_EQ(map_.pieces()[2].sequence, 4U);
}

TEST_F(FrameMapTest, CleaningThatEndsInsideTheOpenWindowMovesItsStart) {
  const RewritePlan plan = Clean(13'000);
  map_.Publish(FrameAt(7, 14'000, 500), kMark);  // sent between plan and commit
  const FileRecord record = Commit(plan);
  EXPECT_TRUE(record.windows.empty());
  EXPECT_EQ(record.next_sequence, 6U);
  EXPECT_EQ(record.size, 13'000U);
  EXPECT_EQ(map_.end(), 14'500U);
  EXPECT_EQ(map_.SealOfOpenWindow(200)->windows, (std::vector<LogWindow>{{kMapEpoch, 6, 7, 14'500}}));
}

TEST_F(FrameMapTest, CleaningKeepsTheTimeThatAMountWouldFind) {
  map_.NoteTime(map_.TimeOfNextFrame(150));
  EXPECT_EQ(Commit(Clean(13'000)).mtime_seconds, 150U);
  Truncate(13'500);
  map_.Publish(FrameAt(7, 13'500, 500), kMark);
  EXPECT_EQ(Commit(Clean(14'000)).mtime_seconds, 200U);
}

TEST_F(FrameMapTest, CleaningOfARangeThatWasTruncatedOrCleanedIsRefused) {
  Commit(Clean(10'000));
  EXPECT_EQ(map_.PlanCleaning(Front(9000), Copy(9000)).error().code(), Code::kBusy);
  EXPECT_EQ(map_.PlanCleaning(Front(10'000), Copy(10'000)).error().code(), Code::kBusy);
  Truncate(12'500);
  EXPECT_EQ(map_.PlanCleaning(Front(13'000), Copy(13'000)).error().code(), Code::kBusy);
  EXPECT_EQ(map_.PlanCleaning(Front(0), {}).error().code(), Code::kBusy);
  map_.Publish(FrameAt(7, 12'500, 1000), kMark);
  EXPECT_EQ(map_.PlanCleaning(Front(13'000), Copy(13'000)).error().code(), Code::kBusy)
      << "other bytes are there now";
}

TEST_F(FrameMapTest, EachPieceOfACleaningRestatesTheWindowsThatItLeaves) {
  constexpr std::uint64_t kAWindow = kRestatedBytesAWindow;
  const auto restated = [this](std::uint32_t zone, std::uint64_t piece) {
    const ZoneId zones[] = {ZoneId(zone)};
    return map_.RestatedBytes(kMapGeometry, zones, piece);
  };
  EXPECT_EQ(restated(7, 1 << 20), 0u) << "no frame is there";
  EXPECT_EQ(restated(1, 1 << 20), 2 * kAWindow) << "the first window goes on";
  EXPECT_EQ(restated(2, 1 << 20), kAWindow);
  EXPECT_EQ(restated(4, 1 << 20), 0u);
  EXPECT_EQ(restated(4, 1), (2 + 1 + 1) * kAWindow) << "a piece for each frame";
  EXPECT_EQ(restated(6, 2000), (1 + 1) * kAWindow) << "up to frames 2, 3, 4, 5 and 6";
}

TEST_F(FrameMapTest, RangeToCleanEndsWithTheLastFrameInTheZone) {
  EXPECT_EQ(map_.RangeToClean(kMapGeometry, std::array{ZoneId(4)}, UINT64_MAX, kMark).to, 12'000U);
  EXPECT_EQ(map_.RangeToClean(kMapGeometry, std::array{ZoneId(4)}, UINT64_MAX, kMark).from, 8192U);
  EXPECT_EQ(map_.RangeToClean(kMapGeometry, std::array{ZoneId(7)}, UINT64_MAX, kMark).to, 0U)
      << "no frame is there";
  EXPECT_EQ(map_.RangeToClean(kMapGeometry, std::array{ZoneId(4)}, 2000, kMark).to, 10'000U)
      << "up to the end of a frame";
  EXPECT_EQ(map_.RangeToClean(kMapGeometry, std::array{ZoneId(4)}, 1, kMark).to, 9000U)
      << "at least one frame";
}

// An image may have one generation in all of its log zones.
TEST(FrameMapCost, AFrameIsNotComparedWithAllZonesOfAGroup) {
  constexpr std::uint32_t kFrames = 200'000;
  constexpr Geometry kWide{.block_size = 4096, .zone_size = 4096, .zone_count = kFrames + 1};
  State state;
  ASSERT_TRUE(state
                  .Apply(std::to_array<Edit>(
                      {RaiseCounters{8, 0}, CreateFile{kFile, FileShape::kFramed, Lifetime::kShort, 100},
                       LinkFile{kRootDirectory, "1.log", kFile}, BeginEpoch{1},
                       SealLog{kFile, {{1, 1, kFrames, kFrames * 1000}}, kFrames + 1, kFrames * 1000, 100}}))
                  .ok());
  FrameIndex index;
  std::vector<ZoneId> group;
  for (std::uint32_t i = 1; i <= kFrames; ++i) {
    group.emplace_back(i);
    index.Append({.file_offset = (i - 1) * 1000,
                  .length = 1000,
                  .place = kWide.ZoneStart(ZoneId(i)),
                  .sequence = i,
                  .frame_bytes = 4096});
  }
  const FrameMap map(*state.FindFile(kFile), std::move(index), 1, 100);
  const SteadyTime begin = SteadyNow();
  EXPECT_EQ(map.RangeToClean(kWide, group, UINT64_MAX, kMark).to, kFrames * 1000);
  EXPECT_LT(SteadyNow() - begin, std::chrono::seconds(2));
}

TEST_F(FrameMapTest, OnlyFramesOfTheOpenWindowBehindTheStableEndAreUnstable) {
  EXPECT_EQ(map_.stable_end(), 12'000U) << "a mount takes only frames that are stable";
  EXPECT_EQ(map_.FindUnstable(0)->sequence, 5U);
  EXPECT_EQ(map_.FindUnstable(13'000)->sequence, 6U);
  EXPECT_FALSE(map_.FindUnstable(14'000));
  Commit(Clean(13'000));
  EXPECT_EQ(map_.FindUnstable(0)->sequence, 6U) << "the commit of the cleaning flushed frame 5";
  map_.PromiseStable();
  EXPECT_FALSE(map_.FindUnstable(0));
  EXPECT_EQ(map_.stable_end(), 14'000U);
  EXPECT_EQ(map_.stable_sequence(), 6U);
}

TEST_F(FrameMapTest, FrameWrittenAgainReplacesTheOneWithItsSequence) {
  Piece again = FrameAt(5, 12'000, 1000);
  again.place = kMapGeometry.ZoneStart(ZoneId(7));
  map_.Publish(again, kMark);
  EXPECT_EQ(map_.pieces()[5].place, again.place);
  EXPECT_EQ(map_.end(), 14'000U);
  EXPECT_EQ(map_.next_sequence(), 7U);
}

TEST_F(FrameMapTest, ReadIsPlannedFrameByFrame) {
  std::array<std::byte, 1500> bytes{};
  const std::vector<PieceRead> reads = map_.PlanRead(9500, bytes).value();
  ASSERT_EQ(reads.size(), 2U);
  EXPECT_EQ(reads[0].place, kMapGeometry.ZoneStart(ZoneId(2)) + 500);
  EXPECT_EQ(reads[0].into.size(), 500U);
  EXPECT_EQ(reads[1].place, kMapGeometry.ZoneStart(ZoneId(3)));
  EXPECT_EQ(reads[1].into.data(), bytes.data() + 500);
  EXPECT_EQ(reads[1].into.size(), 1000U);
  EXPECT_TRUE(map_.PlanRead(9500, {}).value().empty());
  EXPECT_TRUE(map_.PlanRead(14'000, bytes).value().empty());
}

TEST_F(FrameMapTest, LostBytesFailOnlyTheReadsThatNeedThem) {
  FrameIndex index = MakeIndex();
  Piece lost = index[2];
  lost.damaged = true;
  index.Replace(2, lost);
  const FrameMap map(*state_.FindFile(kFile), index, kMapEpoch, 100);
  std::array<std::byte, 100> bytes{};
  EXPECT_EQ(map.PlanRead(9950, bytes).error().code(), Code::kCorruption);
  EXPECT_EQ(map.PlanRead(8900, bytes).value().size(), 1U);
  EXPECT_EQ(map.RangeToClean(kMapGeometry, std::array{ZoneId(4)}, UINT64_MAX, kMark).to, 0U)
      << "a copy would hide that they are lost";
}

TEST_F(FrameMapTest, EmptyOpenWindowHasNoSeal) {
  Truncate(14'000);
  EXPECT_FALSE(map_.SealOfOpenWindow(200));
}

}  // namespace
}  // namespace zenfs
