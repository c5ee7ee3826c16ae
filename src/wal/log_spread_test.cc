// Frames of logs that are spread over several zones, which are written in turns.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "wal/wal_test_rig.h"

namespace zenfs::log_spread_test {
namespace {

using Command = FaultyDevice::Command;

constexpr std::uint32_t kSpread = 4;
constexpr std::uint64_t kBlocks = 64;
constexpr std::uint64_t kUnit = kBlocks / 16;  // blocks

class LogSpreadTest : public testing::Test {
 protected:
  void Mount(std::uint32_t zones = 64, std::uint32_t active = 14) {
    rig_ = std::make_unique<WalRig>(TestGeometry(zones, kBlocks, active), 1);
    rig_->spread = kSpread;
    rig_->reclaims = true;
    rig_->Mount();
    ASSERT_TRUE(rig_->WaitUntilAllocated(1));
  }
  // Writes frames of a block until `zones` zones are written in turns.
  void WriteUntilSpread(std::size_t zones = kSpread) {
    for (int i = 0; i < 1000 && Written().size() < zones; ++i) Write(1);
    ASSERT_EQ(Written().size(), zones);
  }
  std::vector<PlacedFrame> Write(std::uint64_t blocks) {
    sequence_ += 1;
    TestJob job(9, sequence_, offset_, TestText(blocks * kTestBlock - kFrameHeaderBytes, sequence_));
    auto placed = rig_->log->writer().Write(job.job);
    EXPECT_TRUE(placed) << placed.error().ToString();
    if (!placed) return {};
    sequence_ += placed->size() - 1;
    for (const PlacedFrame& frame : *placed) offset_ += frame.length;
    return *std::move(placed);
  }
  // Zones with frames that are not full, and the bytes in each.
  std::map<ZoneId, std::uint64_t> Written() const {
    std::map<ZoneId, std::uint64_t> written;
    for (const LogZoneStatus& zone : rig_->log->zones().Zones())
      if (!zone.closed && zone.written != 0) written[zone.zone] = zone.written;
    return written;
  }
  // Only data that is written from now on has room: a zone is left.
  void FillDevice() {
    const auto sink = MakeZoneExtentSink(*rig_->zones);
    for (SinkCursor cursor; rig_->zones->Space().free > 2 * kBlocks * kTestBlock;) {
      const AlignedBuffer content = [] {
        AlignedBuffer buffer(kBlocks * kTestBlock);
        buffer.Resize(kBlocks * kTestBlock);
        return buffer;
      }();
      const ByteView bytes = content.View();
      auto placed = sink->Write(cursor, Lifetime::kLong, {&bytes, 1}, WalRig::Soon());
      ASSERT_TRUE(placed) << placed.error().ToString();
      pins_.push_back(std::move(placed->pin));
    }
  }

  std::unique_ptr<WalRig> rig_;
  std::uint64_t sequence_ = 0;
  std::uint64_t offset_ = 0;
  std::vector<ZonePin> pins_;
};

TEST_F(LogSpreadTest, EachZoneGetsAPart) {
  Mount();
  WriteUntilSpread();
  const auto before = Written();
  for (std::uint64_t blocks = 0; blocks < kSpread * kUnit; ++blocks) Write(1);
  for (const auto& [zone, bytes] : Written()) EXPECT_EQ(bytes, before.at(zone) + kUnit * kTestBlock);
}

TEST_F(LogSpreadTest, ALargeFrameIsDividedAmongTheZones) {
  Mount();
  WriteUntilSpread();
  const std::vector<PlacedFrame> parts = Write(kSpread * kUnit);
  std::set<std::uint32_t> zones;
  for (const PlacedFrame& part : parts) {
    EXPECT_LE(part.device_bytes, kUnit * kTestBlock);
    zones.insert(part.pin.zone().value);
  }
  EXPECT_EQ(zones.size(), kSpread);
}

TEST_F(LogSpreadTest, ALogIsFoundInAllItsZones) {
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
  EXPECT_GE(file->FrameZones().size(), kSpread);
  EXPECT_EQ(WalRig::Content(*file), content);
}

TEST_F(LogSpreadTest, AfterAMountTheZonesAreWrittenOn) {
  Mount();
  WriteUntilSpread();
  const auto before = Written();
  rig_->Mount();
  WriteUntilSpread();
  for (std::uint64_t blocks = 0; blocks < kSpread * kUnit; ++blocks) Write(1);
  for (const auto& [zone, bytes] : Written()) EXPECT_TRUE(before.contains(zone));
}

TEST_F(LogSpreadTest, AMountForFewerZonesFinishesTheOthers) {
  Mount();
  WriteUntilSpread();
  const auto before = Written();
  rig_->spread = 1;
  rig_->Mount(false);
  EXPECT_EQ(Written().size(), 1U);
  int full = 0;
  for (const auto& [zone, bytes] : before) full += rig_->ConditionOf(zone) == ZoneCondition::kFull ? 1 : 0;
  EXPECT_EQ(full, kSpread - 1);
}

// What is dead in them would be lost to data.
TEST_F(LogSpreadTest, IdleZonesAreReleasedWhenSpaceIsShort) {
  Mount();
  WriteUntilSpread();
  const auto before = Written();
  // A file that is gone: none of its frames is live.
  for (const LogZoneStatus& zone : rig_->log->zones().Zones())
    rig_->log->zones().RemoveLive(zone.zone, zone.live);
  rig_->log->supply().CloseIdle();
  EXPECT_EQ(Written().size(), 1U);
  int released = 0;
  for (const auto& [zone, bytes] : before) {
    if (zone == Written().begin()->first) continue;
    EXPECT_TRUE(rig_->WaitUntilReleased(zone));
    ++released;
  }
  EXPECT_EQ(released, kSpread - 1);
  ASSERT_TRUE(rig_->zones->operations().Drain(WalRig::Soon()).ok());
  for (int i = 0; i < 100; ++i) Write(1);
  EXPECT_EQ(rig_->zones->Check(), std::vector<std::string>());
}

TEST_F(LogSpreadTest, WhileEmptyZonesAreFewNoneIsAdded) {
  Mount(24);
  FillDevice();
  ASSERT_TRUE(rig_->zones->IsShortOfEmptyZones());
  for (std::uint64_t blocks = 0; blocks + 1 < kBlocks; ++blocks) {
    Write(1);
    EXPECT_EQ(Written().size(), 1U);
  }
}

// A frame that a flush may have lost: its sequence is the only one left for it.
TEST_F(LogSpreadTest, AFrameThatMayNotBeDividedStaysInOneZone) {
  Mount();
  WriteUntilSpread();
  for (std::uint64_t blocks = 1; blocks <= 2 * kUnit; ++blocks) {
    Write(1);
    sequence_ += 1;
    TestJob job(9, sequence_, offset_, TestText(blocks * kTestBlock - kFrameHeaderBytes, sequence_));
    job.job.unsplit = true;
    const auto placed = rig_->log->writer().Write(job.job);
    ASSERT_TRUE(placed) << placed.error().ToString();
    EXPECT_EQ(placed->size(), 1U);
    offset_ += placed->front().length;
  }
  EXPECT_EQ(Written().size(), kSpread);
}

TEST_F(LogSpreadTest, AZoneThatFailsLeavesTheOthers) {
  Mount();
  WriteUntilSpread();
  const auto file = rig_->NewFile();
  std::string content;
  for (std::uint64_t i = 0; i < 64; ++i) {
    if (i % 8 == 3) rig_->device.Inject({.command = Command::kWrite});
    const std::string text = TestText(1 + i * 331 % 9'000, i);
    ASSERT_TRUE(Append(*file, text).ok());
    ASSERT_TRUE(file->Sync().ok());
    content += text;
  }
  EXPECT_EQ(WalRig::Content(*file), content);
  EXPECT_EQ(rig_->Recovered(file->id()), content);
  EXPECT_EQ(rig_->zones->Check(), std::vector<std::string>());
}

TEST_F(LogSpreadTest, ThreadsThatSyncByWritesAndByAppendsLoseNothing) {
  for (const WalSending sending : {WalSending::kWrite, WalSending::kAppend, WalSending::kAuto}) {
    SCOPED_TRACE(static_cast<int>(sending));
    rig_ = std::make_unique<WalRig>(TestGeometry(64, kBlocks, 14), 2);
    rig_->spread = kSpread;
    rig_->sending = sending;
    rig_->Mount();
    EXPECT_EQ(rig_->SyncFromManyThreads(4, 6, 20, 5'000), 0);
  }
}

}  // namespace
}  // namespace zenfs::log_spread_test
