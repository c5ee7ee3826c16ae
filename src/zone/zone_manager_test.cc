#include "zone/zone_manager.h"

#include "base/sync_point.h"
#include "base/thread.h"
#include "zone/zone_test_rig.h"

namespace zenfs {
namespace {

using Command = FaultyDevice::Command;

// The collector chooses a victim, and the zone may die before it is emptied.
TEST(ZoneManagerTest, AVictimThatDiedMeanwhileIsNotPinned) {
  ZoneTestRig rig(TestGeometry(8, 16));
  rig.Mount();
  SinkCursor cursor;
  const auto extents = rig.WriteLive(cursor, Lifetime::kLong, 16);
  ASSERT_TRUE(extents);
  const ZoneId zone = rig.ZoneOf(extents->front());
  EXPECT_TRUE(rig.zones->PinVictim(zone).valid());
  cursor = SinkCursor();
  rig.zones->RemoveLive(*extents);
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  const ZonePin pin = rig.zones->PinVictim(zone);
  EXPECT_FALSE(pin.valid());
  rig.ExpectSound();
}

TEST(ZoneManagerTest, DataIsReadBackFromTheReturnedPlace) {
  ZoneTestRig rig(TestGeometry(8, 16));
  rig.Mount();
  SinkCursor cursor;
  auto placed = rig.Write(cursor, Lifetime::kShort, 3);
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->length, 3 * kTestBlock);
  AlignedBuffer back(3 * kTestBlock);
  ASSERT_TRUE(rig.device.Read(placed->place, back.Whole()).ok());
  EXPECT_TRUE(std::ranges::equal(back.Whole(), rig.Bytes(3)));
  EXPECT_EQ(rig.StatusOf(placed->pin.zone()).pins, 1U);
  rig.ExpectSound();
}

TEST(ZoneManagerTest, MetadataZonesAreNeverGivenToDataOrLog) {
  ZoneTestRig rig(TestGeometry(6, 4));
  rig.Mount(2);
  SinkCursor cursor;
  const auto zone = rig.zones->AllocateLogZone(ZoneTestRig::Soon());
  ASSERT_TRUE(zone);
  EXPECT_GE(zone->value, 2U);
  const auto extents = rig.WriteLive(cursor, Lifetime::kShort, 12);
  ASSERT_TRUE(extents);
  for (const Extent& extent : *extents) EXPECT_GE(rig.ZoneOf(extent).value, 2U);
  EXPECT_EQ(rig.zones->Space().metadata, 8 * kTestBlock);
}

// A mount may commit before it starts the zones, and a log switch of that commit gives a zone back.
TEST(ZoneManagerTest, AZoneThatMetadataGaveBackBeforeTheStartIsAllocatedOnce) {
  ZoneTestRig rig(TestGeometry(6, 4));
  rig.Create(2);
  const ZoneId freed(1);
  rig.zones->ReleaseMetadataZones(std::span(&freed, 1));
  ASSERT_TRUE(rig.zones->Start().ok());
  rig.ExpectSound();
  std::vector<ZoneId> allocated;
  for (const ZoneInfo& zone : rig.zones->AllocateMetadataZones(5)) allocated.push_back(zone.id);
  std::ranges::sort(allocated);
  EXPECT_EQ(allocated.size(), 5U) << "all but the one that metadata kept";
  EXPECT_EQ(std::ranges::adjacent_find(allocated), allocated.end());
  EXPECT_NE(std::ranges::find(allocated, freed), allocated.end());
  rig.ExpectSound();
}

TEST(ZoneManagerTest, FullDeviceReturnsNoSpaceUntilDataIsDeleted) {
  ZoneTestRig rig(TestGeometry(6, 8));
  rig.Mount(0, 1);
  SinkCursor cursor;
  EXPECT_EQ(rig.zones->Space().free, 5 * 8 * kTestBlock);
  auto first = rig.WriteLive(cursor, Lifetime::kShort, 16);
  ASSERT_TRUE(first);
  auto rest = rig.WriteLive(cursor, Lifetime::kMedium, 24);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rig.zones->Space().free, 0U);
  auto refused = rig.Write(cursor, Lifetime::kShort, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kNoSpace);
  EXPECT_NE(refused.error().text().find("delete files"), std::string::npos);

  rig.zones->RemoveLive(*first);
  EXPECT_EQ(rig.zones->Space().free, 16 * kTestBlock);
  EXPECT_TRUE(rig.WriteLive(cursor, Lifetime::kShort, 16));
  rig.ExpectSound();
}

TEST(ZoneManagerTest, ZoneIsResetAfterItsLastPinIsDropped) {
  ZoneTestRig rig(TestGeometry(4, 8));
  rig.Mount();
  SinkCursor cursor;
  auto extents = rig.WriteLive(cursor, Lifetime::kShort, 8);
  ASSERT_TRUE(extents);
  ZonePin pin = rig.zones->Pin(rig.ZoneOf(extents->front()));
  ZonePin copy = pin;
  rig.zones->RemoveLive(*extents);
  pin = ZonePin();
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.device.count(Command::kReset), 0U);
  copy = ZonePin();
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.device.count(Command::kReset), 1U);
  EXPECT_EQ(rig.StatusOf(rig.ZoneOf(extents->front())).phase, ZonePhase::kEmpty);
}

TEST(ZoneManagerTest, WriterWaitsForAPendingReset) {
  ZoneTestRig rig(TestGeometry(4, 8));
  rig.Mount();
  SinkCursor cursor;
  auto extents = rig.WriteLive(cursor, Lifetime::kShort, 32);
  ASSERT_TRUE(extents);
  rig.device.Hold(Command::kReset);
  rig.zones->RemoveLive(std::span(*extents).first(1));
  ASSERT_TRUE(rig.device.WaitUntilHeld(1, ZoneTestRig::Soon()));
  auto late = rig.Write(cursor, Lifetime::kShort, 1, Deadline::After(std::chrono::milliseconds(1)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Code::kTimedOut);
  Result<ExtentSink::Placed> written = Fail(Code::kIo, "not run");
  {
    Thread writer("writer", [&] { written = rig.Write(cursor, Lifetime::kShort, 1); });
    rig.device.Release();
  }
  EXPECT_TRUE(written);
}

TEST(ZoneManagerTest, WriterGetsADeadZoneAfterItsLastPinIsDropped) {
  ZoneTestRig rig(TestGeometry(4, 8));
  rig.Mount();
  SinkCursor cursor;
  auto extents = rig.WriteLive(cursor, Lifetime::kShort, 32);
  ASSERT_TRUE(extents);
  ZonePin pin = rig.zones->Pin(rig.ZoneOf(extents->front()));
  rig.zones->RemoveLive(std::span(*extents).first(1));
  auto refused = rig.Write(cursor, Lifetime::kShort, 1, Deadline::After(std::chrono::milliseconds(20)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kNoSpace);
  pin = ZonePin();
  EXPECT_TRUE(rig.Write(cursor, Lifetime::kShort, 1));
}

TEST(ZoneManagerTest, StopWakesAWaiterWithShutdown) {
  ZoneTestRig rig(TestGeometry(4, 8, 5));
  rig.Mount();
  ZoneClaim mine;
  auto writer = rig.zones->AllocateData(mine, Lifetime::kShort, ZoneTestRig::Soon());
  ZoneClaim other;
  auto second = rig.zones->AllocateData(other, Lifetime::kShort, ZoneTestRig::Soon());
  ASSERT_TRUE(writer && second);
  Code code = Code::kIo;
  Thread waiter("waiter", [&] {
    SinkCursor cursor;
    auto result = rig.Write(cursor, Lifetime::kShort, 1);
    code = result ? Code::kIo : result.error().code();
  });
  rig.zones->Stop();
  waiter.Join();
  EXPECT_EQ(code, Code::kShutdown);
}

TEST(ZoneManagerTest, ReturnedLogZoneThatWasNeverWrittenIsNotReset) {
  ZoneTestRig rig(TestGeometry(4, 8));
  rig.Mount();
  const auto untouched = rig.zones->AllocateLogZone(ZoneTestRig::Soon());
  const auto written = rig.zones->AllocateLogZone(ZoneTestRig::Soon());
  ASSERT_TRUE(untouched && written);
  EXPECT_EQ(rig.zones->Space().log, 16 * kTestBlock);
  ASSERT_TRUE(rig.device.Write(rig.device.geometry().ZoneStart(*written), rig.Bytes(1)).ok());
  rig.zones->ReleaseLogZone(*untouched);
  rig.zones->ReleaseLogZone(*written);
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.device.count(Command::kReset), 1U);
  EXPECT_EQ(rig.zones->Space().free, 32 * kTestBlock);
  rig.ExpectSound();
}

// S1 of docs/internals/failures.md.
TEST(ZoneManagerTest, LifetimesAndRoomSurviveARemount) {
  ZoneTestRig rig(TestGeometry(8, 8));
  rig.Mount();
  SinkCursor a, b;
  auto shorter = rig.WriteLive(a, Lifetime::kShort, 3);
  auto extreme = rig.WriteLive(b, Lifetime::kExtreme, 2);
  ASSERT_TRUE(shorter && extreme);
  a = {};
  b = {};
  rig.Create();
  rig.Adopt({{*shorter, Lifetime::kShort}, {*extreme, Lifetime::kExtreme}});
  ASSERT_TRUE(rig.zones->Start().ok());
  auto again = rig.Write(a, Lifetime::kExtreme, 1);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->pin.zone(), rig.ZoneOf(extreme->front()));
  auto more = rig.Write(b, Lifetime::kShort, 1);
  ASSERT_TRUE(more);
  EXPECT_EQ(more->pin.zone(), rig.ZoneOf(shorter->front()));
  EXPECT_EQ(rig.zones->Space().live, 5 * kTestBlock);
}

TEST(ZoneManagerTest, ZonesThatWereNotAdoptedAreResetAfterAMount) {
  ZoneTestRig rig(TestGeometry(8, 8));
  rig.Mount();
  SinkCursor cursor;
  ASSERT_TRUE(rig.Write(cursor, Lifetime::kShort, 8));
  ASSERT_TRUE(rig.Write(cursor, Lifetime::kShort, 1));
  cursor = {};
  rig.Mount();
  EXPECT_EQ(rig.zones->Space().free, 64 * kTestBlock);
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.ActiveOnDevice(), 0U);
  rig.ExpectSound();
}

TEST(ZoneManagerTest, NoZoneIsOpenedWhileZonesOfTheLastMountHoldAllSlots) {
  ZoneTestRig rig(TestGeometry(16, 8, 6));  // two slots for data
  for (std::uint32_t zone = 0; zone < 6; ++zone) {
    ASSERT_TRUE(rig.device.Write(rig.device.geometry().ZoneStart(ZoneId(zone)), rig.Bytes(1)).ok());
  }
  ASSERT_EQ(rig.ActiveOnDevice(), 6U);
  rig.Mount();
  SinkCursor cursor;
  ASSERT_TRUE(rig.WriteLive(cursor, Lifetime::kShort, 4));  // the device would refuse one more active zone
  EXPECT_LE(rig.ActiveOnDevice(), 6U);
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.ActiveOnDevice(), 1U);
}

TEST(ZoneManagerTest, LiveActiveZonesBeyondThePlanAreFinished) {
  ZoneTestRig rig(TestGeometry(16, 8, 6));
  std::vector<ZoneTestRig::File> files;
  for (std::uint32_t zone = 0; zone < 4; ++zone) {
    const DeviceOffset place = rig.device.geometry().ZoneStart(ZoneId(zone));
    ASSERT_TRUE(rig.device.Write(place, rig.Bytes(zone + 1)).ok());
    files.push_back({{{0, place, (zone + 1) * kTestBlock}}, Lifetime::kLong});
  }
  rig.Create();
  rig.Adopt(files);
  ASSERT_TRUE(rig.zones->Start().ok());
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.ActiveOnDevice(), 2U);
  EXPECT_EQ(rig.StatusOf(ZoneId(0)).phase, ZonePhase::kActive);  // the zones with the most room are kept
  EXPECT_EQ(rig.StatusOf(ZoneId(3)).phase, ZonePhase::kFull);
  rig.ExpectSound();
}

// R8 of docs/internals/failures.md.
TEST(ZoneManagerTest, OfflineAndReadOnlyZonesAreCountedButNotUsed) {
  ZoneTestRig rig(TestGeometry(8, 8));
  ASSERT_TRUE(rig.device.Write(DeviceOffset(0), rig.Bytes(4)).ok());
  ASSERT_TRUE(rig.emulator.SetCondition(ZoneId(0), ZoneCondition::kReadOnly).ok());
  ASSERT_TRUE(rig.emulator.SetCondition(ZoneId(1), ZoneCondition::kOffline).ok());
  rig.Create();
  rig.Adopt({{{{0, DeviceOffset(0), 3 * kTestBlock}}, Lifetime::kLong}});
  ASSERT_TRUE(rig.zones->Start().ok());
  EXPECT_EQ(rig.StatusOf(ZoneId(0)).phase, ZonePhase::kRetired);
  EXPECT_EQ(rig.StatusOf(ZoneId(1)).phase, ZonePhase::kUnusable);
  EXPECT_EQ(rig.zones->Space().live, 3 * kTestBlock);
  EXPECT_EQ(rig.zones->Space().free, 48 * kTestBlock);
  SinkCursor cursor;
  EXPECT_TRUE(rig.WriteLive(cursor, Lifetime::kShort, 48));
  rig.ExpectSound();
}

TEST(ZoneManagerTest, ReadOnlyManagerChangesNothing) {
  ZoneTestRig rig(TestGeometry(8, 8));
  ASSERT_TRUE(rig.device.Write(DeviceOffset(0), rig.Bytes(4)).ok());
  ZoneManager::Options options;
  options.read_only = true;
  auto zones = ZoneManager::Create(rig.device, PlanSlots(rig.device.geometry(), rig.device.name()).value(),
                                   rig.device.Report(ZoneId(0), 8).value(), options);
  ASSERT_TRUE(zones);
  ASSERT_TRUE((*zones)->Start().ok());
  ZoneClaim claim;
  EXPECT_EQ((*zones)->AllocateData(claim, Lifetime::kShort, ZoneTestRig::Soon()).error().code(),
            Code::kReadOnly);
  ASSERT_TRUE((*zones)->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.device.count(Command::kReset), 0U);
}

TEST(ZoneManagerTest, IncompleteZoneReportIsRefused) {
  ZoneTestRig rig(TestGeometry(8, 8));
  auto zones = ZoneManager::Create(rig.device, PlanSlots(rig.device.geometry(), rig.device.name()).value(),
                                   rig.device.Report(ZoneId(1), 7).value(), {});
  ASSERT_FALSE(zones);
  EXPECT_EQ(zones.error().code(), Code::kInvalidArgument);
}

TEST(ZoneManagerTest, MisalignedOrTooLongWriteIsRefused) {
  ZoneTestRig rig(TestGeometry(8, 8));
  rig.Mount();
  ZoneClaim claim;
  auto writer = rig.zones->AllocateData(claim, Lifetime::kShort, ZoneTestRig::Soon());
  ASSERT_TRUE(writer);
  const std::vector<ByteView> odd{rig.Bytes(1).first(100)};
  const std::vector<ByteView> longer{rig.Bytes(9)};
  EXPECT_EQ(writer->Write(odd).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(writer->Write(longer).error().code(), Code::kInvalidArgument);
  const std::vector<ByteView> fits{rig.Bytes(3), rig.Bytes(5)};
  EXPECT_TRUE(writer->Write(fits));
  EXPECT_EQ(writer->room(), 0U);
}

TEST(ZoneManagerTest, RemovingMoreThanIsLiveStopsAllWrites) {
  ZoneTestRig rig(TestGeometry(8, 16));
  rig.Mount();
  SinkCursor cursor;
  auto live = rig.WriteLive(cursor, Lifetime::kMedium, 4);
  ASSERT_TRUE(live);
  const ZoneId zone = rig.ZoneOf(live->front());
  rig.zones->RemoveLive(*live);
  EXPECT_TRUE(rig.zones->health().ok());
  rig.zones->RemoveLive(*live);
  EXPECT_EQ(rig.StatusOf(zone).live, 0u);
  const Status health = rig.zones->health();
  ASSERT_FALSE(health.ok());
  EXPECT_EQ(health.error().code(), Code::kCorruption);
  EXPECT_EQ(health.error().ToString(),
            "zone 0: 16384 bytes were deleted where only 0 were counted as live; nothing more is written; "
            "unmount, run zenfs check, and report this if it finds no damage");
  const auto placed = rig.Write(cursor, Lifetime::kMedium, 1);
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().code(), Code::kCorruption);
  const auto lent = rig.zones->AllocateLogZone(ZoneTestRig::Soon());
  ASSERT_FALSE(lent);
  EXPECT_EQ(lent.error().code(), Code::kCorruption);
  // The zone is not reset, because it may contain live data.
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.StatusOf(zone).written, 4 * kTestBlock);
  rig.ExpectSound();
}

}  // namespace
}  // namespace zenfs
