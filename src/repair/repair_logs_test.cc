// Repairs the logs of volumes that lost commits: the repair uses what the frames prove, and nothing
// else.
#include "device/read_only_view.h"
#include "repair/repair.h"
#include "repair/repair_test_rig.h"

namespace zenfs {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class RepairLogsTest : public testing::Test {
 protected:
  // Damages the first commit of the newest generation and repairs it in one run.
  void ExpectALostCommitIsRepaired() {
    const auto frames = rig_.Scan().generations.back().frames;
    const auto commit = std::ranges::find(frames, FrameKind::kCommit, &MetadataFrame::kind);
    ASSERT_NE(commit, frames.end());
    rig_.Flip(*commit);
    MustRepair(rig_.device(), directory_);
    EXPECT_TRUE(CheckVolume(rig_.device(), {})->clean());
    EXPECT_TRUE(PlanRepair(rig_.device())->nothing_to_do());
  }

  void ExpectOnlyARepairAllowsWriting(const std::string& why) {
    const auto refused = Volume::Mount(Borrow(rig_.device()), {});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code(), Code::kCorruption);
    EXPECT_THAT(refused.error().text(), HasSubstr(why));
    EXPECT_TRUE(IsOk(Volume::Mount(MakeReadOnlyView(rig_.device()), {})));
    const auto report = CheckVolume(rig_.device(), {});
    ASSERT_TRUE(IsOk(report));
    EXPECT_THAT(report->findings, Contains(testing::Field(&Finding::text, HasSubstr(why))));
    EXPECT_FALSE(report->clean());
    MustRepair(rig_.device(), directory_);
    EXPECT_TRUE(CheckVolume(rig_.device(), {})->clean());
    EXPECT_TRUE(PlanRepair(rig_.device())->nothing_to_do());
    rig_.Session([](Volume&) {});
  }

  RepairRig rig_;
  TempDirectory directory_;
};

// The frames of a log need no commit except the one that allocated their zone.
TEST_F(RepairLogsTest, SyncedLogBytesSurviveTheLossOfAnyCommit) {
  for (const MetadataFrame& frame : rig_.CommitFrames()) {
    RepairRig rig = rig_.Copy();
    SCOPED_TRACE(fmt::format("commits {} to {}", frame.first_sequence, frame.last_sequence));
    rig.Flip(frame);
    MustRepair(rig.device(), directory_);
    EXPECT_TRUE(CheckVolume(rig.device(), {})->clean());
    const Files found = RepairRig::ReadAll(rig.device());
    for (const char* log : {"/db/5.log", "/db/20.log"}) {
      EXPECT_TRUE(std::ranges::any_of(found, [&](const auto& file) {
        return (file.first == log || file.first.starts_with("/lost+found/")) &&
               file.second == rig.files().at(log);
      })) << log;
    }
  }
}

// A frame is damaged, too, in a log that no commit names any more. The file in /lost+found has a
// gap, and check continues to report it.
TEST_F(RepairLogsTest, UnrecoverableBytesAreListedAsLosses) {
  DeviceOffset place;
  rig_.SessionThatDies([&](Volume& volume) {
    // So that the frames of the other log are not in a zone whose allocation shares a frame with its creation.
    rig_.Put(volume, "/db/29.log", "x");
    rig_.Put(volume, "/db/30.log", TextOf(30, 30'000));
    place = volume.Layout("/db/30.log")->frames.front().place;
  });
  bool rescued = false;
  for (const MetadataFrame& frame : rig_.CommitFrames()) {
    RepairRig rig = rig_.Copy();
    rig.FlipAt(place);
    rig.Flip(frame);
    const auto plan = PlanRepair(rig.device());
    ASSERT_TRUE(IsOk(plan));
    MustRepair(rig.device(), directory_);
    const auto report = CheckVolume(rig.device(), {});
    ASSERT_TRUE(IsOk(report));
    for (const Finding& finding : report->findings) {
      if (finding.severity != Severity::kError) continue;
      rescued = rescued || finding.text.find("lost+found") != std::string::npos;
      const std::size_t what = finding.text.find(": bytes");
      ASSERT_NE(what, std::string::npos) << finding.text;
      EXPECT_THAT(plan->losses, Contains(HasSubstr(finding.text.substr(what)))) << finding.text;
    }
  }
  EXPECT_TRUE(rescued);
}

// A valid checksum does not make the numbers of a frame credible.
TEST_F(RepairLogsTest, FramesWithImpossibleNumbersAreNotRescued) {
  rig_.WriteFrame({.payload_bytes = 10, .owner = kNumbersEnd + 7, .sequence = 1, .epoch = kNumbersEnd + 5});
  ExpectALostCommitIsRepaired();
}

// A frame without bytes far beyond the end, with a gap before it.
TEST_F(RepairLogsTest, ARescuedFileEndsWithItsLastByte) {
  rig_.WriteFrame(
      {.owner = 100'000, .sequence = 5, .file_offset = 1 << 30, .epoch = 1, .stable_sequence = 4});
  ExpectALostCommitIsRepaired();
}

// An epoch is durable before its first frame. A frame of an unknown epoch proves that commits are
// lost, even if the metadata log looks sound.
TEST_F(RepairLogsTest, AFrameOfAnUnknownEpochForbidsWritingUntilARepair) {
  std::uint64_t owner = 0;
  rig_.Session([&](Volume& volume) { owner = volume.Stat("/db/20.log")->id.value; });
  rig_.WriteFrame({.payload_bytes = 10, .owner = owner, .sequence = 100, .epoch = 1000});
  ExpectOnlyARepairAllowsWriting("mount epoch 1000");
  EXPECT_EQ(RepairRig::ReadAll(rig_.device()), rig_.files());
}

// A damaged last commit looks like one that a power loss cut off; only its effects prove that it
// was durable.
TEST_F(RepairLogsTest, ALostLastCommitIsFoundByItsEpochAndItsSyncedBytesAreRepaired) {
  const std::string path = "/db/20.log";
  rig_.SessionThatDies([&](Volume& volume) {
    auto file = volume.OpenForAppend(path, false);
    ASSERT_TRUE(IsOk(file));
    ASSERT_TRUE(IsOk((*file)->Append(AsBytes(std::string_view("synced later")))));
    ASSERT_TRUE(IsOk((*file)->Sync()));
  });
  const MetadataFrame last = rig_.Scan().generations.back().frames.back();
  ASSERT_EQ(last.kind, FrameKind::kCommit);
  rig_.Flip(last);
  ExpectOnlyARepairAllowsWriting("including the one that began epoch");
  Files files = rig_.files();
  files[path] += "synced later";
  EXPECT_EQ(RepairRig::ReadAll(rig_.device()), files);
}

// Found by the fuzz target repair.
TEST_F(RepairLogsTest, AnInvalidPlaceOfAppendBuffersForbidsWritingUntilARepair) {
  {
    const auto log = Metalog::Open(rig_.device(), rig_.superblock());
    ASSERT_TRUE(IsOk(log));
    ASSERT_TRUE(IsOk((*log)->Commit({SetBufferPlace{"nowhere"}})));
  }
  ExpectOnlyARepairAllowsWriting("\"nowhere\"");
  EXPECT_EQ(RepairRig::ReadAll(rig_.device()), rig_.files());
}

// From numbers this high on, too few are left to count.
TEST_F(RepairLogsTest, NumbersNearTheMaximumProveNothing) {
  std::uint64_t owner = 0;
  rig_.Session([&](Volume& volume) { owner = volume.Stat("/db/20.log")->id.value; });
  rig_.WriteFrame({.payload_bytes = 10, .owner = owner, .sequence = 100, .epoch = kNumbersEnd - 1});
  EXPECT_TRUE(PlanRepair(rig_.device())->nothing_to_do());
  EXPECT_TRUE(CheckVolume(rig_.device(), {})->clean());
  rig_.Session([&](Volume& volume) { rig_.Put(volume, "/db/40.log", "after"); });
  EXPECT_EQ(RepairRig::ReadAll(rig_.device()), rig_.files());
}

}  // namespace
}  // namespace zenfs
