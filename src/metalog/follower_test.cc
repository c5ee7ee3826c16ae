#include "metalog/follower.h"

#include "base/sync_point.h"
#include "device/read_only_view.h"
#include "metalog/metalog_test_util.h"
#include "testing/borrowed_device.h"
#include "testing/crash_device.h"
#include "testing/device_data.h"
#include "testing/faulty_device.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kZone = 256 << 10;
constexpr std::uint32_t kMetazones = 3;

class FollowerTest : public testing::Test {
 protected:
  FollowerTest()
      : device_(CreateMemoryDevice(SmallGeometry(kZone))),
        reader_device_(MakeReadOnlyView(*device_)),
        superblock_(SuperblockFor(device_->geometry(), kMetazones)),
        follower_(reader_device_, superblock_) {
    EXPECT_TRUE(Formatted(*device_, kMetazones).ok());
    writer_ = MustOpen(*device_, kMetazones);
  }
  ~FollowerTest() override { writer_->Stop(); }

  LogFollower::Change Refresh() {
    const auto change = follower_.Refresh();
    EXPECT_TRUE(change) << change.error().ToString();
    return change.value_or(LogFollower::Change::kNone);
  }
  bool Moved() { return CheckLog(reader_device_, superblock_, follower_.fingerprint()).value().moved; }
  void Create(std::uint64_t id) { ZENFS_ASSERT_OK(writer_->Commit(CreateNamed(id))); }

  std::unique_ptr<EmulatorDevice> device_;
  FaultyDevice reader_device_;  // the reader's view of the device
  const Superblock superblock_;
  LogFollower follower_;
  std::unique_ptr<Metalog> writer_;
};

TEST_F(FollowerTest, CommitsShowUpAndUntouchedRecordsStayTheSameObjects) {
  Create(100);
  EXPECT_EQ(Refresh(), LogFollower::Change::kReplaced);
  const auto record = follower_.state().FindFile(FileId(100));
  ASSERT_NE(record, nullptr);
  EXPECT_FALSE(Moved());
  EXPECT_EQ(Refresh(), LogFollower::Change::kNone);
  Create(101);
  EXPECT_TRUE(Moved());
  EXPECT_EQ(Refresh(), LogFollower::Change::kAdvanced);
  EXPECT_TRUE(HasFile(follower_.state(), 101));
  EXPECT_EQ(follower_.state().FindFile(FileId(100)), record);
  EXPECT_EQ(follower_.sequence(), writer_->stats().sequence);
}

TEST_F(FollowerTest, ARefreshReadsOnlyWhatIsNew) {
  for (std::uint64_t id = 100; id < 120; ++id) Create(id);
  Refresh();
  const std::uint64_t before = reader_device_.count(FaultyDevice::Command::kRead);
  Create(200);
  EXPECT_EQ(Refresh(), LogFollower::Change::kAdvanced);
  // One read for the header of each zone that is written, one for the new frame.
  EXPECT_EQ(reader_device_.count(FaultyDevice::Command::kRead), before + kMetazones + 1);
}

TEST_F(FollowerTest, ASwitchIsFollowedIntoTheOtherZone) {
  Create(100);
  Refresh();
  const std::uint64_t generation = follower_.generation();
  ZENFS_ASSERT_OK(writer_->Switch());
  EXPECT_TRUE(Moved());
  EXPECT_EQ(Refresh(), LogFollower::Change::kReplaced);
  EXPECT_EQ(follower_.generation(), generation + 1);
  EXPECT_TRUE(HasFile(follower_.state(), 100));
  Create(101);
  EXPECT_EQ(Refresh(), LogFollower::Change::kAdvanced);
  EXPECT_TRUE(HasFile(follower_.state(), 101));
}

TEST_F(FollowerTest, ManySwitchesBetweenTwoLooksAreOneChange) {
  Refresh();
  for (std::uint64_t id = 100; id < 110; ++id) {
    Create(id);
    ZENFS_ASSERT_OK(writer_->Switch());
  }
  EXPECT_TRUE(Moved());
  EXPECT_EQ(Refresh(), LogFollower::Change::kReplaced);
  EXPECT_EQ(follower_.state().files().size(), 10u);
  EXPECT_EQ(follower_.sequence(), writer_->stats().sequence);
}

TEST_F(FollowerTest, AnIncompleteSwitchIsNotFollowed) {
  Create(100);
  Refresh();
  const std::uint64_t generation = follower_.generation();
  int looks = 0;
  {
    const SyncPoint::Scope scope([&](std::string_view name) {
      if (name != "Metalog::Checkpoint::CompleteGeneration:flushed" &&
          name != "Metalog::Checkpoint::Try:snapshot-written")
        return;
      ++looks;
      Refresh();
      EXPECT_EQ(follower_.generation(), generation);
    });
    ZENFS_ASSERT_OK(writer_->Switch());
  }
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(Refresh(), LogFollower::Change::kReplaced);
  EXPECT_EQ(follower_.generation(), generation + 1);
}

// Between report and read, the writer resets and rewrites the zones.
TEST_F(FollowerTest, ARefreshDuringSwitchesIsRetried) {
  Create(100);
  Refresh();
  int switches = 0;
  const SyncPoint::Scope scope([&](std::string_view name) {
    if (name != "LogFollower::Refresh:reported" || switches == 4) return;
    Create(200 + static_cast<std::uint64_t>(switches));
    for (std::uint32_t i = 0; i <= kMetazones; ++i) ZENFS_ASSERT_OK(writer_->Switch());
    ++switches;
  });
  for (int i = 0; i < 5; ++i) {
    const auto before = static_cast<std::size_t>(switches);
    LogFollower fresh(reader_device_, superblock_);
    const auto change = fresh.Refresh();
    ASSERT_TRUE(change) << change.error().ToString();
    EXPECT_GE(fresh.state().files().size(), 1 + before);  // never older than when the call began
    Refresh();
  }
  EXPECT_EQ(switches, 4);
  EXPECT_EQ(follower_.state().files().size(), 5u);
  EXPECT_EQ(follower_.sequence(), writer_->stats().sequence);
}

TEST_F(FollowerTest, RefreshTimesOutIfTheWriterIsAlwaysFaster) {
  LogFollower hasty(reader_device_, superblock_, std::chrono::milliseconds(20));
  const SyncPoint::Scope scope([&](std::string_view name) {
    if (name != "LogFollower::Refresh:reported") return;
    for (std::uint32_t i = 0; i <= kMetazones; ++i) ZENFS_ASSERT_OK(writer_->Switch());
  });
  const auto change = hasty.Refresh();
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().code(), Code::kTimedOut);
  EXPECT_NE(change.error().text().find("faster than it could be read"), std::string::npos);
}

TEST_F(FollowerTest, DamageOnAnUnchangedLogIsAnError) {
  Create(100);
  ZENFS_ASSERT_OK(writer_->Switch());
  LogFingerprint fingerprint = TakeLogFingerprint(reader_device_, superblock_).value();
  std::size_t newest = 0;
  for (std::size_t i = 0; i < fingerprint.heads.size(); ++i) {
    if (fingerprint.heads[i] && fingerprint.heads[i]->generation == 2) newest = i;
  }
  // Damage the snapshot frame of the newest generation, but not its SwitchComplete.
  const MetazoneLayout layout(device_->geometry().block_size);
  const DeviceOffset snapshot = fingerprint.zones[newest].start + layout.frames_at;
  CrashDevice copy(SmallGeometry(kZone));
  for (const ZoneInfo& zone : fingerprint.zones) {
    for (std::uint64_t at = 0; at < zone.WrittenBytes() && at < kZone - 4096; at += 4096) {
      if (zone.condition == ZoneCondition::kEmpty) break;
      AlignedBuffer block = ReadBack(*device_, zone.start + at, 4096).value();
      if (zone.start + at == snapshot) std::memset(block.data(), 0xee, 4096);
      ZENFS_ASSERT_OK(copy.ZonedDevice::Write(zone.start + at, block.View()));
    }
  }
  LogFollower follower(copy, superblock_);
  const auto change = follower.Refresh();
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().code(), Code::kCorruption);
}

TEST_F(FollowerTest, ATornTailEndsTheLogUntilASwitch) {
  Create(100);
  Refresh();
  writer_->Stop();
  writer_.reset();
  // A torn frame.
  const LogFingerprint fingerprint = follower_.fingerprint();
  const ZoneInfo& zone = fingerprint.zones.front();
  AlignedBuffer torn(4096);
  torn.Append(AsBytes("ZNF3 without the rest of a frame"));
  torn.PadTo(4096);
  ZENFS_ASSERT_OK(device_->ZonedDevice::Write(zone.write_pointer, torn.View()));
  EXPECT_EQ(Refresh(), LogFollower::Change::kAdvanced);
  EXPECT_TRUE(HasFile(follower_.state(), 100));
  EXPECT_FALSE(Moved());
  writer_ = MustOpen(*device_, kMetazones);  // switches the log
  Create(101);
  EXPECT_EQ(Refresh(), LogFollower::Change::kReplaced);
  EXPECT_TRUE(HasFile(follower_.state(), 101));
}

// The log ends with a torn frame, so that a refresh asks for the end of the log again.
TEST_F(FollowerTest, WhatARefreshThatFailedHasReadIsReportedByTheNextOne) {
  Create(100);
  Refresh();
  Create(101);
  writer_->Stop();
  const ZoneInfo zone = TakeLogFingerprint(reader_device_, superblock_).value().zones.front();
  AlignedBuffer torn(4096);
  torn.Append(AsBytes("ZNF3 without the rest of a frame"));
  torn.PadTo(4096);
  ZENFS_ASSERT_OK(device_->ZonedDevice::Write(zone.write_pointer, torn.View()));
  {
    const SyncPoint::Scope scope([&](std::string_view name) {
      if (name == "LogFollower::Refresh:ended")
        reader_device_.Inject({.command = FaultyDevice::Command::kReport});
    });
    EXPECT_FALSE(follower_.Refresh());
  }
  EXPECT_EQ(Refresh(), LogFollower::Change::kAdvanced);
  EXPECT_TRUE(HasFile(follower_.state(), 101));
  EXPECT_EQ(Refresh(), LogFollower::Change::kNone);
}

TEST_F(FollowerTest, AReadErrorWhileTheLogChangesIsRetried) {
  Create(100);
  reader_device_.Inject({.command = FaultyDevice::Command::kRead, .kth = 1, .times = 300});
  bool first = true;
  const SyncPoint::Scope scope([&](std::string_view name) {
    if (name != "LogFollower::Refresh:ended") return;
    if (std::exchange(first, false)) {
      Create(101);
      reader_device_.ClearFaults();
    }
  });
  Refresh();
  EXPECT_FALSE(first);
  EXPECT_TRUE(HasFile(follower_.state(), 101));
}

TEST_F(FollowerTest, HeadersTellApartZonesWithEqualReports) {
  Refresh();
  LogFingerprint then = follower_.fingerprint();
  const std::uint64_t before = reader_device_.count(FaultyDevice::Command::kRead);
  then.taken = SteadyNow();
  EXPECT_FALSE(CheckLog(reader_device_, superblock_, then).value().moved);
  EXPECT_EQ(reader_device_.count(FaultyDevice::Command::kRead), before);
  then.taken -= std::chrono::hours(1);
  then.heads.front()->salt ^= 1;  // as if the zone had been reset and filled up to the same block
  EXPECT_TRUE(CheckLog(reader_device_, superblock_, then).value().moved);
}

TEST_F(FollowerTest, NothingIsWrittenToTheDevice) {
  for (std::uint64_t id = 100; id < 140; ++id) {
    Create(id);
    Refresh();
    if (id % 10 == 0) ZENFS_ASSERT_OK(writer_->Switch());
  }
  for (const auto command : {FaultyDevice::Command::kWrite, FaultyDevice::Command::kReset,
                             FaultyDevice::Command::kFinish, FaultyDevice::Command::kFlush}) {
    EXPECT_EQ(reader_device_.count(command), 0u);
  }
}

}  // namespace
}  // namespace zenfs
