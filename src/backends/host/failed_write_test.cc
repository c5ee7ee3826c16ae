#include "backends/host/failed_write.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace zenfs {
namespace {

using enum ZoneCondition;

constexpr std::uint64_t kBlock = 4096;
constexpr DeviceOffset kStart{64 * kBlock};

// A zone of 48 blocks with the write pointer at block `pointer`.
ZoneInfo Zone(ZoneCondition condition, std::uint64_t pointer) {
  return {.id = ZoneId(1),
          .condition = condition,
          .start = kStart,
          .capacity = 48 * kBlock,
          .write_pointer = kStart + pointer * kBlock};
}
// A write of 4 blocks at block 8.
FailedWrite Write(int os_errno = EIO) {
  return {.offset = kStart + 8 * kBlock,
          .length = 4 * kBlock,
          .pointer = kStart + 8 * kBlock,
          .os_errno = os_errno};
}
Code CodeFor(const FailedWrite& write, const ZoneInfo& zone) {
  return DescribeFailedWrite("dev:x", write, zone).code();
}

TEST(FailedWriteTest, PointerBehindTheLastByteMeansItMayHaveLanded) {
  EXPECT_TRUE(MayHaveLanded(Write(), Zone(kImplicitlyOpen, 12)));
  EXPECT_FALSE(MayHaveLanded(Write(), Zone(kImplicitlyOpen, 8)));
  EXPECT_FALSE(MayHaveLanded(Write(), Zone(kImplicitlyOpen, 11)));
  EXPECT_FALSE(MayHaveLanded(Write(), Zone(kImplicitlyOpen, 13)));
}

TEST(FailedWriteTest, WriteThatFillsItsZoneMayHaveLandedInAFullOne) {
  const FailedWrite last{
      .offset = kStart + 44 * kBlock, .length = 4 * kBlock, .pointer = kStart + 44 * kBlock, .os_errno = EIO};
  EXPECT_TRUE(MayHaveLanded(last, Zone(kFull, 48)));
  EXPECT_TRUE(MayHaveLanded(last, Zone(kFull, 64))) << "the pointer of a full zone says nothing";
  EXPECT_FALSE(MayHaveLanded(Write(), Zone(kFull, 48)));
}

TEST(FailedWriteTest, SlotLimitsAreBusyForAnyWritePointer) {
  EXPECT_FALSE(MayHaveLanded(Write(EOVERFLOW), Zone(kEmpty, 12)));
  EXPECT_EQ(CodeFor(Write(EOVERFLOW), Zone(kEmpty, 0)), Code::kBusy);
  EXPECT_EQ(CodeFor(Write(ETOOMANYREFS), Zone(kClosed, 8)), Code::kBusy);
}

TEST(FailedWriteTest, ConditionOfTheZoneIsTheError) {
  EXPECT_EQ(CodeFor(Write(), Zone(kReadOnly, 0)), Code::kReadOnly);
  EXPECT_EQ(CodeFor(Write(), Zone(kOffline, 0)), Code::kNotFound);
  EXPECT_EQ(CodeFor(Write(), Zone(kFull, 0)), Code::kZoneFull);
}

TEST(FailedWriteTest, PointerTellsWrongPlacesFromFailures) {
  EXPECT_EQ(CodeFor(Write(), Zone(kImplicitlyOpen, 8)), Code::kIo);
  EXPECT_EQ(CodeFor(Write(), Zone(kImplicitlyOpen, 10)), Code::kIo);
  EXPECT_EQ(CodeFor(Write(), Zone(kImplicitlyOpen, 12)), Code::kIo);
  EXPECT_EQ(CodeFor(Write(), Zone(kImplicitlyOpen, 5)), Code::kInvalidArgument);
  EXPECT_EQ(CodeFor(Write(), Zone(kImplicitlyOpen, 20)), Code::kInvalidArgument);
  EXPECT_EQ(CodeFor(Write(), Zone(kEmpty, 0)), Code::kInvalidArgument);
}

TEST(FailedWriteTest, WriteBehindThePointerNeverLandedAtIt) {
  FailedWrite again = Write();
  again.pointer = again.offset + again.length;
  EXPECT_FALSE(MayHaveLanded(again, Zone(kImplicitlyOpen, 12)));
  EXPECT_EQ(CodeFor(again, Zone(kImplicitlyOpen, 12)), Code::kInvalidArgument);
}

TEST(FailedWriteTest, OnlyAWriteThatMovedNothingWasRefusedUnwritten) {
  EXPECT_TRUE(WasRefusedUnwritten(Write(), Zone(kImplicitlyOpen, 8)));
  EXPECT_TRUE(WasRefusedUnwritten(Write(), Zone(kClosed, 8)));
  EXPECT_FALSE(WasRefusedUnwritten(Write(), Zone(kImplicitlyOpen, 9)));
  EXPECT_FALSE(WasRefusedUnwritten(Write(), Zone(kImplicitlyOpen, 5)));
  EXPECT_FALSE(WasRefusedUnwritten(Write(), Zone(kReadOnly, 8)));
  EXPECT_FALSE(WasRefusedUnwritten(Write(EOVERFLOW), Zone(kClosed, 8)));
}

TEST(FailedWriteTest, ErrorNamesPlaceAndReason) {
  const Error error = DescribeFailedWrite("dev:x", Write(), Zone(kImplicitlyOpen, 5));
  EXPECT_EQ(error.text(), "dev:x: write of 16384 bytes to zone 1 at 32768: the write pointer is at 20480");
  EXPECT_EQ(error.os_errno(), EIO);
}

TEST(FailedWriteTest, ConventionalZonesHaveNoPointerToTell) {
  ZoneInfo zone = Zone(kNotWritePointer, 12);
  zone.type = ZoneType::kConventional;
  EXPECT_FALSE(MayHaveLanded(Write(), zone));
  EXPECT_EQ(CodeFor(Write(), zone), Code::kIo);
}

}  // namespace
}  // namespace zenfs
