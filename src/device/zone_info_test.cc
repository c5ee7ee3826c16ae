#include "device/zone_info.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

using enum ZoneCondition;

ZoneInfo Zone(ZoneCondition condition, std::uint64_t pointer) {
  ZoneInfo zone;
  zone.id = ZoneId(1);
  zone.condition = condition;
  zone.start = DeviceOffset(16384);
  zone.capacity = 12288;
  zone.write_pointer = DeviceOffset(16384 + pointer);
  return zone;
}

TEST(ZoneInfoTest, WritePointerIsUsedIfItIsDefined) {
  for (const ZoneCondition condition : {kImplicitlyOpen, kExplicitlyOpen, kClosed}) {
    EXPECT_EQ(Zone(condition, 4096).WrittenBytes(), 4096u);
  }
  EXPECT_EQ(Zone(kEmpty, 0).WrittenBytes(), 0u);
}

TEST(ZoneInfoTest, FullAndReadOnlyZonesMayHoldDataUpToTheCapacity) {
  EXPECT_EQ(Zone(kFull, 16384).WrittenBytes(), 12288u);
  EXPECT_EQ(Zone(kFull, 0).WrittenBytes(), 12288u);
  EXPECT_EQ(Zone(kReadOnly, 4096).WrittenBytes(), 12288u);
}

TEST(ZoneInfoTest, OfflineAndConventionalZonesHoldNothing) {
  EXPECT_EQ(Zone(kOffline, 4096).WrittenBytes(), 0u);
  EXPECT_EQ(Zone(kNotWritePointer, 4096).WrittenBytes(), 0u);
}

// D11 of docs/internals/failures.md.
TEST(ZoneInfoTest, WritePointerBeyondTheCapacityIsClipped) {
  EXPECT_EQ(Zone(kClosed, 16384).WrittenBytes(), 12288u);
}

TEST(ZoneInfoTest, OpenZonesAndClosedOnesAreActive) {
  EXPECT_TRUE(IsActive(kImplicitlyOpen) && IsActive(kExplicitlyOpen) && IsActive(kClosed));
  EXPECT_FALSE(IsActive(kEmpty) || IsActive(kFull) || IsActive(kReadOnly) || IsActive(kOffline));
  EXPECT_FALSE(IsOpen(kClosed));
}

TEST(ZoneInfoTest, EveryConditionHasAName) {
  for (const ZoneCondition condition :
       {kNotWritePointer, kEmpty, kImplicitlyOpen, kExplicitlyOpen, kClosed, kFull, kReadOnly, kOffline}) {
    EXPECT_NE(ConditionName(condition), "unknown");
  }
}

}  // namespace
}  // namespace zenfs
