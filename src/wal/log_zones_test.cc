// Zones are allocated ahead of use and released; behaviour if no zone is free.
#include "wal/log_zones.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <set>

#include "base/sync_point.h"
#include "base/thread.h"
#include "wal/wal_test_rig.h"
#include "zone/zone_test_rig.h"

namespace zenfs::log_zones_test {
namespace {

constexpr std::uint32_t kZones = 12;
constexpr std::uint64_t kBlocks = 8;  // of a zone
constexpr std::uint64_t kZone = kBlocks * kTestBlock;

// A device so full that space is short, and a log with one zone.
class LogZonesOfAFullDevice : public testing::Test {
 protected:
  LogZonesOfAFullDevice() {
    const auto plan = PlanSlots(rig_.device.geometry(), rig_.device.name());
    manager_ = *ZoneManager::Create(rig_.device, *plan, *ReportAll(rig_.device),
                                    {.log = {}, .reclaims = true, .headroom = true});
    EXPECT_TRUE(manager_->Start().ok());
    zone_ = *manager_->AllocateLogZone(ZoneTestRig::Soon());
    zones_.emplace(rig_.device, *manager_, Uuid::Generate(), 1);
    zones_->Add({.zone = zone_, .generation = 1, .salt = 1}, kZone);
    zones_->Start();
    ExtentSink sink(*manager_);
    SinkCursor cursor;
    for (std::uint64_t zones = 0; zones + 2 < kZones; ++zones) {
      const ByteView bytes = rig_.Bytes(kBlocks);
      const auto placed = sink.Write(cursor, Lifetime::kLong, {&bytes, 1}, ZoneTestRig::Soon());
      EXPECT_TRUE(placed);
      const Extent extent{0, placed->place, placed->length};
      manager_->AddLive({&extent, 1});
    }
  }
  // The collector finds nothing to empty.
  void Answer() {
    const auto need = Need();
    ASSERT_TRUE(need);
    manager_->SetReclaimVerdict({.version = need->version, .urgency = ReclaimUrgency::kUrgent});
    ASSERT_FALSE(Need());
  }
  std::optional<ReclaimNeed> Need() { return manager_->AwaitReclaimNeed(Deadline::After({})); }

  ZoneTestRig rig_{TestGeometry(kZones, kBlocks)};
  std::unique_ptr<ZoneManager> manager_;
  std::optional<LogZones> zones_;
  ZoneId zone_;
};

// Otherwise writers get "no space" by a verdict from before the zone had dead frames.
TEST_F(LogZonesOfAFullDevice, AFilledZoneIsAReasonToSearchAgain) {
  ASSERT_TRUE(zones_->TakeNext());
  Answer();
  zones_->NoteWritten(zone_, kZone - kTestBlock, {});
  EXPECT_FALSE(Need()) << "the zone is still written";
  zones_->NoteWritten(zone_, kTestBlock, {});
  EXPECT_TRUE(Need());
}

// The log waits in slices, and a slice is not the end: the collector may need seconds for a zone.
TEST_F(LogZonesOfAFullDevice, ASliceOfAWaitEndsWithATimeoutAndOnlyAVerdictWithNoSpace) {
  const auto allocate = [&] {
    return manager_->AllocateLogZone(Deadline::After(std::chrono::milliseconds(5)));
  };
  EXPECT_EQ(allocate().error().code(), Code::kTimedOut);
  Answer();
  EXPECT_EQ(allocate().error().code(), Code::kNoSpace);
}

// Else the log could write nothing on a device full of data.
TEST_F(LogZonesOfAFullDevice, TheOnlyZoneThatTheLogCanWriteIsNoSpare) {
  const auto spare_bytes = [&] { return SpareBytes(zones_->Zones(), 1); };
  EXPECT_EQ(spare_bytes(), 0U);
  EXPECT_FALSE(zones_->TakeUnwritten(LogZones::Unwritten::kSpare));
  zones_->Add({.zone = ZoneId(zone_.value + 1), .generation = 2, .salt = 2}, kZone);
  EXPECT_EQ(spare_bytes(), kZone);
  ASSERT_TRUE(zones_->TakeNext());
  zones_->NoteWritten(zone_, kTestBlock, {});
  EXPECT_EQ(spare_bytes(), kZone);
  EXPECT_TRUE(zones_->TakeUnwritten(LogZones::Unwritten::kSpare));
  EXPECT_EQ(spare_bytes(), 0U);
}

TEST_F(LogZonesOfAFullDevice, WhatTheLogLacksOfAGroupIsNoSpare) {
  constexpr std::uint32_t kGroup = 4;
  ASSERT_TRUE(zones_->TakeNext());
  zones_->NoteWritten(zone_, kTestBlock, {});
  for (std::uint32_t i = 1; i <= kGroup; ++i) {
    EXPECT_EQ(SpareBytes(zones_->Zones(), kGroup), 0U) << i;
    zones_->Add({.zone = ZoneId(zone_.value + i), .generation = 2, .salt = 2}, kZone);
  }
  EXPECT_EQ(SpareBytes(zones_->Zones(), kGroup), kZone);
}

// A mount adds zones in the order of their numbers.
TEST_F(LogZonesOfAFullDevice, AnOlderGroupIsWrittenFirst) {
  ASSERT_TRUE(zones_->TakeNext());
  zones_->Close(zone_);
  zones_->Add({.zone = ZoneId(zone_.value + 1), .generation = 5, .salt = 5}, kZone);
  zones_->Add({.zone = ZoneId(zone_.value + 2), .generation = 3, .salt = 3}, kZone);
  const auto first = zones_->TakeNext();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->zone, ZoneId(zone_.value + 2));
}

// An image may have a million log zones with a block left in each.
TEST_F(LogZonesOfAFullDevice, TheNextZoneIsTakenWithoutALookAtAllReadyZones) {
  constexpr std::uint32_t kReady = 200'000;
  for (std::uint32_t i = 1; i <= kReady; ++i)
    zones_->Add({.zone = ZoneId(zone_.value + i), .generation = 1 + i, .salt = i}, kZone, kZone - kTestBlock);
  const SteadyTime begin = SteadyNow();
  for (int i = 0; i < 300; ++i) {
    const auto next = zones_->TakeNext();
    ASSERT_TRUE(next);
    zones_->NoteWritten(next->zone, kTestBlock, {});
  }
  EXPECT_LT(SteadyNow() - begin, std::chrono::seconds(2));
}

// Each zone that is written has a slot of the device.
TEST_F(LogZonesOfAFullDevice, NoMoreZonesAreWrittenInTurnsThanTheLimit) {
  ASSERT_TRUE(zones_->TakeNext());
  zones_->Close(zone_);
  for (std::uint32_t i = 1; i <= 3; ++i)
    zones_->Add({.zone = ZoneId(zone_.value + i), .generation = 2, .salt = i}, kZone);
  std::set<ZoneId> taken;
  for (int i = 0; i < 6; ++i) taken.insert(zones_->TakeNext()->zone);
  EXPECT_EQ(taken.size(), 1U);
  zones_->Close(*taken.begin());
  EXPECT_FALSE(taken.contains(zones_->TakeNext()->zone)) << "the others are written afterwards";
}

// The collector may already run during a mount.
TEST_F(LogZonesOfAFullDevice, AZoneThatIsBeingFinishedIsNotReleased) {
  zones_->Add({.zone = ZoneId(zone_.value + 1), .generation = 2, .salt = 2}, kZone, kTestBlock);
  zones_->Add({.zone = ZoneId(zone_.value + 2), .generation = 3, .salt = 3}, kZone, 2 * kTestBlock);
  const std::vector<ZoneId> closed = zones_->CloseSpares();
  ASSERT_EQ(closed, std::vector<ZoneId>{ZoneId(zone_.value + 2)});
  EXPECT_TRUE(zones_->TakeDead().empty());
  zones_->EndRelease(closed.front(), false);
  EXPECT_EQ(zones_->TakeDead(), closed);
}

TEST_F(LogZonesOfAFullDevice, AZoneThatIsClosedEarlyIsToo) {
  ASSERT_TRUE(zones_->TakeNext());
  Answer();
  zones_->Close(zone_);
  EXPECT_TRUE(Need());
}

using Command = FaultyDevice::Command;

constexpr std::size_t kBlocksAZone = 4;
constexpr std::size_t kZonePayload = kBlocksAZone * kTestBlock - kFrameHeaderBytes;

// Fills one zone. Returns its frame.
PlacedFrame FillZone(WalRig& rig, std::uint64_t sequence) {
  TestJob job(5, sequence, 0, TestText(kZonePayload, sequence));
  auto placed = rig.log->writer().Write(job.job);
  EXPECT_TRUE(placed) << placed.error().ToString();
  EXPECT_EQ(placed->size(), 1U);
  return std::move(placed->front());
}

void Drop(WalRig& rig, PlacedFrame& frame) {
  const ZoneId zone = frame.pin.zone();
  frame.pin = ZonePin();
  rig.log->zones().RemoveLive(zone, {frame.device_bytes, frame.length});
}

std::size_t LogZonesInThePool(const WalRig& rig) {
  std::size_t count = 0;
  for (const ZoneStatus& zone : rig.zones->Zones()) count += zone.phase == ZonePhase::kLog;
  return count;
}

// Stops the background thread of the log until the test lets it continue.
class HeldWorker {
 public:
  HeldWorker()
      : scope_([this](std::string_view name) {
          if (name == "LogZoneSupply::Work") {
            standing_ = true;
            standing_.notify_all();
            held_.wait(true);
          } else if (name == "FrameWriter::NextZone") {
            waiting_ = true;
            waiting_.notify_all();
          }
        }) {}
  ~HeldWorker() { LetGo(); }
  void WaitUntilStanding() { standing_.wait(false); }
  void WaitUntilAWriterWaits() { waiting_.wait(false); }
  void LetGo() {
    held_ = false;
    held_.notify_all();
  }

 private:
  std::atomic<bool> held_ = true;
  std::atomic<bool> standing_ = false;
  std::atomic<bool> waiting_ = false;
  SyncPoint::Scope scope_;
};

TEST(LogSpaceReserveTest, ZonesAreReservedAheadOfUse) {
  WalRig rig(TestGeometry(8, kBlocksAZone), 3);
  rig.Mount();
  ASSERT_TRUE(rig.WaitUntilAllocated(3));
  TestJob job(5, 1, 0, "a");
  ASSERT_TRUE(rig.log->writer().Write(job.job));
  EXPECT_EQ(rig.log->writer().reserve_waits(), 0U);
  ASSERT_TRUE(rig.WaitUntilAllocated(4)) << "one of them is the current zone";
}

TEST(LogSpaceReserveTest, DryReserveCostsTheWriterOneReservationAndIsCounted) {
  WalRig rig(TestGeometry(8, kBlocksAZone), 2);
  rig.Mount(false);
  {
    HeldWorker worker;
    EXPECT_TRUE(rig.log->Start().ok());
    worker.WaitUntilStanding();
    TestJob job(5, 1, 0, "a");
    ASSERT_TRUE(rig.log->writer().Write(job.job));
    EXPECT_EQ(rig.log->writer().reserve_waits(), 1U);
    EXPECT_EQ(rig.allocated(), 1U);
    TestJob next(5, 2, 1, "b");
    ASSERT_TRUE(rig.log->writer().Write(next.job));
    EXPECT_EQ(rig.log->writer().reserve_waits(), 1U);
    worker.LetGo();
    rig.log->Stop();
  }
}

TEST(LogSpaceReserveTest, FrameThatFillsTheLastZoneDoesNotWaitForAnother) {
  WalRig rig(TestGeometry(2, kBlocksAZone), 2);
  rig.Mount(false);
  const PlacedFrame first = FillZone(rig, 1);
  const PlacedFrame last = FillZone(rig, 2);
  EXPECT_EQ(rig.log->writer().reserve_waits(), 2U) << "one for each new zone";
}

// The live frames in the zones that a mount finds are not counted yet.
TEST(LogSpaceReserveTest, WithoutSpaceBeforeTheStartNothingThatWasAdoptedIsReleased) {
  WalRig rig(TestGeometry(2, kBlocksAZone), 1);
  rig.Mount(false);
  {
    const PlacedFrame first = FillZone(rig, 1);
    const PlacedFrame second = FillZone(rig, 2);
  }
  rig.Mount(false);
  TestJob job(5, 3, 0, "recovered");
  const auto placed = rig.log->writer().Write(job.job);
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().code(), Code::kNoSpace);
  EXPECT_TRUE(rig.released().empty());
}

TEST(LogSpaceReserveTest, ReservationThatCannotBeCommittedGivesItsZoneBack) {
  WalRig rig(TestGeometry(8, kBlocksAZone), 2);
  rig.FailAllocations(1'000'000);
  rig.Mount();
  TestJob job(5, 1, 0, "a");
  const auto failed = rig.log->writer().Write(job.job);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::kIo);
  rig.log->Stop();
  EXPECT_EQ(LogZonesInThePool(rig), 0U);
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.zones->Zones().size(), 8U);
  for (const ZoneStatus& zone : rig.zones->Zones()) EXPECT_EQ(zone.phase, ZonePhase::kEmpty) << zone.id.value;
}

TEST(LogSpaceReserveTest, OneReservationThatFailsIsTriedAgain) {
  WalRig rig(TestGeometry(8, kBlocksAZone), 2);
  rig.Mount(false);
  rig.FailAllocations(1);
  TestJob job(5, 1, 0, "a");
  EXPECT_TRUE(rig.log->writer().Write(job.job));
}

TEST(LogSpaceReserveTest, DeadZoneIsReleasedAndReset) {
  WalRig rig(TestGeometry(8, kBlocksAZone));
  rig.Mount();
  PlacedFrame frame = FillZone(rig, 1);
  const ZoneId zone = frame.pin.zone();
  Drop(rig, frame);
  ASSERT_TRUE(rig.WaitUntilReleased(zone));
  rig.log->Stop();
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.ConditionOf(zone), ZoneCondition::kEmpty);
  EXPECT_EQ(rig.state().log_zones().count(zone), 0U);
}

TEST(LogSpaceReserveTest, ZoneWithALiveFrameOrAReaderIsNotReleased) {
  WalRig rig(TestGeometry(8, kBlocksAZone));
  rig.Mount();
  PlacedFrame live = FillZone(rig, 1);
  PlacedFrame read = FillZone(rig, 2);
  const ZoneId of_live = live.pin.zone(), of_read = read.pin.zone();
  ZonePin reader = read.pin;
  Drop(rig, read);
  rig.log->supply().ReleaseDead();
  EXPECT_FALSE(rig.WasReleased(of_live));
  EXPECT_FALSE(rig.WasReleased(of_read));
  reader = ZonePin();
  rig.log->zones().Wake();
  EXPECT_TRUE(rig.WaitUntilReleased(of_read));
  EXPECT_FALSE(rig.WasReleased(of_live));
}

// Only damaged metadata has extents in a log zone. Their bytes are kept anyway.
TEST(LogSpaceReserveTest, ReleasedZoneIsResetOnlyWhenExtentsThatLieInItAreDead) {
  WalRig rig(TestGeometry(8, kBlocksAZone));
  rig.Mount();
  PlacedFrame frame = FillZone(rig, 1);
  const ZoneId zone = frame.pin.zone();
  const Extent extent{0, rig.device.geometry().ZoneStart(zone), kTestBlock};
  rig.zones->AddLive({&extent, 1});
  Drop(rig, frame);
  ASSERT_TRUE(rig.WaitUntilReleased(zone));
  rig.log->Stop();
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.ConditionOf(zone), ZoneCondition::kFull);
  rig.zones->RemoveLive({&extent, 1});
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.ConditionOf(zone), ZoneCondition::kEmpty);
}

TEST(LogSpaceReserveTest, DeadZoneOfAnEarlierMountIsReleasedByTheNext) {
  WalRig rig(TestGeometry(8, kBlocksAZone), 2);
  rig.Mount();
  const ZoneId zone = FillZone(rig, 1).pin.zone();
  rig.Mount();  // no file points to that frame now
  EXPECT_TRUE(rig.WaitUntilReleased(zone));
}

TEST(LogSpaceReserveTest, FullDeviceIsAnErrorAndNoHangAndDeletingMakesRoom) {
  WalRig rig(TestGeometry(4, kBlocksAZone), 1);
  rig.Mount();
  std::vector<PlacedFrame> frames;
  for (std::uint64_t sequence = 1; sequence <= 4; ++sequence) frames.push_back(FillZone(rig, sequence));
  TestJob job(5, 9, 0, "a");
  const auto failed = rig.log->writer().Write(job.job);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::kNoSpace);
  Drop(rig, frames[1]);
  TestJob again(5, 9, 0, "a");
  EXPECT_TRUE(rig.log->writer().Write(again.job));
}

// A full zone with one small live frame, of file 5; all other frames are dead.
PlacedFrame LeaveOneFrameAlive(WalRig& rig) {
  TestJob job(5, 1, 0, "a");
  PlacedFrame small = std::move(rig.log->writer().Write(job.job).value().front());
  TestJob rest(6, 1, 0, TestText(kZonePayload - kTestBlock, 1));
  PlacedFrame big = std::move(rig.log->writer().Write(rest.job).value().front());
  Drop(rig, big);
  return small;
}

TEST(LogSpaceReserveTest, ReclaimIsAskedToCleanAMostlyDeadZone) {
  WalRig rig(TestGeometry(8, kBlocksAZone), 1);
  rig.reclaims = true;
  rig.Mount();
  const PlacedFrame small = LeaveOneFrameAlive(rig);
  const auto need = rig.zones->AwaitReclaimNeed(ZoneTestRig::Soon());
  ASSERT_TRUE(need);
  EXPECT_EQ(need->urgency, ReclaimUrgency::kTidy);
  const auto zones = rig.log->zones().Zones();
  const auto cleaned = std::ranges::find(zones, small.pin.zone(), &LogZoneStatus::zone);
  ASSERT_NE(cleaned, zones.end());
  EXPECT_TRUE(cleaned->closed);
  EXPECT_EQ(cleaned->live.payload, 1U);
}

// After a mount, all log zones of a volume may be dead, and an unmount waits for their release.
TEST(LogSpaceReserveTest, DeadZonesAreReleasedTogether) {
  WalRig rig(TestGeometry(12, kBlocksAZone), 1);
  rig.Mount(false);
  std::vector<PlacedFrame> frames;
  for (std::uint64_t sequence = 1; sequence <= 5; ++sequence) frames.push_back(FillZone(rig, sequence));
  for (PlacedFrame& frame : frames) Drop(rig, frame);
  rig.log->MayRelease();
  EXPECT_TRUE(rig.log->supply().ReleaseDead());
  EXPECT_GE(rig.released().size(), 4u);
  EXPECT_EQ(rig.release_commits(), 1u);
}

TEST(LogSpaceReserveTest, NothingIsReleasedOnceNothingCanBeCommittedAnyMore) {
  WalRig rig(TestGeometry(8, kBlocksAZone), 1);
  rig.Mount(false);
  PlacedFrame frame = FillZone(rig, 1);
  rig.FailAllocations(100, Code::kReadOnly);
  TestJob refused(5, 2, 1, "b");
  EXPECT_EQ(rig.log->writer().Write(refused.job).error().code(), Code::kReadOnly);
  rig.log->MayRelease();
  Drop(rig, frame);
  EXPECT_FALSE(rig.log->supply().ReleaseDead());
  EXPECT_TRUE(rig.released().empty());
}

TEST(LogSpaceReserveTest, WriterDoesNotWaitForAZoneOnceNothingCanBeCommittedAnyMore) {
  WalRig rig(TestGeometry(4, kBlocksAZone), 1);
  rig.Mount(false);
  std::vector<PlacedFrame> frames;
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) frames.push_back(FillZone(rig, sequence));
  rig.FailAllocations(100, Code::kReadOnly);
  TestJob refused(5, 9, 0, "a");
  EXPECT_EQ(rig.log->writer().Write(refused.job).error().code(), Code::kReadOnly);
  EXPECT_TRUE(rig.log->Start().ok());
  const SteadyTime begun = SteadyNow();
  TestJob job(5, 10, 0, "a");
  EXPECT_EQ(rig.log->writer().Write(job.job).error().code(), Code::kReadOnly);
  EXPECT_LT(SteadyNow() - begun, std::chrono::seconds(4)) << "it waited for its deadline";
}

// A sync waits as long as any write, because another writer may free space.
TEST(LogSpaceReserveTest, WriterThatWaitsIsServedWhenAZoneComesBack) {
  WalRig rig(TestGeometry(4, kBlocksAZone), 1);
  rig.reclaims = true;
  rig.Mount();
  std::vector<PlacedFrame> frames;
  for (std::uint64_t sequence = 1; sequence <= 4; ++sequence) frames.push_back(FillZone(rig, sequence));
  Thread writer("writer", [&] {
    TestJob job(7, 1, 0, "a");
    EXPECT_TRUE(rig.log->writer().Write(job.job));
  });
  const auto need = rig.zones->AwaitReclaimNeed(ZoneTestRig::Soon());
  ASSERT_TRUE(need);
  EXPECT_EQ(need->urgency, ReclaimUrgency::kUrgent);
  rig.zones->SetReclaimVerdict({.version = need->version, .urgency = need->urgency, .pending = true});
  Drop(rig, frames[1]);
  writer.Join();
}

TEST(LogSpaceReserveTest, ReadyZoneThatWasNeverWrittenCanBeGivenBack) {
  WalRig rig(TestGeometry(8, kBlocksAZone), 2);
  rig.Mount(false);
  EXPECT_FALSE(rig.log->supply().ReleaseUnwritten()) << "there is none";
  EXPECT_TRUE(rig.log->Start().ok());
  ASSERT_TRUE(rig.WaitUntilAllocated(2));
  EXPECT_TRUE(rig.log->supply().ReleaseUnwritten());
  EXPECT_EQ(rig.released().size(), 1U);
}

TEST(LogSpaceReserveTest, StopEndsAWriteThatWaitsForSpace) {
  WalRig rig(TestGeometry(2, kBlocksAZone), 1);
  rig.reclaims = true;  // but no verdict comes
  rig.Mount(false);
  std::vector<PlacedFrame> frames;
  for (std::uint64_t sequence = 1; sequence <= 2; ++sequence) frames.push_back(FillZone(rig, sequence));
  HeldWorker worker;
  EXPECT_TRUE(rig.log->Start().ok());
  worker.WaitUntilStanding();
  std::optional<Code> code;
  const SteadyTime begun = SteadyNow();
  Thread writer("writer", [&] {
    TestJob job(5, 9, 0, "a");
    code = rig.log->writer().Write(job.job).error().code();
  });
  worker.WaitUntilAWriterWaits();
  Thread stopper("stopper", [&] { rig.log->Stop(); });
  writer.Join();
  EXPECT_EQ(code, Code::kShutdown);
  EXPECT_LT(SteadyNow() - begun, std::chrono::seconds(4)) << "it waited for its deadline";
  worker.LetGo();
  stopper.Join();
}

}  // namespace
}  // namespace zenfs::log_zones_test
