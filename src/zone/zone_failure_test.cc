// Device commands that fail: another zone is used, and nothing leaks.
#include "testing/device_data.h"
#include "zone/zone_test_rig.h"

namespace zenfs {
namespace {

using Command = FaultyDevice::Command;
using When = FaultyDevice::When;

// Expects that no slot, writer, pin or byte leaked, and that `usable_blocks` blocks can be written.
void ExpectNothingLeaked(ZoneTestRig& rig, std::uint64_t usable_blocks) {
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  rig.ExpectSound();
  EXPECT_EQ(rig.ActiveOnDevice(), 0U);
  for (const ZoneStatus& zone : rig.zones->Zones()) EXPECT_EQ(zone.pins, 0U) << zone.id.value;
  SinkCursor cursor;
  auto filled = rig.WriteLive(cursor, Lifetime::kMedium, usable_blocks);
  EXPECT_TRUE(filled) << filled.error().text();
}

struct WriteFault {
  const char* name;
  FaultyDevice::Fault fault;
};

class WriteFailureTest : public testing::TestWithParam<WriteFault> {};

// D13 of docs/internals/failures.md.
TEST_P(WriteFailureTest, AnotherZoneIsWrittenAndNothingLeaks) {
  ZoneTestRig rig(TestGeometry(8, 8, 5));
  rig.Mount();
  rig.device.Inject(GetParam().fault);
  {
    SinkCursor cursor;
    auto placed = rig.Write(cursor, Lifetime::kShort, 2);
    ASSERT_TRUE(placed) << placed.error().text();
    EXPECT_EQ(rig.device.count(Command::kWrite), GetParam().fault.times + 1);
  }
  std::uint64_t retired = 0;
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  for (const ZoneStatus& zone : rig.zones->Zones()) retired += zone.phase == ZonePhase::kRetired;
  EXPECT_EQ(retired, GetParam().fault.code == Code::kBusy && GetParam().fault.when == When::kBefore
                         ? 0U
                         : GetParam().fault.times);
  ExpectNothingLeaked(rig, (8 - retired) * 8);
}

INSTANTIATE_TEST_SUITE_P(
    All, WriteFailureTest,
    testing::Values(WriteFault{"NothingWritten", {Command::kWrite, 1, 1, {}, Code::kIo, When::kBefore}},
                    WriteFault{"WrittenAllTheSame", {Command::kWrite, 1, 1, {}, Code::kIo, When::kAfter}},
                    WriteFault{"UnknownOutcome",
                               {Command::kWrite, 1, 1, {}, Code::kUnknownOutcome, When::kAfter}},
                    WriteFault{"TwoZonesInARow", {Command::kWrite, 1, 2, {}, Code::kIo, When::kBefore}},
                    WriteFault{"NoSlotForANewZone", {Command::kWrite, 1, 1, {}, Code::kBusy, When::kBefore}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ZoneFailureTest, WriteFailsAfterAFewZonesIfTheDeviceRefusesAll) {
  ZoneTestRig rig(TestGeometry(16, 8));
  rig.Mount();
  rig.device.Inject({Command::kWrite, 1, 1000, {}, Code::kIo, When::kBefore});
  SinkCursor cursor;
  auto placed = rig.Write(cursor, Lifetime::kShort, 1);
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().code(), Code::kIo);
  EXPECT_NE(placed.error().text().find("zone"), std::string::npos);
  rig.device.ClearFaults();
  cursor = {};
  ExpectNothingLeaked(rig, 13 * 8);
}

// D13 of docs/internals/failures.md.
TEST(ZoneFailureTest, FailedReportAfterAFailedWriteLeaksNothing) {
  ZoneTestRig rig(TestGeometry(8, 8, 5));
  rig.Mount();
  rig.device.Inject({Command::kWrite, 1, 1, {}, Code::kIo, When::kAfter});
  rig.device.Inject({Command::kReport, 1, 1, {}, Code::kIo, When::kBefore});
  {
    SinkCursor cursor;
    ASSERT_TRUE(rig.Write(cursor, Lifetime::kShort, 1));
  }
  ExpectNothingLeaked(rig, 7 * 8);
}

TEST(ZoneFailureTest, ZoneThatTheDeviceMakesFullIsNoError) {
  ZoneTestRig rig(TestGeometry(8, 8));
  rig.Mount();
  SinkCursor cursor;
  auto first = rig.WriteLive(cursor, Lifetime::kShort, 2);
  ASSERT_TRUE(first);
  const ZoneId zone = rig.ZoneOf(first->front());
  ASSERT_TRUE(rig.emulator.SetCondition(zone, ZoneCondition::kFull).ok());
  auto second = rig.WriteLive(cursor, Lifetime::kShort, 2);
  ASSERT_TRUE(second);
  EXPECT_NE(rig.ZoneOf(second->front()), zone);
  EXPECT_EQ(rig.StatusOf(zone).phase, ZonePhase::kFull);
  rig.zones->RemoveLive(*first);
  rig.zones->RemoveLive(*second);
  cursor = {};
  ExpectNothingLeaked(rig, 64);
}

TEST(ZoneFailureTest, WriteSharesAnActiveZoneIfTheDeviceHasNoSlot) {
  ZoneTestRig rig(TestGeometry(8, 8));
  rig.Mount();
  SinkCursor a, b;
  auto first = rig.WriteLive(a, Lifetime::kExtreme, 1);
  ASSERT_TRUE(first);
  // All other zones refuse: on a busy machine the pause after a refusal may end before the write is tried again.
  for (const ZoneStatus& zone : rig.zones->Zones()) {
    if (zone.id == rig.ZoneOf(first->front())) continue;
    rig.device.Inject({.command = Command::kWrite,
                       .times = FaultyDevice::kForEver,
                       .zone = zone.id,
                       .code = Code::kBusy,
                       .when = When::kBefore});
  }
  auto second = rig.WriteLive(b, Lifetime::kShort, 1);
  ASSERT_TRUE(second);
  EXPECT_EQ(rig.ZoneOf(second->front()), rig.ZoneOf(first->front()));
  for (const ZoneStatus& zone : rig.zones->Zones()) EXPECT_NE(zone.phase, ZonePhase::kRetired);
}

TEST(ZoneFailureTest, WriteToABusyDeviceIsRepeatedUntilTheDeadline) {
  ZoneTestRig rig(TestGeometry(8, 8));
  rig.Mount();
  rig.device.Inject({Command::kWrite, 1, 1'000'000, {}, Code::kBusy, When::kBefore});
  SinkCursor cursor;
  auto placed = rig.Write(cursor, Lifetime::kShort, 1, Deadline::After(std::chrono::milliseconds(60)));
  ASSERT_FALSE(placed);
  EXPECT_TRUE(placed.error().code() == Code::kBusy || placed.error().code() == Code::kTimedOut);
  rig.device.ClearFaults();
  cursor = {};
  ExpectNothingLeaked(rig, 64);
}

TEST(ZoneFailureTest, BusyDeviceWithoutReportsCostsAFewZones) {
  ZoneTestRig rig(TestGeometry(16, 8));
  rig.Mount();
  rig.device.Inject({Command::kWrite, 1, 1'000'000, {}, Code::kBusy, When::kBefore});
  rig.device.Inject({Command::kReport, 1, 1'000'000, {}, Code::kIo, When::kBefore});
  SinkCursor cursor;
  const auto placed = rig.Write(cursor, Lifetime::kShort, 1, Deadline::After(std::chrono::milliseconds(500)));
  ASSERT_FALSE(placed);
  EXPECT_LE(rig.device.count(Command::kWrite), 3U) << "each costs a zone";
}

TEST(ZoneFailureTest, WriteFailsIfTheDeviceMakesEveryZoneFull) {
  ZoneTestRig rig(TestGeometry(8, 8));
  rig.Mount();
  rig.device.Inject({Command::kWrite, 1, 20'000, {}, Code::kZoneFull, When::kBefore});
  SinkCursor cursor;
  const auto placed = rig.Write(cursor, Lifetime::kShort, 1);
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().code(), Code::kIo);
  EXPECT_LT(rig.device.count(Command::kWrite), 100U);
  rig.device.ClearFaults();
  cursor = {};
  ExpectNothingLeaked(rig, 64);
}

// R9 of docs/internals/failures.md.
TEST(ZoneFailureTest, FailedResetCostsOnlyItsZone) {
  ZoneTestRig rig(TestGeometry(8, 8));
  rig.Mount();
  SinkCursor cursor;
  auto extents = rig.WriteLive(cursor, Lifetime::kShort, 16);
  ASSERT_TRUE(extents);
  const ZoneId bad = rig.ZoneOf(extents->front());
  rig.device.Inject({Command::kReset, 1, 1, bad, Code::kIo, When::kBefore});
  rig.zones->RemoveLive(*extents);
  cursor = {};
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.StatusOf(bad).phase, ZonePhase::kRetired);
  EXPECT_EQ(rig.zones->Space().lost, 8 * kTestBlock);
  ExpectNothingLeaked(rig, 56);
}

TEST(ZoneFailureTest, AZoneThatIsActiveAfterAFailedResetIsFinished) {
  ZoneTestRig rig(TestGeometry(8, 8));
  rig.Mount();
  SinkCursor cursor;
  auto extents = rig.WriteLive(cursor, Lifetime::kShort, 7);
  ASSERT_TRUE(extents);
  const ZoneId bad = rig.ZoneOf(extents->front());
  ASSERT_TRUE(IsActive(ReportOf(rig.device, bad).condition));
  rig.device.Inject({Command::kReset, 1, 1, bad, Code::kIo, When::kBefore});
  cursor = {};
  rig.zones->RemoveLive(*extents);
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.StatusOf(bad).phase, ZonePhase::kRetired);
  EXPECT_EQ(ReportOf(rig.device, bad).condition, ZoneCondition::kFull) << "its slot is free";
}

TEST(ZoneFailureTest, FailedResetThatWasCarriedOutCostsNothing) {
  ZoneTestRig rig(TestGeometry(8, 8));
  rig.Mount();
  SinkCursor cursor;
  auto extents = rig.WriteLive(cursor, Lifetime::kShort, 8);
  ASSERT_TRUE(extents);
  rig.device.Inject({Command::kReset, 1, 1, {}, Code::kUnknownOutcome, When::kAfter});
  rig.zones->RemoveLive(*extents);
  cursor = {};
  ExpectNothingLeaked(rig, 64);
}

// Other users share the slots of the device, so a finish may fail for lack of a slot although the zone is intact.
TEST(ZoneFailureTest, ZoneWithARefusedFinishIsResetOnceDead) {
  ZoneTestRig rig(TestGeometry(8, 8, 5));
  rig.Mount();
  SinkCursor cursor;
  const auto live = rig.WriteLive(cursor, Lifetime::kMedium, 3);
  ASSERT_TRUE(live);
  const ZoneId zone = rig.ZoneOf(live->front());
  // The device makes the zone full, but still reports it as active.
  rig.device.Inject({Command::kWrite, 1, 1, {}, Code::kZoneFull, When::kBefore});
  rig.device.Inject({Command::kFinish, 1, 1, {}, Code::kBusy, When::kBefore});
  ASSERT_TRUE(rig.WriteLive(cursor, Lifetime::kMedium, 1));
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.device.count(Command::kFinish), 1U);
  EXPECT_EQ(rig.StatusOf(zone).phase, ZonePhase::kFull);
  rig.zones->RemoveLive(*live);
  ASSERT_TRUE(rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.StatusOf(zone).phase, ZonePhase::kEmpty);
}

}  // namespace
}  // namespace zenfs
