// Writes, resets and finishes that fail, and zones that refuse writes: data zones, log zones and metadata zones.
#include <gmock/gmock.h>

#include <cctype>

#include "base/sync_point.h"
#include "testing/empty_zone.h"
#include "testing/random_bytes.h"
#include "volume/volume_fault_test_rig.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

// Only the letters and digits, which GoogleTest accepts in names.
std::string TestName(std::string_view text) {
  std::string name(text);
  std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
  return name;
}

class WriteFaultTest : public VolumeFaultTest {
 protected:
  static std::string Content(char c) { return std::string(5 * 4096 + 100, c); }
  void FailWritesTo(ZonePhase phase, Code code = Code::kIo, When when = When::kBefore) {
    for (const ZoneStatus& zone : volume_->Zones()) {
      if (zone.phase != phase) continue;
      faulty_->Inject(
          {.command = Command::kWrite, .times = kForEver, .zone = zone.id, .code = code, .when = when});
    }
  }
  void FailWritesOfData(Code code = Code::kIo) {
    for (const ZonePhase phase : {ZonePhase::kEmpty, ZonePhase::kActive}) FailWritesTo(phase, code);
  }
  void FailWritesOfLogs(Code code = Code::kIo) {
    for (const ZonePhase phase : {ZonePhase::kEmpty, ZonePhase::kLog}) FailWritesTo(phase, code);
  }
  std::vector<ZoneId> ActiveMetadataZones() { return ZonesOfTheLog(*volume_, *device_); }
  std::uint64_t ReportedBytes(ZoneId zone) { return device_->ReportZone(zone).value().write_pointer.value; }
  // Waits until the resets and finishes in progress have ended.
  bool Await(const std::function<bool()>& reached) {
    const Deadline deadline = Deadline::After(std::chrono::seconds(30));
    while (!reached() && !deadline.Passed()) SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
    return reached();
  }
};

class FailedWriteTest : public WriteFaultTest, public testing::WithParamInterface<FaultyDevice::When> {};

TEST_P(FailedWriteTest, OfDataRetiresTheZoneAndGoesToAnother) {
  Put("a.sst", Content('a'));
  const ZoneId zone = ZoneOf("a.sst");
  faulty_->Inject({.command = Command::kWrite, .zone = zone, .when = GetParam()});
  ASSERT_TRUE(IsOk(WriteFile("b.sst", Content('b'))));
  EXPECT_NE(ZoneOf("b.sst"), zone);
  EXPECT_EQ(volume_->Zones()[zone.value].phase, ZonePhase::kRetired);
  EXPECT_EQ(Get("a.sst"), Content('a')) << "valid data in the zone stays readable";
  const std::uint64_t written = ReportedBytes(zone);
  for (char c = 'c'; c < 'h'; ++c) ASSERT_TRUE(IsOk(WriteFile(std::string(1, c) + ".sst", Content(c))));
  const ZoneInfo now = device_->ReportZone(zone).value();
  EXPECT_TRUE(now.condition == ZoneCondition::kFull || now.write_pointer.value == written)
      << "it may be finished in the background, but no data that would fill it is written";
  RemountHealthy();
  for (char c = 'a'; c < 'h'; ++c) EXPECT_EQ(Get(std::string(1, c) + ".sst"), Content(c));
}

TEST_P(FailedWriteTest, OfALogGoesToAnotherZoneAndTheSyncSucceeds) {
  const auto log = Create("1.log");
  ASSERT_TRUE(IsOk(log->Append(AsBytes("first, "))));
  ASSERT_TRUE(IsOk(log->Sync()));
  faulty_->Inject({.command = Command::kWrite, .zone = ZoneOf("1.log"), .when = GetParam()});
  ASSERT_TRUE(IsOk(log->Append(AsBytes("second"))));
  ASSERT_TRUE(IsOk(log->Sync()));
  EXPECT_EQ(ReadAll(*log), "first, second");
  RemountHealthy();
  EXPECT_EQ(Get("1.log"), "first, second");
}

TEST_P(FailedWriteTest, OfTheMetadataLogMovesItToAnotherZone) {
  Put("a.sst", Content('a'));
  const std::uint64_t switches = volume_->counters().metalog.switches;
  for (const ZoneId zone : ActiveMetadataZones()) {
    faulty_->Inject({.command = Command::kWrite, .zone = zone, .when = GetParam()});
  }
  EXPECT_FALSE(volume_->MakeDirectory("refused", false).ok());
  EXPECT_EQ(volume_->counters().metalog.switches, switches + 1);
  EXPECT_TRUE(IsOk(volume_->MakeDirectory("made", false)));
  EXPECT_EQ(CodeOf(volume_->Stat("refused")), Code::kNotFound);
  RemountHealthy();
  EXPECT_EQ(CodeOf(volume_->Stat("refused")), Code::kNotFound);
  EXPECT_TRUE(IsOk(volume_->Stat("made")));
  EXPECT_EQ(Get("a.sst"), Content('a'));
}

std::string NameOf(FaultyDevice::When when) {
  if (when == FaultyDevice::When::kBefore) return "NothingWritten";
  return when == FaultyDevice::When::kAfter ? "AllWritten" : "PartWritten";
}

INSTANTIATE_TEST_SUITE_P(All, FailedWriteTest,
                         testing::Values(FaultyDevice::When::kBefore, FaultyDevice::When::kAfter,
                                         FaultyDevice::When::kPartly),
                         [](const auto& test) { return NameOf(test.param); });

TEST_F(WriteFaultTest, DataThatNoZoneTakesFailsThatFileForGoodAndNoOther) {
  Put("a.sst", Content('a'));
  const auto lost = Create("lost.sst");
  ASSERT_TRUE(IsOk(lost->Append(AsBytes(Content('l')))));
  FailWritesOfData();
  const Status failed = lost->Sync();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), Code::kIo);
  EXPECT_THAT(failed.error().text(), HasSubstr("to zone "));
  faulty_->ClearFaults();
  EXPECT_FALSE(lost->Sync().ok());
  EXPECT_FALSE(lost->Append(AsBytes("more")).ok());
  EXPECT_FALSE(lost->Close().ok());
  EXPECT_EQ(Get("a.sst"), Content('a'));
  EXPECT_TRUE(IsOk(WriteFile("b.sst", Content('b'))));
  RemountHealthy();
  EXPECT_EQ(CodeOf(volume_->Stat("lost.sst")), Code::kNotFound);
  EXPECT_EQ(Get("b.sst"), Content('b'));
}

TEST_F(WriteFaultTest, LogThatNoZoneTakesIsPlacedByTheNextSyncAndOtherLogsGoOn) {
  const auto log = Create("1.log");
  ASSERT_TRUE(IsOk(log->Append(AsBytes("synced"))));
  ASSERT_TRUE(IsOk(log->Sync()));
  FailWritesOfLogs();
  ASSERT_TRUE(IsOk(log->Append(AsBytes(", late"))));
  const Status failed = log->Sync();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), Code::kIo);
  EXPECT_THAT(failed.error().text(), HasSubstr("log zone "));
  EXPECT_FALSE(log->Sync().ok()) << "the retry fails too";
  EXPECT_EQ(Get("1.log"), "synced, late") << "the bytes stay in memory";
  faulty_->ClearFaults();
  EXPECT_TRUE(IsOk(WriteFile("2.log", "next")));
  ASSERT_TRUE(IsOk(log->Sync()));
  ASSERT_TRUE(IsOk(log->Append(AsBytes(", more"))));
  ASSERT_TRUE(IsOk(log->Close()));
  RemountHealthy();
  EXPECT_EQ(Get("1.log"), "synced, late, more");
  EXPECT_EQ(Get("2.log"), "next");
}

TEST_F(WriteFaultTest, UnmountWritesWhatALogCouldNotPlace) {
  const auto log = Create("1.log");
  ASSERT_TRUE(IsOk(log->Append(AsBytes("synced"))));
  ASSERT_TRUE(IsOk(log->Sync()));
  FailWritesOfLogs();
  ASSERT_TRUE(IsOk(log->Append(AsBytes(", late"))));
  EXPECT_FALSE(log->Sync().ok());
  faulty_->ClearFaults();
  EXPECT_TRUE(IsOk(volume_->Unmount()));
  RemountHealthy();
  EXPECT_EQ(Get("1.log"), "synced, late");
}

TEST_F(WriteFaultTest, WithoutAMetadataZoneTheVolumeIsReadOnlyAndReadable) {
  WarmUpLog();
  Put("a.sst", Content('a'));
  Put("1.log", "log");
  FailWritesTo(ZonePhase::kMetadata);
  EXPECT_EQ(CodeOf(volume_->MakeDirectory("first", false)), Code::kUnknownOutcome);
  const Status refused = volume_->MakeDirectory("second", false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kReadOnly);
  EXPECT_THAT(refused.error().text(), HasSubstr("unmount, check the device, and mount again"));
  EXPECT_THAT(refused.error().text(), HasSubstr("; the last write failed: "));
  EXPECT_EQ(volume_->health().error().code(), Code::kReadOnly);
  EXPECT_EQ(CodeOf(volume_->Unlink("a.sst")), Code::kReadOnly);
  EXPECT_EQ(CodeOf(volume_->Create("b.sst")), Code::kReadOnly);
  EXPECT_EQ(Get("a.sst"), Content('a'));
  EXPECT_EQ(Get("1.log"), "log");
  EXPECT_FALSE(volume_->Unmount().ok()) << "it reports that the volume was read-only";
  RemountHealthy();
  EXPECT_EQ(Get("a.sst"), Content('a'));
  EXPECT_TRUE(IsOk(WriteFile("b.sst", Content('b'))));
}

// The deletion of a file that was never durable needs no commit, but this file may be durable.
TEST_F(WriteFaultTest, DeletingAFileWhoseFirstCommitHasAnUnknownOutcomeFails) {
  WarmUpLog();
  const std::unique_ptr<FileHandle> file = Create("a.sst");
  ASSERT_TRUE(IsOk(file->Append(AsBytes(Content('a')))));
  FailWritesTo(ZonePhase::kMetadata, Code::kIo, When::kAfter);
  EXPECT_EQ(CodeOf(file->Sync()), Code::kUnknownOutcome);
  EXPECT_EQ(CodeOf(volume_->Unlink("a.sst")), Code::kReadOnly);
  RemountHealthy();
  EXPECT_EQ(Get("a.sst"), Content('a')) << "this was not about a commit that is there";
}

// The next mount finds the file shorter, and would look for more frames from its end on.
TEST_F(WriteFaultTest, LogWhoseTruncationHasAnUnknownOutcomeTakesNoMore) {
  WarmUpLog();
  const std::unique_ptr<FileHandle> log = Create("1.log");
  ASSERT_TRUE(IsOk(log->Append(AsBytes("0123456789"))));
  ASSERT_TRUE(IsOk(log->Sync()));
  FailWritesTo(ZonePhase::kMetadata, Code::kIo, When::kAfter);
  EXPECT_EQ(CodeOf(log->Truncate(4)), Code::kUnknownOutcome);
  EXPECT_EQ(CodeOf(log->Append(AsBytes("more"))), Code::kUnknownOutcome);
  RemountHealthy();
  EXPECT_EQ(Get("1.log"), "0123") << "this was not about a commit that is there";
}

// The last metadata zone carries out the commit of a move and reports a failure; the next mount finds the commit.
TEST_F(WriteFaultTest, WhatACommitOfUnknownOutcomePointsToIsNotReset) {
  WarmUpLog();
  const std::string content = RandomBytes(768 << 10, 1);  // one zone
  Put("a.sst", content);
  const auto zone_of_a = [this] {
    return device_->geometry().ZoneOf(volume_->Layout("a.sst")->extents.front().place);
  };
  const ZoneId from = zone_of_a();
  FailWritesTo(ZonePhase::kMetadata, Code::kIo, When::kAfter);
  EXPECT_EQ(CodeOf(EmptyZone(*volume_, from)), Code::kUnknownOutcome);
  for (const ZoneStatus& zone : volume_->Zones())
    EXPECT_NE(zone.phase, ZonePhase::kDead) << "zone " << zone.id.value << " will be reset";
  RemountHealthy();
  EXPECT_NE(zone_of_a(), from) << "this was not about a commit that is there";
  EXPECT_TRUE(Get("a.sst") == content);
}

class EndedZoneTest : public WriteFaultTest, public testing::WithParamInterface<ZoneCondition> {};

TEST_P(EndedZoneTest, OfTheMetadataLogIsLeftForAnother) {
  Put("a.sst", Content('a'));
  for (const ZoneId zone : ActiveMetadataZones()) {
    ASSERT_TRUE(IsOk(device_->SetCondition(zone, GetParam())));
  }
  EXPECT_TRUE(IsOk(volume_->MakeDirectory("made", false)));
  EXPECT_EQ(Get("a.sst"), Content('a'));
  EXPECT_TRUE(IsOk(volume_->health()));
  RemountHealthy();
  EXPECT_TRUE(IsOk(volume_->Stat("made")));
  EXPECT_EQ(Get("a.sst"), Content('a'));
}

TEST_P(EndedZoneTest, OfTheLogIsLeftForAnother) {
  const auto log = Create("1.log");
  ASSERT_TRUE(IsOk(log->Append(AsBytes("first, "))));
  ASSERT_TRUE(IsOk(log->Sync()));
  const auto other = Create("2.log");
  const ZoneId zone = ZoneOf("1.log");
  ASSERT_TRUE(IsOk(device_->SetCondition(zone, GetParam())));
  ASSERT_TRUE(IsOk(log->Append(AsBytes("second"))));
  ASSERT_TRUE(IsOk(log->Sync()));
  ASSERT_TRUE(IsOk(other->Append(AsBytes("other"))));
  ASSERT_TRUE(IsOk(other->Sync()));
  EXPECT_EQ(ReadAll(*other), "other");
  if (GetParam() == ZoneCondition::kOffline) {
    EXPECT_FALSE(ReadFile("1.log").ok()) << "its first bytes are lost";
    ASSERT_TRUE(IsOk(volume_->Unlink("1.log")));
  } else {
    EXPECT_EQ(ReadAll(*log), "first, second");
  }
}

TEST_P(EndedZoneTest, OfDataIsLeftForAnother) {
  Put("a.sst", Content('a'));
  const ZoneId zone = ZoneOf("a.sst");
  ASSERT_TRUE(IsOk(device_->SetCondition(zone, GetParam())));
  for (char c = 'b'; c < 'f'; ++c) ASSERT_TRUE(IsOk(WriteFile(std::string(1, c) + ".sst", Content(c))));
  EXPECT_EQ(ReadFile("a.sst").ok(), GetParam() != ZoneCondition::kOffline);
  for (char c = 'b'; c < 'f'; ++c) {
    EXPECT_EQ(Get(std::string(1, c) + ".sst"), Content(c));
    EXPECT_NE(ZoneOf(std::string(1, c) + ".sst"), zone);
  }
  EXPECT_TRUE(IsOk(volume_->Unlink("a.sst"))) << "the rest of the volume works";
}

INSTANTIATE_TEST_SUITE_P(All, EndedZoneTest,
                         testing::Values(ZoneCondition::kReadOnly, ZoneCondition::kOffline,
                                         ZoneCondition::kFull),
                         [](const auto& test) { return TestName(ConditionName(test.param)); });

// Whatever error a zone that refuses writes returns, the volume is neither read-only nor unmounted. RocksDB resumes only
// after I/O errors.
class RefusedWriteTest : public WriteFaultTest, public testing::WithParamInterface<Code> {};

TEST_P(RefusedWriteTest, OfDataByEveryZoneIsAnIoError) {
  FailWritesOfData(GetParam());
  EXPECT_EQ(CodeOf(WriteFile("lost.sst", Content('l'))), Code::kIo);
  faulty_->ClearFaults();
  EXPECT_TRUE(IsOk(WriteFile("a.sst", Content('a'))));
}

TEST_P(RefusedWriteTest, OfALogByEveryZoneIsAnIoErrorAndTheNextSyncSucceeds) {
  const auto log = Create("1.log");
  ASSERT_TRUE(IsOk(log->Append(AsBytes("late"))));
  FailWritesOfLogs(GetParam());
  EXPECT_EQ(CodeOf(log->Sync()), Code::kIo);
  faulty_->ClearFaults();
  EXPECT_TRUE(IsOk(log->Sync()));
  EXPECT_EQ(Get("1.log"), "late");
}

TEST_P(RefusedWriteTest, OfTheMetadataLogIsTakenByAnotherZoneOrAnIoErrorAndTheNextCommitSucceeds) {
  for (const ZoneId zone : ActiveMetadataZones()) {
    faulty_->Inject({.command = Command::kWrite, .zone = zone, .code = GetParam()});
  }
  const Status made = volume_->MakeDirectory("perhaps", false);
  const bool zone_is_at_fault = GetParam() == Code::kReadOnly || GetParam() == Code::kNotFound;
  if (zone_is_at_fault) {
    EXPECT_TRUE(IsOk(made)) << "another zone is used";
  } else {
    EXPECT_EQ(CodeOf(made), Code::kIo);
  }
  EXPECT_TRUE(IsOk(volume_->MakeDirectory("made", false)));
}

TEST_P(RefusedWriteTest, AFlushByTheDeviceIsAnIoErrorAndTheNextSyncSucceeds) {
  const auto log = Create("1.log");
  ASSERT_TRUE(IsOk(log->Append(AsBytes("late"))));
  faulty_->Inject({.command = Command::kFlush, .code = GetParam()});
  EXPECT_EQ(CodeOf(log->Sync()), Code::kIo);
  EXPECT_TRUE(IsOk(log->Sync()));
}

INSTANTIATE_TEST_SUITE_P(All, RefusedWriteTest,
                         testing::Values(Code::kReadOnly, Code::kNotFound, Code::kUnknownOutcome,
                                         Code::kPermission, Code::kInvalidArgument, Code::kTimedOut),
                         [](const auto& test) { return TestName(CodeName(test.param)); });

TEST_F(WriteFaultTest, ResetThatFailsCostsTheZoneAndNoDelete) {
  Put("a.sst", std::string(768 << 10, 'a'));
  const ZoneId zone = ZoneOf("a.sst");
  const std::uint64_t lost = volume_->Space().lost;
  faulty_->Inject({.command = Command::kReset, .times = kForEver, .zone = zone});
  EXPECT_TRUE(IsOk(volume_->Unlink("a.sst")));
  ASSERT_TRUE(Await([&] { return volume_->Zones()[zone.value].phase == ZonePhase::kRetired; }));
  EXPECT_EQ(faulty_->count(Command::kReset), 1u);
  EXPECT_GT(volume_->Space().lost, lost) << "the zone counts as lost";
  EXPECT_TRUE(IsOk(WriteFile("b.sst", Content('b'))));
  EXPECT_EQ(Get("b.sst"), Content('b'));
  RemountHealthy();
  EXPECT_TRUE(Await([&] { return volume_->Zones()[zone.value].phase == ZonePhase::kEmpty; }))
      << "the write is tried again";
}

TEST_F(WriteFaultTest, FinishThatFailsHoldsNobodyUp) {
  Put("a.sst", Content('a'));
  const ZoneId zone = ZoneOf("a.sst");
  faulty_->Inject({.command = Command::kFinish, .times = kForEver});
  faulty_->Inject({.command = Command::kWrite, .zone = zone});
  ASSERT_TRUE(IsOk(WriteFile("b.sst", Content('b'))));
  ASSERT_TRUE(Await([&] { return faulty_->count(Command::kFinish) == 1; }));
  EXPECT_EQ(Get("a.sst"), Content('a'));
  EXPECT_TRUE(IsOk(volume_->Unlink("a.sst")));
  EXPECT_TRUE(IsOk(volume_->Unmount()));
}

TEST_F(WriteFaultTest, ARemovalOfATreeThatIsInterruptedLeavesAValidTreeAndCanBeRepeated) {
  IgnoreError(volume_->Unmount());
  volume_.reset();
  ASSERT_TRUE(IsOk(MakeDeepTree(*device_, 5000)));
  MountFaulty();
  int steps = 0;
  {
    SyncPoint::Scope scope([&](std::string_view name) {
      if (name == "Namespace::RemoveTree:planned" && ++steps == 3) faulty_->Unplug();
    });
    EXPECT_FALSE(volume_->RemoveTree("d").ok());
  }
  EXPECT_EQ(steps, 3);
  RemountHealthy();
  EXPECT_FALSE(volume_->List("d")->empty());
  EXPECT_TRUE(IsOk(volume_->RemoveTree("d")));
  EXPECT_EQ(CodeOf(volume_->Stat("d")), Code::kNotFound);
}

}  // namespace
}  // namespace zenfs
