// CommitPath with a metadata log whose answers the test sets.
#include "open/commit_path.h"

#include <gtest/gtest.h>

#include <optional>

#include "metrics/metrics_snapshot.h"
#include "zone/zone_test_rig.h"

namespace zenfs {
namespace {

class ToldMetalog final : public Metalog {
 public:
  const State& recovered() const override { return state_; }
  void SetSink(CommitSink*) override {}
  void SetMetrics(Metrics*) override {}
  Status Commit(std::vector<Edit>, CommitOptions) override { return answer; }
  Status CheckRoom(std::uint64_t bytes) const override {
    return bytes <= room ? Status() : Fail(Code::kNoSpace, "the metadata zones are full");
  }
  Status Switch() override { return {}; }
  std::vector<ZoneId> zones() const override { return {}; }
  std::uint32_t ClaimWantedZones() override { return 0; }
  void AddZones(std::span<const ZoneInfo>) override {}
  std::vector<ZoneId> TakeFreedZones() override { return {}; }
  void AwaitSwitch() override {}
  void Stop() override {}
  Status health() const override { return answer; }
  MetalogStats stats() const override { return {}; }

  Status answer;
  std::uint64_t room = 1 << 20;

 private:
  State state_;
};

class CommitPathTest : public testing::Test {
 protected:
  CommitPathTest() {
    rig_.Mount();
    commits_.emplace(metalog_, *rig_.zones, metrics_);
  }
  // Commits while a zone is full of live data, then lets the data die. Returns true if the zone is reset.
  bool IsResetAfter(const Status& answer) {
    SinkCursor cursor;
    const auto extents = rig_.WriteLive(cursor, Lifetime::kShort, kBlocks);
    EXPECT_TRUE(extents);
    const ZoneId zone = rig_.ZoneOf(extents->front());
    metalog_.answer = answer;
    EXPECT_EQ(commits_->Commit({RaiseCounters{0, 2}}).ok(), answer.ok());
    rig_.zones->RemoveLive(*extents);
    IgnoreError(rig_.zones->operations().Drain(ZoneTestRig::Soon()));
    return rig_.device.ReportZone(zone).value().condition == ZoneCondition::kEmpty;
  }

  static constexpr std::uint64_t kBlocks = 16;
  ZoneTestRig rig_{TestGeometry(8, kBlocks)};
  ToldMetalog metalog_;
  Metrics metrics_;
  std::optional<CommitPath> commits_;
};

TEST_F(CommitPathTest, DeadZonesAreResetBehindACommitThatWorkedOrFailedForSure) {
  EXPECT_TRUE(IsResetAfter({}));
  EXPECT_TRUE(IsResetAfter(Fail(Code::kIo, "not committed")));
}

TEST_F(CommitPathTest, NoZoneIsResetBehindACommitOfUnknownOutcome) {
  EXPECT_FALSE(IsResetAfter(Fail(Code::kUnknownOutcome, "the device does not answer")));
}

TEST_F(CommitPathTest, HealthIsThatOfTheMetadataLog) {
  EXPECT_TRUE(commits_->health().ok());
  metalog_.answer = Fail(Code::kReadOnly, "no metadata zone can be written");
  EXPECT_EQ(commits_->health().error().code(), Code::kReadOnly);
}

TEST_F(CommitPathTest, RoomIsAskedForEachExtentThatACommitWouldName) {
  metalog_.room = 100'000;
  EXPECT_TRUE(commits_->CheckRoomForExtents(1000).ok());
  EXPECT_EQ(commits_->CheckRoomForExtents(2000).error().code(), Code::kNoSpace);
}

TEST_F(CommitPathTest, CommitsAreCountedAndFailedOnesAsErrors) {
  EXPECT_TRUE(commits_->Commit({}).ok());
  metalog_.answer = Fail(Code::kIo, "not committed");
  EXPECT_FALSE(commits_->Commit({}).ok());
  const auto counted = DecodeMetrics(metrics_.page());
  ASSERT_TRUE(counted);
  EXPECT_EQ((*counted)[Operation::kMetaSync].count, 2U);
  EXPECT_EQ((*counted)[Operation::kMetaSync].errors, 1U);
}

}  // namespace
}  // namespace zenfs
