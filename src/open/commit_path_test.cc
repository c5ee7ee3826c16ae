// CommitPath with a metadata log on a device of its own, whose commands the test lets fail.
#include "open/commit_path.h"

#include <gtest/gtest.h>

#include <optional>

#include "metalog/metalog_test_util.h"
#include "metrics/metrics_snapshot.h"
#include "testing/faulty_device.h"
#include "zone/zone_test_rig.h"

namespace zenfs::commit_path_test {
namespace {

constexpr std::uint32_t kMetadataZones = 3;

class CommitPathTest : public testing::Test {
 protected:
  CommitPathTest() {
    rig_.Mount();
    EXPECT_TRUE(Formatted(log_device_, kMetadataZones).ok());
    metalog_ = MustOpen(log_device_, kMetadataZones);
    commits_.emplace(*metalog_, *rig_.zones, metrics_);
  }
  Status Commit() { return commits_->Commit({RaiseCounters{0, 2}}); }
  void FailWrites(std::uint64_t times) { log_device_.Inject({.times = times}); }
  // Commits while a zone is full of live data, then lets the data die. Returns true if the zone is reset.
  bool IsResetAfter(std::optional<Code> error) {
    SinkCursor cursor;
    const auto extents = rig_.WriteLive(cursor, Lifetime::kShort, kBlocks);
    EXPECT_TRUE(extents);
    const ZoneId zone = rig_.ZoneOf(extents->front());
    const Status committed = Commit();
    EXPECT_EQ(committed.ok() ? std::nullopt : std::optional(committed.error().code()), error);
    rig_.zones->RemoveLive(*extents);
    IgnoreError(rig_.zones->DrainResets(ZoneTestRig::Soon()));
    return rig_.device.ReportZone(zone).value().condition == ZoneCondition::kEmpty;
  }

  static constexpr std::uint64_t kBlocks = 16;
  ZoneTestRig rig_{TestGeometry(8, kBlocks)};
  FaultyDevice log_device_{CreateMemoryDevice(SmallGeometry(256 << 10))};
  std::unique_ptr<Metalog> metalog_;
  Metrics metrics_;
  std::optional<CommitPath> commits_;
};

TEST_F(CommitPathTest, DeadZonesAreResetBehindACommitThatWorkedOrFailedForSure) {
  EXPECT_TRUE(IsResetAfter(std::nullopt));
  FailWrites(1);  // the log switch works
  EXPECT_TRUE(IsResetAfter(Code::kIo));
}

TEST_F(CommitPathTest, NoZoneIsResetBehindACommitOfUnknownOutcome) {
  FailWrites(FaultyDevice::kForEver);
  EXPECT_FALSE(IsResetAfter(Code::kUnknownOutcome));
}

TEST_F(CommitPathTest, HealthIsThatOfTheMetadataLog) {
  EXPECT_TRUE(commits_->health().ok());
  FailWrites(FaultyDevice::kForEver);
  EXPECT_FALSE(Commit().ok());
  EXPECT_EQ(commits_->health().error().code(), Code::kReadOnly);
}

// The log has room for about 115,000 more bytes.
TEST_F(CommitPathTest, RoomIsAskedForEachExtentThatACommitWouldName) {
  EXPECT_TRUE(commits_->CheckRoomForExtents(1000).ok());
  EXPECT_EQ(commits_->CheckRoomForExtents(2000).error().code(), Code::kNoSpace);
}

TEST_F(CommitPathTest, CommitsAreCountedAndFailedOnesAsErrors) {
  EXPECT_TRUE(Commit().ok());
  FailWrites(1);
  EXPECT_FALSE(Commit().ok());
  const auto counted = DecodeMetrics(metrics_.page());
  ASSERT_TRUE(counted);
  EXPECT_EQ((*counted)[Operation::kMetaSync].count, 2U);
  EXPECT_EQ((*counted)[Operation::kMetaSync].errors, 1U);
}

}  // namespace
}  // namespace zenfs::commit_path_test
