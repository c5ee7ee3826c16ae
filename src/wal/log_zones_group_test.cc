// Logs over a group of zones, which are written in turns.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "wal/wal_test_rig.h"

namespace zenfs::log_group_test {
namespace {

using Command = FaultyDevice::Command;

constexpr std::uint32_t kGroup = 4;
constexpr std::uint64_t kBlocks = 64;
constexpr std::uint64_t kUnit = kBlocks / 16;  // blocks

class LogGroupTest : public testing::Test {
 protected:
  void Mount(std::uint32_t zones = 64, std::uint32_t active = 14) {
    rig_ = std::make_unique<WalRig>(TestGeometry(zones, kBlocks, active), 1);
    rig_->log_group = kGroup;
    rig_->log_needs = 2 * kGroup;
    rig_->reclaims = true;
    rig_->Mount();
    AwaitZones(kGroup);
  }
  // Waits until the log has `zones` zones.
  void AwaitZones(std::size_t zones) const {
    const Deadline deadline = WalRig::Soon();
    while (rig_->log->zones().Zones().size() < zones && !deadline.Passed())
      SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
    ASSERT_GE(rig_->log->zones().Zones().size(), zones);
  }
  std::vector<PlacedFrame> Write(std::uint64_t blocks, bool unsplit = false) {
    sequence_ += 1;
    TestJob job(9, sequence_, offset_, TestText(blocks * kTestBlock - kFrameHeaderBytes, sequence_));
    job.job.unsplit = unsplit;
    auto placed = rig_->log->writer().Write(job.job);
    EXPECT_TRUE(placed) << placed.error().ToString();
    if (!placed) return {};
    sequence_ += placed->size() - 1;
    for (const PlacedFrame& frame : *placed) offset_ += frame.length;
    return *std::move(placed);
  }
  // Appends and syncs records to a new file, each after a call of `before`. All are there, also for a mount.
  void SyncRecords(std::uint64_t count, const std::function<void(std::uint64_t)>& before = {}) {
    const auto file = rig_->NewFile();
    std::string content;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (before) before(i);
      const std::string text = TestText(1 + i * 331 % 9'000, i);
      ASSERT_TRUE(Append(*file, text).ok());
      ASSERT_TRUE(file->Sync().ok());
      content += text;
    }
    EXPECT_EQ(WalRig::Content(*file), content);
    EXPECT_EQ(rig_->Recovered(file->id()), content);
    EXPECT_EQ(rig_->zones->Check(), std::vector<std::string>());
  }
  // Writes a unit to each zone of the group.
  void WriteATurn() {
    for (std::uint64_t blocks = 0; blocks < kGroup * kUnit; ++blocks) Write(1);
  }
  // Zones with frames that are not full, and the bytes in each.
  std::map<ZoneId, std::uint64_t> Written() const {
    std::map<ZoneId, std::uint64_t> written;
    for (const LogZoneStatus& zone : rig_->log->zones().Zones())
      if (!zone.closed && zone.written != 0) written[zone.zone] = zone.written;
    return written;
  }
  std::map<std::uint64_t, std::size_t> ZonesOfGenerations() const {
    std::map<std::uint64_t, std::size_t> zones;
    for (const LogZoneStatus& zone : rig_->log->zones().Zones()) ++zones[zone.generation];
    return zones;
  }
  // Takes all zones but `left` out of the pool.
  void FillDevice(std::uint64_t left) {
    ExtentSink sink(*rig_->zones);
    AlignedBuffer content(kBlocks * kTestBlock);
    content.Resize(kBlocks * kTestBlock);
    const ByteView bytes = content.View();
    for (SinkCursor cursor; rig_->zones->Space().free > left * kBlocks * kTestBlock;) {
      auto placed = sink.Write(cursor, Lifetime::kLong, {&bytes, 1}, WalRig::Soon());
      ASSERT_TRUE(placed) << placed.error().ToString();
      pins_.push_back(std::move(placed->pin));
    }
  }

  std::unique_ptr<WalRig> rig_;
  std::uint64_t sequence_ = 0;
  std::uint64_t offset_ = 0;
  std::vector<ZonePin> pins_;
};

TEST_F(LogGroupTest, AGroupIsAllocatedByOneCommitWithOneGeneration) {
  Mount();
  EXPECT_EQ(ZonesOfGenerations(), (std::map<std::uint64_t, std::size_t>{{1, kGroup}}));
  EXPECT_EQ(rig_->state().next_generation(), 2U);
}

TEST_F(LogGroupTest, EachZoneGetsAUnitInTurns) {
  Mount();
  WriteATurn();
  for (const auto& [zone, bytes] : Written()) EXPECT_EQ(bytes, kUnit * kTestBlock);
  EXPECT_EQ(Written().size(), kGroup);
  WriteATurn();
  for (const auto& [zone, bytes] : Written()) EXPECT_EQ(bytes, 2 * kUnit * kTestBlock);
}

TEST_F(LogGroupTest, TheNextGroupIsWrittenWhenAllZonesAreFull) {
  Mount();
  for (std::uint64_t turn = 0; turn < kBlocks / kUnit; ++turn) {
    AwaitZones(turn == 0 ? kGroup : 2 * kGroup);
    WriteATurn();
    const auto generations = ZonesOfGenerations();
    EXPECT_LE(generations.size(), 2U);
  }
  EXPECT_TRUE(Written().empty());
  std::size_t closed = 0;
  for (const LogZoneStatus& zone : rig_->log->zones().Zones()) {
    closed += zone.closed ? 1 : 0;
    EXPECT_EQ(zone.closed, zone.generation == 1);
  }
  EXPECT_EQ(closed, kGroup);
  WriteATurn();
  EXPECT_EQ(Written().size(), kGroup);
}

TEST_F(LogGroupTest, ALargeFrameIsDividedAmongTheZones) {
  Mount();
  const std::vector<PlacedFrame> parts = Write(kGroup * kUnit);
  std::set<std::uint32_t> zones;
  for (const PlacedFrame& part : parts) {
    EXPECT_LE(part.device_bytes, kUnit * kTestBlock);
    zones.insert(part.pin.zone().value);
  }
  EXPECT_EQ(zones.size(), kGroup);
}

// A frame that a flush may have lost: its sequence is the only one left for it.
TEST_F(LogGroupTest, AFrameThatMayNotBeDividedStaysInOneZone) {
  Mount();
  for (std::uint64_t blocks = 1; blocks <= 2 * kUnit; ++blocks) {
    Write(1);
    EXPECT_EQ(Write(blocks, /*unsplit=*/true).size(), 1U);
  }
  EXPECT_EQ(Written().size(), kGroup);
}

TEST_F(LogGroupTest, ALogIsFoundInAllItsZones) {
  Mount();
  const auto file = rig_->NewFile();
  std::string content;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::string text = TestText(1 + i * 701 % 30'000, i);
    ASSERT_TRUE(Append(*file, text).ok());
    ASSERT_TRUE(file->Sync().ok());
    content += text;
    ASSERT_EQ(rig_->Recovered(file->id()), content);
  }
  EXPECT_GE(file->FrameZones().size(), kGroup);
  EXPECT_EQ(WalRig::Content(*file), content);
}

TEST_F(LogGroupTest, AfterAMountThePartlyWrittenGroupIsWrittenOn) {
  Mount();
  WriteATurn();
  const auto before = Written();
  rig_->Mount();
  WriteATurn();
  EXPECT_EQ(Written().size(), kGroup);
  for (const auto& [zone, bytes] : Written()) {
    ASSERT_TRUE(before.contains(zone));
    EXPECT_EQ(bytes, before.at(zone) + kUnit * kTestBlock);
  }
}

TEST_F(LogGroupTest, AfterAKillInTheFirstTurnTheUnwrittenZonesOfTheGroupAreWrittenToo) {
  Mount();
  Write(1);
  rig_->Mount();
  WriteATurn();
  EXPECT_EQ(Written().size(), kGroup);
  EXPECT_EQ(ZonesOfGenerations().at(1), kGroup);
}

// The device has other limits by another way to it.
TEST_F(LogGroupTest, AMountWithAGroupOfOneZoneFinishesTheOthers) {
  Mount();
  WriteATurn();
  const auto before = Written();
  rig_->log_group = 1;
  rig_->Mount(false);
  EXPECT_EQ(Written().size(), 1U);
  std::size_t full = 0;
  for (const auto& [zone, bytes] : before) full += rig_->ConditionOf(zone) == ZoneCondition::kFull ? 1 : 0;
  EXPECT_EQ(full, kGroup - 1);
}

TEST_F(LogGroupTest, AMountKeepsThePartlyWrittenZonesOfTheRoomiestGroupOnly) {
  Mount();
  for (std::uint64_t turn = 0; turn < kBlocks / kUnit; ++turn) WriteATurn();
  AwaitZones(2 * kGroup);
  WriteATurn();
  const auto newer = Written();
  rig_->Mount(false);
  EXPECT_EQ(Written(), newer);
}

// While the log holds less than its share, it takes zones that data would not get anyway.
TEST_F(LogGroupTest, WhileEmptyZonesAreFewGroupsAreSmaller) {
  Mount(32);
  FillDevice(3);
  for (std::uint64_t turn = 0; turn < kBlocks / kUnit; ++turn) WriteATurn();
  WriteATurn();
  AwaitZones(2 * kGroup + 1);
  EXPECT_EQ(ZonesOfGenerations(), (std::map<std::uint64_t, std::size_t>{{1, kGroup}, {2, kGroup}, {3, 1}}));
  EXPECT_EQ(rig_->zones->Check(), std::vector<std::string>());
}

TEST_F(LogGroupTest, WithoutACollectorAGroupHasOneZone) {
  rig_ = std::make_unique<WalRig>(TestGeometry(64, kBlocks, 14), 1);
  rig_->log_group = kGroup;
  rig_->Mount();
  AwaitZones(1);
  Write(4 * kUnit);
  EXPECT_EQ(Written().size(), 1U);
}

TEST_F(LogGroupTest, AnAllocationThatFailsReturnsAllZones) {
  rig_ = std::make_unique<WalRig>(TestGeometry(64, kBlocks, 14), 1);
  rig_->log_group = kGroup;
  rig_->reclaims = true;
  rig_->FailAllocations(1'000'000);
  rig_->Mount(false);
  const std::uint64_t free = rig_->zones->Space().free;
  EXPECT_FALSE(rig_->log->supply().AllocateGroup(WalRig::Soon()).ok());
  ASSERT_TRUE(rig_->zones->DrainResets(WalRig::Soon()).ok());
  EXPECT_EQ(rig_->zones->Space().free, free);
  EXPECT_EQ(rig_->zones->Check(), std::vector<std::string>());
}

TEST_F(LogGroupTest, AZoneThatFailsLeavesTheOthers) {
  Mount();
  SyncRecords(64, [this](std::uint64_t i) {
    if (i % 8 == 3) rig_->device.Inject({.command = Command::kWrite});
  });
}

TEST_F(LogGroupTest, ZonesThatTurnBadInsideAGroupLoseNothingThatCanBeRead) {
  for (const ZoneCondition condition : {ZoneCondition::kReadOnly, ZoneCondition::kOffline}) {
    SCOPED_TRACE(static_cast<int>(condition));
    Mount();
    // Two of the unwritten zones.
    ASSERT_TRUE(rig_->emulator.SetCondition(ZoneId(1), condition).ok());
    ASSERT_TRUE(rig_->emulator.SetCondition(ZoneId(2), condition).ok());
    SyncRecords(100);
  }
}

TEST_F(LogGroupTest, ThreadsThatSyncByWritesAndByAppendsLoseNothing) {
  for (const WalSending sending : {WalSending::kWrite, WalSending::kAppend, WalSending::kAuto}) {
    SCOPED_TRACE(static_cast<int>(sending));
    rig_ = std::make_unique<WalRig>(TestGeometry(64, kBlocks, 14), 2);
    rig_->log_group = kGroup;
    rig_->reclaims = true;
    rig_->sending = sending;
    rig_->Mount();
    EXPECT_EQ(rig_->SyncFromManyThreads(4, 6, 20, 5'000), 0);
  }
}

}  // namespace
}  // namespace zenfs::log_group_test
