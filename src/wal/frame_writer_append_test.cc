// Frames sent by zone append, several in flight; appends that fail, and devices that report wrong places.
#include "wal/frame_writer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <vector>

#include "base/random.h"
#include "base/thread.h"
#include "testing/device_data.h"
#include "wal/wal_test_rig.h"

namespace zenfs::frame_writer_append_test {
namespace {

using Command = FaultyDevice::Command;

class LogAppendTest : public testing::Test {
 protected:
  void Mount(std::uint32_t zones = 24, std::uint64_t blocks_a_zone = 64, std::uint32_t depth = 16) {
    rig_ = std::make_unique<WalRig>(TestGeometry(zones, blocks_a_zone), 2);
    rig_->sending = WalSending::kAppend;
    rig_->depth = depth;
    rig_->Mount();
    ASSERT_TRUE(rig_->WaitUntilAllocated(2));
    // Takes the first zone.
    ASSERT_TRUE(rig_->log->writer().Write(TestJob(9, 1, 0, "first").job));
  }
  // A file with `text` in one unsent frame.
  std::shared_ptr<FramedFile> FileWith(const std::string& text) {
    auto file = rig_->NewFile();
    EXPECT_TRUE(Append(*file, text).ok());
    return file;
  }
  Thread Syncing(const std::shared_ptr<FramedFile>& file) {
    return Thread("sync", [this, file] {
      if (!file->Sync().ok()) ++failures_;
      ++synced_;
    });
  }

  std::unique_ptr<WalRig> rig_;
  std::atomic<int> failures_ = 0;
  std::atomic<int> synced_ = 0;
};

TEST_F(LogAppendTest, FramesOfSeveralFilesAreInFlightInOneZone) {
  constexpr int kFiles = 6;
  Mount();
  std::vector<std::shared_ptr<FramedFile>> files;
  for (int i = 0; i < kFiles; ++i) files.push_back(FileWith(TestText(300, static_cast<std::uint64_t>(i))));
  const std::uint64_t writes = rig_->Count(Command::kWrite);
  rig_->device.Hold(Command::kAppend);
  {
    std::vector<Thread> threads;
    for (const auto& file : files) threads.push_back(Syncing(file));
    EXPECT_TRUE(rig_->device.WaitUntilHeld(kFiles, WalRig::Soon())) << "none waits for another";
    EXPECT_EQ(synced_, 0) << "a sync returns only when its own append is complete";
    rig_->device.Release();
  }
  EXPECT_EQ(failures_, 0);
  EXPECT_EQ(rig_->Count(Command::kWrite), writes);
  std::set<ZoneId> zones;
  for (int i = 0; i < kFiles; ++i) {
    const auto& file = files[static_cast<std::size_t>(i)];
    zones.insert(rig_->ZoneOf(file->Pieces().front().place));
    EXPECT_EQ(WalRig::Content(*file), TestText(300, static_cast<std::uint64_t>(i)))
        << "read where the device put it";
    EXPECT_EQ(rig_->Recovered(file->id()), TestText(300, static_cast<std::uint64_t>(i)));
  }
  EXPECT_EQ(zones.size(), 1u);
}

TEST_F(LogAppendTest, NoMoreThanTheDepthAreInFlight) {
  Mount(24, 64, 3);
  std::vector<std::shared_ptr<FramedFile>> files;
  for (int i = 0; i < 8; ++i) files.push_back(FileWith("text"));
  rig_->device.Hold(Command::kAppend);
  {
    std::vector<Thread> threads;
    for (const auto& file : files) threads.push_back(Syncing(file));
    ASSERT_TRUE(rig_->device.WaitUntilHeld(3, WalRig::Soon()));
    EXPECT_FALSE(rig_->device.WaitUntilHeld(4, Deadline::After(std::chrono::milliseconds(20))));
    rig_->device.Release();
  }
  EXPECT_EQ(failures_, 0);
  for (const auto& file : files) EXPECT_EQ(rig_->Recovered(file->id()), "text");
}

// Only one zone takes frames: the log has one active slot.
TEST_F(LogAppendTest, TheNextZoneIsTakenWhenAllAppendsToTheOldOneAreComplete) {
  Mount(24, 4);
  const auto large = FileWith(TestText(2 * kTestBlock - kFrameHeaderBytes, 1));  // leaves one block
  const auto split = FileWith(TestText(2 * kTestBlock - kFrameHeaderBytes, 2));
  rig_->device.Hold(Command::kAppend);
  Thread first = Syncing(large);
  ASSERT_TRUE(rig_->device.WaitUntilHeld(1, WalRig::Soon()));
  const std::uint64_t writes = rig_->Count(Command::kWrite);
  Thread second = Syncing(split);
  EXPECT_FALSE(rig_->device.WaitUntilHeld(2, Deadline::After(std::chrono::milliseconds(20))));
  EXPECT_EQ(rig_->Count(Command::kWrite), writes) << "an append is in flight";
  rig_->device.Release();
  first.Join();
  second.Join();
  EXPECT_EQ(failures_, 0);
  EXPECT_EQ(split->Pieces().size(), 2u) << "the zone is filled to its last block";
  EXPECT_EQ(rig_->Recovered(large->id()), WalRig::Content(*large));
  EXPECT_EQ(rig_->Recovered(split->id()), TestText(2 * kTestBlock - kFrameHeaderBytes, 2));
}

TEST_F(LogAppendTest, FrameAboveTheDevicesLimitIsWritten) {
  Mount(24, 2048);
  ASSERT_EQ(rig_->device.geometry().max_append_bytes, 1u << 20);
  rig_->buffer_bytes = 2 << 20;
  const auto file = FileWith(TestText((1 << 20) + 1, 3));
  const std::uint64_t appends = rig_->Count(Command::kAppend);
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(rig_->Count(Command::kAppend), appends);
  EXPECT_EQ(rig_->Recovered(file->id()), TestText((1 << 20) + 1, 3));
}

TEST_F(LogAppendTest, SyncOfAFileSendsItsBytesFirst) {
  Mount();
  const auto file = FileWith("one");
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(Append(*file, ", two").ok());
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(rig_->Recovered(file->id()), "one, two");
  EXPECT_EQ(rig_->Count(Command::kAppend), 2u) << "one command for each sync";
}

TEST_F(LogAppendTest, ManyThreadsFillAndFreeZonesWithoutLosingCount) {
  Mount(24, 8, 5);
  EXPECT_EQ(rig_->SyncFromManyThreads(8, 12, 6, 5000), 0);
  rig_->log->supply().ReleaseDead();
  rig_->log->Stop();
  EXPECT_LE(rig_->state().log_zones().size(), 4U);
  EXPECT_EQ(rig_->zones->Check(), std::vector<std::string>());
}

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
}  // namespace zenfs::frame_writer_append_test
