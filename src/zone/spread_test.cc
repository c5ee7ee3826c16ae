// Files whose data is spread over several zones.
#include "zone/spread.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "zone/zone_test_rig.h"

namespace zenfs {
namespace {

using Command = FaultyDevice::Command;

Geometry DeviceOf(std::uint32_t zones, std::uint64_t zone_mib, std::uint32_t max_active) {
  return ToDeviceGeometry(
      {.zones = zones, .zone_size = zone_mib << 20, .max_open = max_active, .max_active = max_active}, false);
}
std::uint32_t SpreadOn(const Geometry& geometry) {
  const auto plan = PlanSlots(geometry, "device");
  EXPECT_TRUE(plan);
  return DefaultSpread(geometry, *plan);
}

TEST(DefaultSpreadTest, OnlyDrivesOfManySmallZonesSpread) {
  EXPECT_EQ(SpreadOn(DeviceOf(904, 2048, 14)), 1U) << "large zones";
  EXPECT_EQ(SpreadOn(DeviceOf(40'000, 64, 14)), 1U) << "few active zones";
  EXPECT_EQ(SpreadOn(DeviceOf(74'000, 256, 128)), 1U) << "a disk";
  EXPECT_EQ(SpreadOn(DeviceOf(1000, 16, 0)), 1U) << "no limit";
  EXPECT_EQ(SpreadOn(DeviceOf(40'000, 128, 384)), 40U);
  EXPECT_EQ(SpreadOn(DeviceOf(256, 128, 384)), 10U) << "a small device";
  EXPECT_EQ(SpreadOn(DeviceOf(16, 128, 384)), 1U);
}

TEST(DefaultSpreadTest, LogsHaveGroupsOfZonesOnlyThereAndSmallOnesOnSmallDevices) {
  EXPECT_EQ(LogGroup(DeviceOf(9'936, 128, 384)), 16U);
  EXPECT_EQ(LogGroup(DeviceOf(256, 128, 384)), 4U);
  EXPECT_EQ(LogGroup(DeviceOf(127, 128, 384)), 1U);
  EXPECT_EQ(LogGroup(DeviceOf(9'936, 2048, 384)), 1U);
  EXPECT_EQ(LogGroup(DeviceOf(9'936, 16, 14)), 1U);
  EXPECT_EQ(LogGroup(DeviceOf(9'936, 16, 0)), 1U);
  Geometry pair = DeviceOf(9'936, 128, 384);
  pair.log_zones = 8;
  EXPECT_EQ(LogGroup(pair), 1U) << "a second device";
  const Geometry drive = DeviceOf(9'936, 128, 384);
  EXPECT_EQ(PlanSlots(drive, "device")->data, 384U - 4 - 15) << "a slot for each zone of a group";
}

TEST(DefaultSpreadTest, AZoneIsFilledInSixteenTurnsAtLeast) {
  EXPECT_EQ(SpreadUnit(DeviceOf(100, 128, 384)), 128U << 10);
  EXPECT_EQ(SpreadUnit(DeviceOf(100, 1, 14)), 64U << 10);
  EXPECT_EQ(SpreadUnit(ToDeviceGeometry(TestGeometry(8, 4), false)), kTestBlock);
}

// Zones of 64 blocks, of which 4 are written in a turn; a file is spread over 4 of them.
class SpreadTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kZones = 4;
  using Parts = std::vector<ExtentSink::Placed>;

  SpreadTest() : rig_(TestGeometry(32, 64)) { rig_.Mount(0, 0, kZones); }

  // Bytes that tell where they belong in the file.
  static AlignedBuffer Content(std::uint64_t blocks) {
    AlignedBuffer content(blocks * kTestBlock);
    for (std::uint64_t i = 0; i < blocks; ++i)
      content.Append(AsBytes(std::string(kTestBlock, static_cast<char>('a' + i % 26))));
    return content;
  }
  // Writes all of `content`; the parts in the order of the file.
  Parts WriteAll(ByteView content) {
    Parts all;
    while (!content.empty()) {
      auto parts = rig_.sink->WriteSpread(cursor_, Lifetime::kMedium, {&content, 1}, ZoneTestRig::Soon());
      EXPECT_TRUE(parts && !parts->empty());
      if (!parts || parts->empty()) return all;
      for (ExtentSink::Placed& part : *parts) {
        content = content.subspan(part.length);
        all.push_back(std::move(part));
      }
    }
    return all;
  }
  void ExpectOnDevice(const Parts& parts, ByteView content) {
    std::uint64_t at = 0;
    for (const ExtentSink::Placed& part : parts) {
      AlignedBuffer read(part.length);
      read.Resize(part.length);
      ASSERT_TRUE(rig_.device.Read(part.place, read.Span()).ok());
      EXPECT_TRUE(std::ranges::equal(read.View(), content.subspan(at, part.length))) << "byte " << at;
      at += part.length;
    }
    EXPECT_EQ(at, content.size());
    rig_.ExpectSound();
  }
  std::uint32_t ZoneOf(const ExtentSink::Placed& part) const {
    return rig_.device.geometry().ZoneOf(part.place).value;
  }
  std::set<std::uint32_t> ZonesOf(const Parts& parts) const {
    std::set<std::uint32_t> zones;
    for (const ExtentSink::Placed& part : parts) zones.insert(ZoneOf(part));
    return zones;
  }

  ZoneTestRig rig_;
  SinkCursor cursor_;
};

TEST_F(SpreadTest, ALargeWriteGoesToAllZonesAtOnce) {
  const AlignedBuffer content = Content(16);
  const ByteView bytes = content.View();
  const auto parts = rig_.sink->WriteSpread(cursor_, Lifetime::kMedium, {&bytes, 1}, ZoneTestRig::Soon());
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->size(), kZones) << "with one call";
  EXPECT_EQ(ZonesOf(*parts).size(), kZones);
  ExpectOnDevice(*parts, content.View());
}

TEST_F(SpreadTest, ZonesAreWrittenInTurnsUntilTheyAreFullAndThenFollowedByOthers) {
  const AlignedBuffer content = Content(10 * 64 + 3);
  const Parts parts = WriteAll(content.View());
  ExpectOnDevice(parts, content.View());
  std::map<std::uint32_t, std::uint64_t> bytes;
  for (const ExtentSink::Placed& part : parts) bytes[ZoneOf(part)] += part.length;
  EXPECT_EQ(bytes.size(), 3 * kZones) << "groups of four, one after the other";
}

TEST_F(SpreadTest, SmallWritesStayInAZoneUntilItsTurnIsOver) {
  std::vector<std::uint32_t> zones;
  for (int i = 0; i < 8; ++i) {
    const AlignedBuffer block = Content(1);
    zones.push_back(ZoneOf(WriteAll(block.View()).front()));
  }
  EXPECT_EQ(zones[0], zones[3]);
  EXPECT_NE(zones[3], zones[4]);
  EXPECT_EQ(zones[4], zones[7]);
}

TEST_F(SpreadTest, ThePartsOfAWriteThatFailGoToOtherZones) {
  for (std::uint64_t kth = 1; kth <= kZones; ++kth) {
    SCOPED_TRACE(kth);
    rig_.device.Inject({.command = Command::kWrite, .kth = kth});
    const AlignedBuffer content = Content(24);
    ExpectOnDevice(WriteAll(content.View()), content.View());
    rig_.device.ClearFaults();
  }
}

TEST_F(SpreadTest, AWriteThatEveryZoneRefusesIsAnError) {
  rig_.device.Inject({.command = Command::kWrite, .times = FaultyDevice::kForEver});
  const AlignedBuffer content = Content(16);
  const ByteView bytes = content.View();
  const auto parts = rig_.sink->WriteSpread(cursor_, Lifetime::kMedium, {&bytes, 1}, ZoneTestRig::Soon());
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error().code(), Code::kIo);
  rig_.ExpectSound();
}

TEST_F(SpreadTest, ADeviceIsFilledToItsLastBlockAndThenSaysSo) {
  const std::uint64_t free = rig_.zones->Space().free;
  const AlignedBuffer content = Content(free / kTestBlock);
  const Parts parts = WriteAll(content.View());
  ExpectOnDevice(parts, content.View());
  const AlignedBuffer more = Content(16);
  const ByteView bytes = more.View();
  const auto none = rig_.sink->WriteSpread(cursor_, Lifetime::kMedium, {&bytes, 1},
                                           Deadline::After(std::chrono::milliseconds(1)));
  ASSERT_FALSE(none);
}

// Data is promised room for a whole write, and never gets the headroom.
class SpreadWithHeadroomTest : public SpreadTest {
 protected:
  SpreadWithHeadroomTest() : full_(TestGeometry(12, 64)) {
    full_.headroom = true;
    full_.Mount(0, 0, kZones);
  }
  // Appends writes of `blocks` of several files in turns until there is no room. Returns the bytes.
  std::uint64_t Fill(std::size_t files, std::uint64_t blocks) {
    const AlignedBuffer content = Content(blocks);
    std::vector<SinkCursor> cursors(files);
    for (std::uint64_t all = 0;;) {
      for (SinkCursor& cursor : cursors) {
        ByteView rest = content.View();
        while (!rest.empty()) {
          const auto parts = full_.sink->WriteSpread(cursor, Lifetime::kMedium, {&rest, 1},
                                                     Deadline::After(std::chrono::seconds(1)));
          if (!parts) {
            EXPECT_EQ(parts.error().code(), Code::kNoSpace) << "a wait for what nobody gives back";
            return all;
          }
          for (const ExtentSink::Placed& part : *parts) {
            rest = rest.subspan(part.length);
            all += part.length;
            pins_.push_back(part.pin);
          }
        }
      }
    }
  }

  ZoneTestRig full_;
  std::vector<ZonePin> pins_;
};

TEST_F(SpreadWithHeadroomTest, ADeviceIsFilledToTheHeadroomByOneFileAndBySeveral) {
  const std::uint64_t zone = 64 * kTestBlock;
  for (const std::size_t files : {1, 2, 3, 5}) {
    SCOPED_TRACE(files);
    pins_.clear();
    full_.Mount(0, 0, kZones);
    ASSERT_TRUE(full_.zones->DrainResets(ZoneTestRig::Soon()).ok());
    EXPECT_EQ(Fill(files, 24), 11 * zone) << "all but the zone for copies";
    full_.ExpectSound();
  }
}

// The least that a device may have.
class SpreadWithFourSlotsTest : public SpreadTest {
 protected:
  SpreadWithFourSlotsTest() : few_(TestGeometry(32, 64, kFewestSlots)) { few_.Mount(0, 0, kZones); }

  ZoneTestRig few_;
};

TEST_F(SpreadWithFourSlotsTest, AFileTakesTheZonesThatThereAre) {
  const AlignedBuffer content = Content(200);
  SinkCursor one, other;
  ByteView left = content.View(), right = content.View();
  while (!left.empty() || !right.empty()) {
    for (auto [cursor, rest] : {std::pair(&one, &left), std::pair(&other, &right)}) {
      if (rest->empty()) continue;
      const auto parts = few_.sink->WriteSpread(*cursor, Lifetime::kMedium, {rest, 1}, ZoneTestRig::Soon());
      ASSERT_TRUE(parts);
      for (const ExtentSink::Placed& part : *parts) *rest = rest->subspan(part.length);
    }
  }
  few_.ExpectSound();
}

}  // namespace
}  // namespace zenfs
