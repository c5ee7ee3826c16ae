#include "wal/log_zones.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <set>

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
    zone_ = *manager_->LendLogZone(ZoneTestRig::Soon());
    zones_.emplace(rig_.device, *manager_, Uuid::Generate(), 1);
    zones_->Add({.zone = zone_, .generation = 1, .salt = 1}, kZone);
    zones_->Start();
    const auto sink = MakeZoneExtentSink(*manager_);
    SinkCursor cursor;
    for (std::uint64_t zones = 0; zones + 2 < kZones; ++zones) {
      const ByteView bytes = rig_.Bytes(kBlocks);
      const auto placed = sink->Write(cursor, Lifetime::kLong, {&bytes, 1}, ZoneTestRig::Soon());
      EXPECT_TRUE(placed);
      const Extent extent{0, placed->place, placed->length};
      manager_->AddLive({&extent, 1});
    }
  }
  // The collector finds nothing to empty.
  void Answer() {
    const auto need = Need();
    ASSERT_TRUE(need);
    manager_->reclaim().SetVerdict({.version = need->version, .urgency = ReclaimUrgency::kUrgent});
    ASSERT_FALSE(Need());
  }
  std::optional<ReclaimNeed> Need() { return manager_->reclaim().AwaitNeed(Deadline::After({})); }

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
  const auto lent = [&] { return manager_->LendLogZone(Deadline::After(std::chrono::milliseconds(5))); };
  EXPECT_EQ(lent().error().code(), Code::kTimedOut);
  Answer();
  EXPECT_EQ(lent().error().code(), Code::kNoSpace);
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

}  // namespace
}  // namespace zenfs::log_zones_test
