// Small syncs in the random write area of a zone.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/random.h"
#include "base/thread.h"
#include "testing/device_data.h"
#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

using Command = FaultyDevice::Command;

constexpr std::uint64_t kSmallRecord = kTestBlock / 8;
constexpr std::uint64_t kRoomInBlock = kTestBlock - kFrameHeaderBytes;

EmulatorGeometry GeometryWithAreas(std::uint64_t area_blocks) {
  EmulatorGeometry geometry = TestGeometry(24, 64);
  geometry.random_area = area_blocks * kTestBlock;
  geometry.random_unit = kTestBlock;
  geometry.random_zones = 2;
  return geometry;
}

class BlockSyncTest : public testing::Test {
 protected:
  void Mount(std::uint64_t area_blocks = 16) {
    file_.reset();  // before its log
    rig_ = std::make_unique<WalRig>(GeometryWithAreas(area_blocks), 2);
    rig_->sync_blocks = true;
    rig_->Mount();
    ASSERT_TRUE(rig_->WaitUntilAllocated(2));
    file_ = rig_->NewFile();
    Sync("first");
  }
  void Sync(const std::string& text) {
    ASSERT_TRUE(Append(*file_, text).ok());
    ASSERT_TRUE(file_->Sync().ok());
    content_ += text;
  }
  // Syncs `bytes` in records so small that they go to sync blocks.
  void SyncInSmallRecords(std::uint64_t bytes) {
    for (std::uint64_t n = 0; bytes != 0; bytes -= n) {
      n = std::min(bytes, kSmallRecord);
      Sync(TestText(n, bytes));
    }
  }
  // Bytes in log zones below their write pointers.
  std::uint64_t LogBytes() {
    std::uint64_t bytes = 0;
    const State now = rig_->state();
    for (const auto& [id, zone] : now.log_zones()) bytes += rig_->device.ReportZone(id)->WrittenBytes();
    return bytes;
  }
  ZoneId SyncZone() {
    const State now = rig_->state();
    for (const auto& [id, zone] : now.log_zones()) {
      if (rig_->device.ReportZone(id)->random_area) return id;
    }
    ADD_FAILURE() << "there is no sync zone";
    return ZoneId(0);
  }
  DeviceOffset SyncBlock(std::uint64_t number) {
    return rig_->device.geometry().ZoneStart(SyncZone()) + number * kTestBlock;
  }
  void ExpectAllFound() {
    EXPECT_EQ(WalRig::Content(*file_), content_);
    EXPECT_EQ(rig_->Recovered(file_->id()), content_);
  }

  std::unique_ptr<WalRig> rig_;
  std::shared_ptr<FramedFile> file_;
  std::string content_;
};

TEST_F(BlockSyncTest, SmallSyncsAreOneWriteEachAndTakeNoRoomInTheLog) {
  Mount();
  const std::uint64_t log = LogBytes();
  for (std::uint64_t i = 0; i < 20; ++i) {
    const std::uint64_t writes = rig_->Count(Command::kWrite);
    Sync(TestText(100, i));
    EXPECT_EQ(rig_->Count(Command::kWrite), writes + 1);
    ExpectAllFound();
  }
  EXPECT_EQ(LogBytes(), log);
}

TEST_F(BlockSyncTest, FullBlocksGoToTheLog) {
  Mount();
  for (std::uint64_t i = 0; i < 200; ++i) Sync(TestText(116, i));
  ExpectAllFound();
  EXPECT_EQ(LogBytes() / kTestBlock, content_.size() / kRoomInBlock) << "and nothing else";
  EXPECT_LE(LogBytes() / 201, 120U) << "bytes of flash for a record";
}

TEST_F(BlockSyncTest, RecordThatEndsWithTheBlockOrCrossesItIsFound) {
  for (std::uint64_t room = 0; room <= kSmallRecord; room += 64) {
    content_.clear();
    Mount();  // syncs 5 bytes
    SyncInSmallRecords(kRoomInBlock - 5 - room);
    EXPECT_EQ(LogBytes(), 0U);
    Sync(TestText(kSmallRecord, 2));
    EXPECT_EQ(LogBytes(), room == kSmallRecord ? 0U : kTestBlock);
    ExpectAllFound();
    Sync("end");
    EXPECT_EQ(LogBytes(), kTestBlock);
    ExpectAllFound();
  }
}

TEST_F(BlockSyncTest, AreaOfAnySizeGivesABoundedNumberOfPairs) {
  constexpr std::uint64_t kBlocks = 2 * (SyncArea::kPairsMax + std::uint64_t{100});
  EmulatorGeometry geometry = TestGeometry(24, kBlocks);
  geometry.random_area = kBlocks * kTestBlock;
  geometry.random_unit = kTestBlock;
  geometry.random_zones = 2;
  WalRig rig(geometry, 2);
  rig.sync_blocks = true;
  rig.Mount();
  ASSERT_TRUE(rig.WaitUntilAllocated(2));
  std::vector<SyncArea::Pair> pairs;
  while (auto pair = rig.log->sync_area().Take()) pairs.push_back(std::move(*pair));
  EXPECT_EQ(pairs.size(), SyncArea::kPairsMax);
  const State now = rig.state();
  EXPECT_EQ(std::ranges::count_if(now.log_zones(),
                                  [](const auto& zone) {
                                    return zone.second.sync_bytes == 2 * SyncArea::kPairsMax * kTestBlock;
                                  }),
            1)
      << "later mounts look at no more";
  pairs.pop_back();
  EXPECT_TRUE(rig.log->sync_area().Take()) << "a pair that was returned";
  pairs.clear();
}

TEST_F(BlockSyncTest, LargeSyncIsOneWriteToTheLog) {
  Mount();
  for (const std::uint64_t size : {kSmallRecord + 1, kRoomInBlock, 3 * kTestBlock}) {
    const std::uint64_t writes = rig_->Count(Command::kWrite);
    Sync(TestText(size, 1));
    EXPECT_EQ(rig_->Count(Command::kWrite), writes + 1);
    ExpectAllFound();
    Sync("small");
    ExpectAllFound();
  }
}

TEST_F(BlockSyncTest, BlockThatIsTornWhileItIsRewrittenHasNoSyncedByteAlone) {
  Mount();
  for (std::uint64_t i = 0; i < 7; ++i) {
    Sync(TestText(100, i));
    // The first sync was in block 0, so this one was in block (i + 1) % 2, and the next one is in the other block.
    const AlignedBuffer garbage = Pattern(kTestBlock, i);
    ASSERT_TRUE(rig_->device.Write(SyncBlock(i % 2), garbage.View()).ok());
    ExpectAllFound();
  }
}

TEST_F(BlockSyncTest, BytesThatAreSentToTheLogLaterAgreeWithTheBlock) {
  Mount();
  Random random(1);
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::string text = TestText(1 + random.Below(random.OneIn(6) ? 9000 : 300), i);
    content_ += text;
    ASSERT_TRUE(Append(*file_, text).ok());
    if (random.OneIn(5)) {
      ASSERT_TRUE(file_->WriteBack().ok());
    } else {
      ASSERT_TRUE(file_->Sync().ok());
    }
    ExpectAllFound();
  }
}

TEST_F(BlockSyncTest, BytesThatComeDuringASyncWaitForTheNextOne) {
  Mount();
  SyncInSmallRecords(kRoomInBlock - 105);  // leaves 100 bytes of the block
  const std::string crossing = TestText(200, 2);
  const std::string meanwhile = TestText(5000, 3);
  ASSERT_TRUE(Append(*file_, crossing).ok());
  rig_->device.Hold(Command::kWrite);
  Thread sync("sync", [this] { EXPECT_TRUE(file_->Sync().ok()); });
  ASSERT_TRUE(rig_->device.WaitUntilHeld(1, WalRig::Soon()));  // the full block
  ASSERT_TRUE(Append(*file_, meanwhile).ok());
  rig_->device.Release();
  sync.Join();
  content_ += crossing + meanwhile;
  EXPECT_TRUE(content_.starts_with(rig_->Recovered(file_->id())));
  EXPECT_GE(rig_->Recovered(file_->id()).size(), content_.size() - meanwhile.size());
  Sync("end");
  ExpectAllFound();
}

TEST_F(BlockSyncTest, BlockThatCannotBeWrittenIsDoneWithout) {
  Mount();
  Sync("good");
  rig_->device.Inject({.command = Command::kWrite, .zone = SyncZone()});
  Sync(", to the log");
  EXPECT_NE(LogBytes(), 0U);
  const std::uint64_t log = LogBytes();
  Sync(", this too");
  EXPECT_EQ(LogBytes(), log + kTestBlock);
  ExpectAllFound();
}

TEST_F(BlockSyncTest, FailedFlushFailsTheSyncAndTheNextOneMakesUpForIt) {
  Mount();
  Sync("good");
  rig_->device.Inject({.command = Command::kFlush});
  ASSERT_TRUE(Append(*file_, ", late").ok());
  EXPECT_EQ(file_->Sync().error().code(), Code::kIo);
  ASSERT_TRUE(file_->Sync().ok());
  content_ += ", late";
  Sync(", more");
  ExpectAllFound();
}

TEST_F(BlockSyncTest, SyncAfterATruncationIsNotTakenForDone) {
  Mount();
  Sync(TestText(400, 1));
  auto rewrite = file_->BeginTruncate(50);
  ASSERT_TRUE(rewrite);
  rewrite->End(rig_->Commit(rewrite->edits()));
  content_.resize(50);
  Sync(TestText(100, 2));
  ExpectAllFound();
}

TEST_F(BlockSyncTest, FilesBeyondTheAreaSyncToTheLog) {
  Mount(4);  // two pairs
  std::vector<std::shared_ptr<FramedFile>> files;
  for (int i = 0; i < 3; ++i) {
    files.push_back(rig_->NewFile());
    ASSERT_TRUE(Append(*files.back(), "text").ok());
    ASSERT_TRUE(files.back()->Sync().ok());
  }
  EXPECT_EQ(LogBytes(), 2 * kTestBlock);
  for (const auto& file : files) EXPECT_EQ(rig_->Recovered(file->id()), "text");
  files.clear();
  file_ = rig_->NewFile();
  content_.clear();
  Sync("a file that ended gives its blocks back");
  EXPECT_EQ(LogBytes(), 2 * kTestBlock);
  ExpectAllFound();
}

TEST_F(BlockSyncTest, WithoutAnAreaNothingChanges) {
  WalRig plain(TestGeometry(24, 64), 2);
  plain.sync_blocks = true;
  plain.Mount();
  const auto file = plain.NewFile();
  ASSERT_TRUE(Append(*file, "text").ok());
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_TRUE(plain.log->sync_area().off());
  EXPECT_EQ(plain.Recovered(file->id()), "text");
}

TEST_F(BlockSyncTest, ManyThreadsSyncManyFiles) {
  Mount(8);
  EXPECT_EQ(rig_->SyncFromManyThreads(6, 4, 40, 400), 0);
}

}  // namespace
}  // namespace zenfs
