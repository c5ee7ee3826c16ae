#include "wal/log_extent_sink.h"

#include <gtest/gtest.h>

#include "testing/device_data.h"
#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

// Three slots: log and data share one zone.
class SharedRig : public WalRig {
 public:
  SharedRig(std::uint32_t zones, std::uint64_t blocks_a_zone)
      : WalRig(TestGeometry(zones, blocks_a_zone, 3), 1) {
    reserved_for_log = 1;
    Mount();
    sink = MakeLogExtentSink(*log, kTestBlock);
  }
  ~SharedRig() override { log->Stop(); }  // its thread calls this object
  Result<ExtentSink::Placed> Write(std::uint64_t blocks, std::uint64_t seed) {
    const AlignedBuffer bytes = Pattern(blocks * kTestBlock, seed);
    const ByteView pieces[] = {bytes.View(0, kTestBlock), bytes.View(kTestBlock, (blocks - 1) * kTestBlock)};
    return sink->Write(cursor, Lifetime::kNotSet, pieces, ZoneTestRig::Soon());
  }
  bool LogWorks(std::uint64_t sequence) {
    TestJob job(5, sequence, 0, TestText(100, sequence), true);
    return log->Write(job.job).has_value();
  }
  std::unique_ptr<ExtentSink> sink;
  SinkCursor cursor;
};

TEST(LogExtentSinkTest, PayloadStandsOnABlockBoundaryBesideFramesOfLogs) {
  SharedRig rig(16, 16);
  for (std::uint64_t i = 1; i <= 12; ++i) {
    ASSERT_TRUE(rig.LogWorks(i));
    const auto placed = rig.Write(1 + i % 4, i);
    ASSERT_TRUE(placed);
    EXPECT_TRUE(IsMultiple(placed->place.value, kTestBlock));
    EXPECT_TRUE(IsMultiple(placed->length, kTestBlock));
    EXPECT_GT(placed->length, 0U);
    EXPECT_EQ(rig.ZoneOf(placed->place), rig.ZoneOf(placed->place + (placed->length - 1)));
    const auto found = ReadBack(rig.device, placed->place, placed->length);
    ASSERT_TRUE(found);
    EXPECT_TRUE(SameBytes(found->View(), Pattern((1 + i % 4) * kTestBlock, i).View(0, placed->length)));
  }
}

TEST(LogExtentSinkTest, WriteEndsWithItsZoneAndIsContinuedInTheNext) {
  SharedRig rig(16, 8);
  std::uint64_t left = 20;
  std::uint64_t writes = 0;
  while (left != 0) {
    const auto placed = rig.Write(std::max<std::uint64_t>(left, 1), 3);
    ASSERT_TRUE(placed);
    left -= placed->length / kTestBlock;
    ++writes;
  }
  EXPECT_GE(writes, 3U);
  EXPECT_LE(writes, 5U);
}

TEST(LogExtentSinkTest, ScanPassesOverPlainData) {
  SharedRig rig(16, 16);
  ASSERT_TRUE(rig.LogWorks(1));
  ASSERT_TRUE(rig.Write(3, 1));
  ASSERT_TRUE(rig.LogWorks(2));
  std::vector<std::uint64_t> sequences;
  const State state = rig.state();
  for (const auto& [zone, reservation] : state.log_zones()) {
    ScanLogZone(rig.device, rig.volume, reservation, ReportOf(rig.device, zone),
                [&](const ScannedFrame& frame) { sequences.push_back(frame.sequence); });
  }
  EXPECT_EQ(sequences, (std::vector<std::uint64_t>{1, 2}));
}

TEST(LogExtentSinkTest, DataStopsWithNoSpaceWhileTheLogGoesOn) {
  SharedRig rig(8, 8);
  std::vector<Extent> live;
  for (std::uint64_t i = 0;; ++i) {
    ASSERT_LT(i, 100U);
    const auto placed = rig.Write(4, i);
    if (!placed) {
      EXPECT_EQ(placed.error().code(), Code::kNoSpace);
      break;
    }
    live.push_back({0, placed->place, placed->length});
    rig.zones->AddLive({&live.back(), 1});
  }
  EXPECT_GE(live.size(), 6U);
  for (std::uint64_t i = 1; i <= 8; ++i) EXPECT_TRUE(rig.LogWorks(i)) << i;
  rig.zones->RemoveLive(live);
  rig.log->ReleaseDead();
  ASSERT_TRUE(rig.zones->Drain(ZoneTestRig::Soon()).ok());
  EXPECT_TRUE(rig.Write(4, 1)) << "deleting made no room";
}

TEST(LogExtentSinkTest, LiveDataKeepsTheLogZoneAndPinnedDataToo) {
  SharedRig rig(8, 4);
  auto placed = rig.Write(3, 1);  // with its header the whole zone
  ASSERT_TRUE(placed);
  const ZoneId zone = rig.ZoneOf(placed->place);
  rig.log->ReleaseDead();
  EXPECT_FALSE(rig.WasReleased(zone)) << "not committed yet";
  const Extent extent{0, placed->place, placed->length};
  rig.zones->AddLive({&extent, 1});
  placed->pin = ZonePin();
  rig.log->ReleaseDead();
  EXPECT_FALSE(rig.WasReleased(zone));
  rig.zones->RemoveLive({&extent, 1});
  rig.log->Poke();
  EXPECT_TRUE(rig.WaitUntilReleased(zone));
}

}  // namespace
}  // namespace zenfs
