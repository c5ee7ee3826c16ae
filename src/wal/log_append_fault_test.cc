// Zone appends that fail, and devices that report wrong places.
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "base/thread.h"
#include "testing/device_data.h"
#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

using Command = FaultyDevice::Command;
using When = FaultyDevice::When;

class LogAppendFaultTest : public testing::Test {
 protected:
  LogAppendFaultTest() : rig_(TestGeometry(24, 64), 2) {
    rig_.sending = WalSending::kAppend;
    rig_.Mount();
    EXPECT_TRUE(rig_.WaitUntilAllocated(2));
    file_ = rig_.NewFile();
    EXPECT_TRUE(Append(*file_, "zero").ok());
    EXPECT_TRUE(file_->Sync().ok());
    zone_ = rig_.ZoneOf(file_->Pieces().front().place);
  }
  // Syncs one more word while the next append has `fault`.
  Status SyncWith(FaultyDevice::Fault fault) {
    fault.command = Command::kAppend;
    rig_.device.Inject(fault);
    EXPECT_TRUE(Append(*file_, ", one").ok());
    return file_->Sync();
  }
  ZoneId LastZone() const { return rig_.ZoneOf(file_->Pieces().back().place); }

  WalRig rig_;
  std::shared_ptr<FramedFile> file_;
  ZoneId zone_;
};

TEST_F(LogAppendFaultTest, BytesOfAFailedAppendArePlacedAnewInAnotherZone) {
  for (const When when : {When::kBefore, When::kAfter}) {
    const ZoneId before = LastZone();
    const std::string content = WalRig::Content(*file_) + ", one";
    ASSERT_TRUE(SyncWith({.when = when}).ok());
    EXPECT_NE(LastZone(), before);
    EXPECT_EQ(rig_.ConditionOf(before), ZoneCondition::kFull) << "its slot is free";
    EXPECT_EQ(WalRig::Content(*file_), content);
    EXPECT_EQ(rig_.Recovered(file_->id()), content);
  }
}

TEST_F(LogAppendFaultTest, IfTheBytesCannotBePlacedAnewTheSyncFails) {
  rig_.device.Inject({.command = Command::kWrite, .times = FaultyDevice::kForEver});
  EXPECT_EQ(SyncWith({.times = FaultyDevice::kForEver}).error().code(), Code::kIo);
  EXPECT_EQ(rig_.Recovered(file_->id()), "zero");
  rig_.device.ClearFaults();
  ASSERT_TRUE(file_->Sync().ok());
  EXPECT_EQ(rig_.Recovered(file_->id()), "zero, one");
}

TEST_F(LogAppendFaultTest, AnUnknownOutcomeIsAFailure) {
  ASSERT_TRUE(SyncWith({.code = Code::kUnknownOutcome, .when = When::kAfter}).ok());
  EXPECT_NE(LastZone(), zone_);
  EXPECT_EQ(rig_.Recovered(file_->id()), "zero, one");
}

TEST_F(LogAppendFaultTest, WithoutAnOpenSlotTheFrameIsSentAgainToTheSameZone) {
  ASSERT_TRUE(SyncWith({.code = Code::kBusy}).ok());
  EXPECT_EQ(LastZone(), zone_);
  ASSERT_TRUE(Append(*file_, ", two").ok());
  ASSERT_TRUE(file_->Sync().ok());
  EXPECT_EQ(LastZone(), zone_) << "the room is counted right";
  EXPECT_EQ(rig_.Recovered(file_->id()), "zero, one, two");
}

TEST_F(LogAppendFaultTest, ZoneThatTheDeviceMakesFullIsLeft) {
  ASSERT_TRUE(rig_.device.Finish(zone_).ok());
  ASSERT_TRUE(Append(*file_, ", one").ok());
  ASSERT_TRUE(file_->Sync().ok());
  EXPECT_NE(LastZone(), zone_);
  EXPECT_EQ(rig_.Recovered(file_->id()), "zero, one");
}

TEST_F(LogAppendFaultTest, PlaceThatIsTakenIsNotBelieved) {
  ASSERT_TRUE(SyncWith({.when = When::kElsewhere}).ok());
  EXPECT_NE(LastZone(), zone_) << "the bytes were placed anew";
  EXPECT_EQ(WalRig::Content(*file_), "zero, one");
  EXPECT_EQ(rig_.Recovered(file_->id()), "zero, one");
}

// For example because the device executed an append twice.
TEST_F(LogAppendFaultTest, ZoneWithLessRoomThanReservedIsLeftAndGivesItsSlotBack) {
  const AlignedBuffer others = Pattern(62 * kTestBlock, 1);
  ASSERT_TRUE(rig_.device.Append(zone_, others.View()));  // leaves one block
  ASSERT_TRUE(Append(*file_, TestText(2 * kTestBlock - kFrameHeaderBytes, 1)).ok());
  ASSERT_TRUE(file_->Sync().ok());
  EXPECT_NE(LastZone(), zone_);
  EXPECT_EQ(rig_.ConditionOf(zone_), ZoneCondition::kFull);
  EXPECT_EQ(rig_.Recovered(file_->id()), "zero" + TestText(2 * kTestBlock - kFrameHeaderBytes, 1));
}

TEST_F(LogAppendFaultTest, FailedFlushAfterAnAppendFailsTheSync) {
  rig_.device.Inject({.command = Command::kFlush});
  ASSERT_TRUE(Append(*file_, ", one").ok());
  EXPECT_EQ(file_->Sync().error().code(), Code::kIo);
  ASSERT_TRUE(file_->Sync().ok());
  EXPECT_EQ(rig_.Recovered(file_->id()), "zero, one");
}

// The first of three appends in flight fails. The other two are complete and stay; no frame is sent meanwhile.
TEST_F(LogAppendFaultTest, NothingIsSentPastAFailedAppendUntilItsBytesArePlaced) {
  std::vector<std::shared_ptr<FramedFile>> files;
  for (int i = 0; i < 4; ++i) {
    files.push_back(rig_.NewFile());
    ASSERT_TRUE(Append(*files.back(), TestText(500, static_cast<std::uint64_t>(i))).ok());
  }
  std::atomic<int> failures = 0;
  const auto sync = [&failures](const std::shared_ptr<FramedFile>& file) {
    return Thread("sync", [&failures, file] {
      if (!file->Sync().ok()) ++failures;
    });
  };
  rig_.device.Inject({.command = Command::kAppend});
  rig_.device.Hold(Command::kAppend);
  {
    std::vector<Thread> threads;
    for (int i = 0; i < 3; ++i) threads.push_back(sync(files[static_cast<std::size_t>(i)]));
    ASSERT_TRUE(rig_.device.WaitUntilHeld(3, WalRig::Soon()));
    rig_.device.Release();
    threads.push_back(sync(files[3]));
  }
  EXPECT_EQ(failures, 0);
  int left = 0;
  for (int i = 0; i < 4; ++i) {
    const auto& file = files[static_cast<std::size_t>(i)];
    EXPECT_EQ(rig_.Recovered(file->id()), TestText(500, static_cast<std::uint64_t>(i)));
    if (rig_.ZoneOf(file->Pieces().front().place) == zone_) ++left;
  }
  EXPECT_GE(left, 2) << "complete appends stay where they are";
  EXPECT_EQ(rig_.ConditionOf(zone_), ZoneCondition::kFull);
}

}  // namespace
}  // namespace zenfs
