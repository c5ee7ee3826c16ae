// Faults of the device while the metadata log is written, and a torn tail.
#include <gmock/gmock.h>

#include <cstring>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/sync_point.h"
#include "device/guarded_device.h"
#include "format/frame.h"
#include "metalog/metalog_test_util.h"
#include "testing/crash_device.h"
#include "testing/faulty_device.h"

namespace zenfs::metalog_fault_test {
namespace {

using ::testing::HasSubstr;
using Command = FaultyDevice::Command;
using When = FaultyDevice::When;

constexpr std::uint32_t kZones = 4;

class MetalogFaultTest : public ::testing::Test {
 protected:
  MetalogFaultTest() : device_(CreateMemoryDevice(SmallGeometry(256 << 10))) {
    EXPECT_TRUE(Formatted(device_, kZones).ok());
    log_ = MustOpen(device_, kZones);
    EXPECT_TRUE(log_->Commit(CreateNamed(kFirstTestId)).ok());
  }
  // Mounts again without faults and returns the state.
  State Found() {
    log_.reset();
    device_.ClearFaults();
    const auto log = MustOpen(device_, kZones);
    return log ? log->recovered() : State();
  }

  FaultyDevice device_;
  std::unique_ptr<Metalog> log_;
};

// D6: an I/O error on a metadata write must not cost the good zone.
TEST_F(MetalogFaultTest, FailedWriteIsNotCommittedAndTheNextOneIs) {
  for (const When when : {When::kBefore, When::kAfter}) {
    const std::uint64_t id = kFirstTestId + (when == When::kBefore ? 10 : 20);
    device_.Inject({.command = Command::kWrite, .when = when});
    const Status failed = log_->Commit(CreateNamed(id));
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code(), Code::kIo);
    EXPECT_THAT(failed.error().text(), HasSubstr("not committed"));
    ZENFS_ASSERT_OK(log_->Commit(CreateNamed(id + 1)));
  }
  EXPECT_EQ(log_->stats().switches, 2u);
  const State found = Found();
  EXPECT_TRUE(HasFile(found, kFirstTestId));
  EXPECT_FALSE(HasFile(found, kFirstTestId + 10));
  EXPECT_FALSE(HasFile(found, kFirstTestId + 20));
  EXPECT_TRUE(HasFile(found, kFirstTestId + 11));
  EXPECT_TRUE(HasFile(found, kFirstTestId + 21));
}

TEST_F(MetalogFaultTest, CommitWaitsForAFreeSlot) {
  const std::uint64_t switches = log_->stats().switches;
  const std::uint64_t writes = device_.count(Command::kWrite);
  device_.Inject({.command = Command::kWrite, .times = 5, .code = Code::kBusy});
  ZENFS_ASSERT_OK(log_->Commit(CreateNamed(kFirstTestId + 1)));
  EXPECT_EQ(device_.count(Command::kWrite), writes + 5 + 1);
  EXPECT_EQ(log_->stats().switches, switches) << "the outcome was known";
  EXPECT_TRUE(HasFile(Found(), kFirstTestId + 1));
}

TEST_F(MetalogFaultTest, FailedFlushAfterTheWriteIsFenced) {
  device_.Inject({.command = Command::kFlush});
  EXPECT_EQ(log_->Commit(CreateNamed(kFirstTestId + 1)).error().code(), Code::kIo);
  ZENFS_ASSERT_OK(log_->Commit(CreateNamed(kFirstTestId + 2)));
  const State found = Found();
  EXPECT_FALSE(HasFile(found, kFirstTestId + 1));
  EXPECT_TRUE(HasFile(found, kFirstTestId + 2));
}

TEST_F(MetalogFaultTest, FailedFlushOfTheDataNeedsNoSwitch) {
  device_.Inject({.command = Command::kFlush});
  EXPECT_EQ(log_->Commit(CreateNamed(kFirstTestId + 1), CommitOptions{.data_since = FlushMark::AtOpen()})
                .error()
                .code(),
            Code::kIo);
  EXPECT_EQ(log_->stats().switches, 0u);
  ZENFS_ASSERT_OK(
      log_->Commit(CreateNamed(kFirstTestId + 1), CommitOptions{.data_since = FlushMark::AtOpen()}));
}

TEST_F(MetalogFaultTest, PermanentWriteErrorsMakeTheLogReadOnly) {
  device_.Inject({.command = Command::kWrite, .times = 1000});
  const Status unknown = log_->Commit(CreateNamed(kFirstTestId + 1));
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code(), Code::kUnknownOutcome);
  EXPECT_EQ(log_->Commit(CreateNamed(kFirstTestId + 2)).error().code(), Code::kReadOnly);
  EXPECT_EQ(log_->health().error().code(), Code::kReadOnly);
  EXPECT_TRUE(HasFile(Found(), kFirstTestId));
}

// The SwitchComplete has an unknown outcome and its zone can't be reset. If that zone stayed active as a third one, data
// and logs would wait forever for a slot.
class MetalogSlots : public ::testing::Test {
 protected:
  // Without the copies of the superblock, so that no target zone needs a reset.
  MetalogSlots() : device_(CreateMemoryDevice(FourSlots())) {
    EXPECT_TRUE(Formatted(device_, kZones).ok());
    for (std::uint32_t zone = 1; zone < kZones; ++zone) EXPECT_TRUE(device_.Reset(ZoneId(zone)).ok());
  }

  static EmulatorGeometry FourSlots() {
    EmulatorGeometry geometry = SmallGeometry(256 << 10);
    geometry.max_open = geometry.max_active = 4;
    return geometry;
  }
  // `finish_fails`: no zone can be finished either.
  void SwitchTwice(bool finish_fails) {
    const auto log = MustOpen(device_, kZones);
    device_.Inject({.command = Command::kWrite});  // the commit: the log is fenced and a log switch begins
    device_.Inject(
        {.command = Command::kFlush, .kth = 3});  // after the SwitchComplete: retried in another zone
    device_.Inject({.command = Command::kReset, .times = 10});
    if (finish_fails) device_.Inject({.command = Command::kFinish, .times = 10});
    EXPECT_FALSE(log->Commit(CreateNamed(kFirstTestId)).ok());
    ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + 1)));
  }
  std::ptrdiff_t active() {
    const auto report = device_.Report(ZoneId(0), kZones);
    return std::ranges::count_if(*report, [](const ZoneInfo& zone) { return IsActive(zone.condition); });
  }

  FaultyDevice device_;
};

TEST_F(MetalogSlots, ASwitchLeavesAtMostTwoZonesActive) {
  SwitchTwice(false);
  EXPECT_LE(active(), 2);
}

TEST_F(MetalogSlots, AMountLeavesAtMostTwoZonesActive) {
  SwitchTwice(true);
  ASSERT_EQ(active(), 3);
  device_.ClearFaults();
  const auto log = MustOpen(device_, kZones);
  EXPECT_LE(active(), 2);
  EXPECT_TRUE(HasFile(log->recovered(), kFirstTestId + 1));
  EXPECT_FALSE(HasFile(log->recovered(), kFirstTestId));
}

TEST_F(MetalogFaultTest, ZoneThatEndsEarlyIsNoError) {
  device_.Inject({.command = Command::kWrite, .code = Code::kZoneFull});
  ZENFS_ASSERT_OK(log_->Commit(CreateNamed(kFirstTestId + 1)));
  EXPECT_EQ(log_->stats().switches, 1u);
  EXPECT_TRUE(HasFile(Found(), kFirstTestId + 1));
}

TEST_F(MetalogFaultTest, TargetThatFailsIsReplacedByAnother) {
  device_.Inject({.command = Command::kWrite, .times = 1000, .zone = ZoneId(1)});
  ZENFS_ASSERT_OK(log_->Switch());
  ZENFS_ASSERT_OK(log_->Commit(CreateNamed(kFirstTestId + 1)));
  ZENFS_ASSERT_OK(log_->Switch());
  EXPECT_TRUE(HasFile(Found(), kFirstTestId + 1));
}

// D6 of docs/internals/failures.md.
// Simulator, seed 3062: deletions failed for good, because each zone had failed one reset.
TEST_F(MetalogFaultTest, ZonesAreUsedAgainOnceTheyCanBeReset) {
  device_.Inject({.command = Command::kReset, .times = FaultyDevice::kForEver});
  Status failed;
  for (std::uint32_t i = 0; failed.ok() && i < kZones; ++i) failed = log_->Switch();
  ASSERT_FALSE(failed.ok()) << "all empty zones are written";
  EXPECT_EQ(failed.error().code(), Code::kNoSpace);
  device_.ClearFaults();
  ZENFS_ASSERT_OK(log_->Switch());
  ZENFS_ASSERT_OK(log_->Commit(UnlinkNamed(kFirstTestId)));
  EXPECT_FALSE(HasFile(Found(), kFirstTestId));
}

TEST_F(MetalogFaultTest, ResetIsTriedAgainAtOnce) {
  for (int i = 0; i < 2 * static_cast<int>(kZones); ++i) {
    device_.Inject({.command = Command::kReset, .times = 2});
    ZENFS_ASSERT_OK(log_->Switch());
  }
}

TEST_F(MetalogFaultTest, FailedSwitchLeavesTheOldGenerationInUse) {
  for (std::uint32_t zone = 1; zone < kZones; ++zone) {
    device_.Inject({.command = Command::kWrite, .times = 1000, .zone = ZoneId(zone)});
  }
  EXPECT_FALSE(log_->Switch().ok());
  EXPECT_TRUE(log_->health().ok());
  // No second zone is left for a log switch, so only commits that shrink the state are accepted.
  const Status grows = log_->Commit(CreateNamed(kFirstTestId + 1));
  ASSERT_FALSE(grows.ok());
  EXPECT_EQ(grows.error().code(), Code::kNoSpace);
  EXPECT_THAT(grows.error().text(), HasSubstr("only 1 of 4 metadata zones can be written"));
  ZENFS_ASSERT_OK(log_->Commit(UnlinkNamed(kFirstTestId)));
  EXPECT_FALSE(HasFile(Found(), kFirstTestId));
}

// If the outcome of a SwitchComplete is unknown, commits go to a third generation: a mount might ignore the old one or the
// new one.
TEST_F(MetalogFaultTest, SwitchCompleteOfUnknownOutcomeIsFenced) {
  for (const When when : {When::kBefore, When::kAfter}) {
    // In a log switch of a small state: superblock with header, snapshot, SwitchComplete.
    const MetalogStats before = log_->stats();
    const std::uint32_t target = when == When::kBefore ? 1 : 3;
    device_.Inject({.command = Command::kWrite, .kth = 3, .zone = ZoneId(target), .when = when});
    ZENFS_ASSERT_OK(log_->Switch());
    EXPECT_EQ(log_->stats().switches, before.switches + 1);
    EXPECT_EQ(log_->stats().generation, before.generation + 2);
    ZENFS_ASSERT_OK(log_->Commit(CreateNamed(kFirstTestId + target)));
  }
  const State found = Found();
  EXPECT_TRUE(HasFile(found, kFirstTestId + 1));
  EXPECT_TRUE(HasFile(found, kFirstTestId + 3));
}

// A successful flush does not prove that frames survived an earlier failed flush.
TEST_F(MetalogFaultTest, SnapshotIsRewrittenAfterAFailedFlush) {
  log_.reset();
  const auto guarded = GuardDevice(device_);
  log_ = MustOpen(*guarded, kZones);
  const std::uint64_t generation = log_->stats().generation;
  bool failed = false;
  {
    const SyncPoint::Scope scope([&](std::string_view name) {
      if (name != "Metalog::Checkpoint::Try:snapshot-written" || std::exchange(failed, true)) return;
      device_.Inject({.command = Command::kFlush});
      EXPECT_FALSE(guarded->Flush().ok());
    });
    ZENFS_ASSERT_OK(log_->Switch());
  }
  EXPECT_EQ(log_->stats().generation, generation + 2);
  ZENFS_ASSERT_OK(log_->Commit(CreateNamed(kFirstTestId + 1)));
  EXPECT_TRUE(HasFile(Found(), kFirstTestId + 1));
}

// Only commits of data that a failed flush may have lost are refused.
TEST_F(MetalogFaultTest, CommitOfDataThatAFailedFlushMayHaveLostIsRefused) {
  log_.reset();
  const auto guarded = GuardDevice(device_);
  log_ = MustOpen(*guarded, kZones);
  const FlushMark before = FlushMark::Now(*guarded);
  device_.Inject({.command = Command::kFlush});
  EXPECT_FALSE(guarded->Flush().ok());
  const Status refused = log_->Commit(CreateNamed(kFirstTestId + 1), {.data_since = before});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().text(), HasSubstr("may be lost although a later one succeeds"));
  ZENFS_ASSERT_OK(log_->Commit(CreateNamed(kFirstTestId + 2), {.data_since = FlushMark::Now(*guarded)}));
  const State found = Found();
  EXPECT_FALSE(HasFile(found, kFirstTestId + 1));
  EXPECT_TRUE(HasFile(found, kFirstTestId + 2));
}

TEST(MetalogDamage, TornTailIsTheEndOfTheLog) {  // D4
  const auto device = CreateMemoryDevice(SmallGeometry(256 << 10));
  ZENFS_ASSERT_OK(Formatted(*device, kZones));
  ZENFS_ASSERT_OK(MustOpen(*device, kZones)->Commit(CreateNamed(kFirstTestId)));
  // Write a block at the write pointer that is not a valid frame.
  const auto report = device->ReportZone(ZoneId(0));
  AlignedBuffer torn(8192);
  torn.Resize(8192);
  std::memset(torn.data(), 0x5a, torn.size());
  std::memcpy(torn.data(), &kFrameMagic, sizeof kFrameMagic);
  ZENFS_ASSERT_OK(device->Write(report->write_pointer, torn.View()));

  const auto log = MustOpen(*device, kZones);
  EXPECT_TRUE(HasFile(log->recovered(), kFirstTestId));
  EXPECT_EQ(log->stats().switches, 1u) << "commits must not follow a torn frame";
  ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + 1)));
  log->Stop();
  const auto again = MustOpen(*device, kZones);
  EXPECT_EQ(again->recovered().files().size(), 2u);
  EXPECT_EQ(again->stats().switches, 0u);
}

}  // namespace
}  // namespace zenfs::metalog_fault_test
