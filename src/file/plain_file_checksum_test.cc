#include <functional>

#include "base/aligned_buffer.h"
#include "base/thread.h"
#include "file/plain_file_test_rig.h"
#include "testing/bit_rot.h"
#include "testing/borrowed_device.h"
#include "testing/watched_device.h"

namespace zenfs {
namespace {

void ExpectAllSummed(PlainFileRig& rig) {
  const PlainFileRig::Sums sums = rig.CheckSums();
  EXPECT_TRUE(sums.right);
  EXPECT_EQ(sums.known, rig.committed_size);
}

TEST(PlainFileChecksumTest, ChecksumCoversTheFilesBytesWithoutPadding) {
  PlainFileRig rig;
  const std::string data = Pattern(2 * kTestBlock + 100, 1);
  ASSERT_TRUE(rig.file->Append(AsBytes(data)).ok());
  ASSERT_TRUE(rig.Sync().ok());
  ASSERT_EQ(rig.committed.size(), 1U);
  EXPECT_EQ(rig.committed[0].crc, Crc32c(AsBytes(data)));
}

TEST(PlainFileChecksumTest, ExtentThatGrowsOverManySyncsHasOneChecksum) {
  PlainFileRig rig(32, 64);
  std::string data;
  for (int i = 0; i < 20; ++i) {
    const std::string more = Pattern(i % 3 == 0 ? 3 * kTestBlock : 777, i);
    ASSERT_TRUE(rig.file->Append(AsBytes(more)).ok());
    ASSERT_TRUE(rig.Sync().ok());
    data += more;
    ExpectAllSummed(rig);
  }
  rig.Reopen();
  EXPECT_EQ(rig.ReadAll(), data);
}

TEST(PlainFileChecksumTest, AppendAfterReopenKeepsTheChecksums) {
  PlainFileRig rig;
  ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(3 * kTestBlock + 5, 1))).ok());
  ASSERT_TRUE(rig.Sync().ok());
  rig.Reopen();
  ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(kTestBlock, 2))).ok());
  ASSERT_TRUE(rig.Sync().ok());
  ExpectAllSummed(rig);
}

TEST(PlainFileChecksumTest, WriteOverTheEndOfAZoneHasAChecksumInEachZone) {
  PlainFileRig rig(32, 4, 8 * kTestBlock);
  ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(11 * kTestBlock + 17, 1))).ok());
  ASSERT_TRUE(rig.Sync().ok());
  EXPECT_GE(rig.committed.size(), 3U);
  ExpectAllSummed(rig);
}

// RocksDB's direct writer pads the last page, writes it again later, and truncates to the true size at the end.
TEST(PlainFileChecksumTest, RewrittenTailAndTruncationToTheTrueSizeKeepTheChecksums) {
  PlainFileRig rig(32, 64, 8 * kTestBlock);
  const std::string data = Pattern(9 * kTestBlock + 100, 1);
  AlignedBuffer buffer(16 * kTestBlock);
  buffer.Append(AsBytes(data).first(5 * kTestBlock + 10));
  buffer.PadTo(kTestBlock);
  ASSERT_TRUE(rig.file->PositionedAppend(buffer.View(), 0).ok());
  ASSERT_TRUE(rig.Sync().ok());
  ExpectAllSummed(rig);
  buffer.Clear();
  buffer.Append(AsBytes(data).subspan(5 * kTestBlock));
  buffer.PadTo(kTestBlock);
  ASSERT_TRUE(rig.file->PositionedAppend(buffer.View(), 5 * kTestBlock).ok());
  ASSERT_TRUE(rig.file->Truncate(data.size()).ok());
  ASSERT_TRUE(rig.Sync().ok());
  ExpectAllSummed(rig);
  rig.Reopen();
  EXPECT_EQ(rig.ReadAll(), data);
}

TEST(PlainFileChecksumTest, TruncatedExtentHasAChecksum) {
  for (const bool reopened : {false, true}) {
    PlainFileRig rig;
    ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(5 * kTestBlock, 1))).ok());
    ASSERT_TRUE(rig.Sync().ok());
    if (reopened) rig.Reopen();
    ASSERT_TRUE(rig.file->Truncate(2 * kTestBlock + 1).ok());
    ASSERT_TRUE(rig.Sync().ok());
    ExpectAllSummed(rig);
    ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(3 * kTestBlock, 2))).ok());
    ASSERT_TRUE(rig.Sync().ok());
    ExpectAllSummed(rig);
  }
}

TEST(PlainFileChecksumTest, PartlyWrittenAppendThatFailsKeepsTheChecksumsWithoutReads) {
  for (const std::uint64_t size : {3 * kTestBlock, 3 * kTestBlock + 100, std::uint64_t{100}}) {
    for (const bool synced : {true, false}) {
      PlainFileRig rig(4, 16);
      ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(size, 1))).ok());
      if (synced) {
        ASSERT_TRUE(rig.Sync().ok());
      }
      const std::uint64_t before = rig.zone_rig.device.count(FaultyDevice::Command::kRead);
      EXPECT_EQ(rig.file->Append(AsBytes(Pattern(80 * kTestBlock, 2))).error().code(), Code::kNoSpace);
      EXPECT_EQ(rig.zone_rig.device.count(FaultyDevice::Command::kRead), before);
      ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(50, 3))).ok());
      ASSERT_TRUE(rig.Sync().ok());
      EXPECT_EQ(rig.committed_size, size + 50);
      EXPECT_EQ(rig.ReadAll(), Pattern(size, 1) + Pattern(50, 3));
      ExpectAllSummed(rig);
    }
  }
}

TEST(PlainFileChecksumTest, LargeTruncationKeepsTheChecksum) {
  constexpr std::uint64_t kBlocks = 300;
  PlainFileRig rig(4, kBlocks, 64 * kTestBlock);
  ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(kBlocks * kTestBlock, 1))).ok());
  ASSERT_TRUE(rig.Sync().ok());
  rig.Reopen();
  ASSERT_TRUE(rig.file->Truncate(200 * kTestBlock + 1).ok());
  ASSERT_TRUE(rig.file->Truncate(100 * kTestBlock).ok());
  ASSERT_TRUE(rig.Sync().ok());
  ExpectAllSummed(rig);
  EXPECT_EQ(rig.ReadAll(), Pattern(kBlocks * kTestBlock, 1).substr(0, 100 * kTestBlock));
}

// One bit rots in a synced file, in front of the last block or in it, while the file is closed. Nothing of the extent gets a
// new checksum, and the file stays as it is.
TEST(PlainFileChecksumTest, ARottenFileIsNeitherAppendedToNorOverwrittenNorTruncated) {
  const std::string data = Pattern(5 * kTestBlock + 100, 1);
  const std::function<Status(PlainFile&)> changes[] = {
      [](PlainFile& file) { return file.Append(AsBytes(Pattern(50, 2))); },
      [](PlainFile& file) {
        return file.PositionedAppend(AsBytes(Pattern(2 * kTestBlock, 2)), 5 * kTestBlock);
      },
      [](PlainFile& file) -> Status {
        const Result<bool> cut = file.Truncate(2 * kTestBlock + 1);
        return cut.ok() ? Status() : Fail(cut.error());
      },
  };
  for (const std::uint64_t byte : {std::uint64_t{1}, 3 * kTestBlock, 5 * kTestBlock + 99}) {
    for (const auto& change : changes) {
      PlainFileRig rig;
      ASSERT_TRUE(rig.file->Append(AsBytes(data)).ok());
      ASSERT_TRUE(rig.Sync().ok());
      BitRot rot(rig.zone_rig.device);
      rot.Flip(rig.committed.front().place + byte);
      ReadPool reads(rot);
      PlainFile file({&rot, &reads, rig.zone_rig.zones.get(), rig.zone_rig.sink.get(), 8 * kTestBlock},
                     rig.committed, rig.committed_size, Lifetime::kMedium);
      const Status changed = change(file);
      ASSERT_FALSE(changed.ok()) << byte;
      EXPECT_EQ(changed.error().code(), Code::kCorruption) << changed.error().ToString();
      EXPECT_NE(changed.error().ToString().find("zone "), std::string::npos);
      EXPECT_FALSE(file.dirty());
      EXPECT_EQ(file.size(), data.size());
      rot.Heal();
      ASSERT_TRUE(change(file).ok()) << "the error is not sticky: a read may fail once";
    }
  }
}

// Appends and reads of the file need the lock meanwhile.
TEST(PlainFileChecksumTest, TruncationReadsWithoutTheLock) {
  PlainFileRig rig;
  ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(5 * kTestBlock, 1))).ok());
  ASSERT_TRUE(rig.Sync().ok());
  WatchedDevice watched(Borrow(rig.zone_rig.device));
  bool free = false;
  ReadPool reads(watched);
  PlainFile file({&watched, &reads, rig.zone_rig.zones.get(), rig.zone_rig.sink.get(), 8 * kTestBlock},
                 rig.committed, rig.committed_size, Lifetime::kMedium);
  const WatchedDevice::Watch watch(
      watched, {.before_read = [&](DeviceOffset, std::size_t) -> Status {
        Thread("other", [&] { free = file.TryReplaceCommitted(rig.committed); }).Join();
        return {};
      }});
  ASSERT_TRUE(file.Truncate(2 * kTestBlock + 1).ok());
  EXPECT_TRUE(free) << "the lock was held during the read, or nothing was read";
  EXPECT_EQ(file.size(), 2 * kTestBlock + 1);
}

TEST(PlainFileChecksumTest, FailedCommitKeepsTheChecksums) {
  PlainFileRig rig;
  ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(kTestBlock + 5, 1))).ok());
  ASSERT_TRUE(rig.Sync().ok());
  ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(50, 2))).ok());
  EXPECT_FALSE(rig.Sync(true).ok());
  ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(kTestBlock, 3))).ok());
  ASSERT_TRUE(rig.Sync().ok());
  ExpectAllSummed(rig);
}

// Reclaim moves the committed extents of an open file with changes, and divides them in another way.
TEST(PlainFileChecksumTest, FileThatIsMovedWithUncommittedChangesKeepsItsChecksums) {
  const std::function<bool(PlainFile&)> changes[] = {
      [](PlainFile& file) { return file.Truncate(2 * kTestBlock + 1).ok(); },
      [](PlainFile& file) { return file.Truncate(5 * kTestBlock).ok(); },
      [](PlainFile& file) { return file.Append(AsBytes(Pattern(20 * kTestBlock, 2))).ok(); },
  };
  for (const auto& change : changes) {
    PlainFileRig rig;
    ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(7 * kTestBlock + 9, 1))).ok());
    ASSERT_TRUE(rig.Sync().ok());
    ASSERT_TRUE(change(*rig.file));
    const std::string content = rig.ReadAll();
    EXPECT_TRUE(rig.file->TryReplaceCommitted(rig.Move(3 * kTestBlock)));
    EXPECT_EQ(rig.ReadAll(), content);
    EXPECT_FALSE(rig.Sync(true).ok());
    EXPECT_TRUE(rig.file->TryReplaceCommitted(rig.Move(kTestBlock)));
    ASSERT_TRUE(rig.Sync().ok());
    ExpectAllSummed(rig);
    ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(50, 3))).ok());
    ASSERT_TRUE(rig.Sync().ok());
    ExpectAllSummed(rig);
    rig.Reopen();
    EXPECT_EQ(rig.ReadAll(), content + Pattern(50, 3));
  }
}

// TryReplaceCommitted fails while a writer holds the lock, for example while it waits for space. The file keeps its old
// extents, and its next commit restates them.
TEST(PlainFileChecksumTest, FileThatIsMovedDuringAWriteKeepsItsChecksums) {
  PlainFileRig rig(32, 24);  // each of the moved parts fits one zone
  ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(20 * kTestBlock + 9, 1))).ok());
  ASSERT_TRUE(rig.Sync().ok());
  const std::vector<Extent> moved = rig.Move(14 * kTestBlock);
  FaultyDevice& device = rig.zone_rig.device;
  device.Hold(FaultyDevice::Command::kWrite);
  Status appended;
  Thread writer("writer", [&] { appended = rig.file->Append(AsBytes(Pattern(20 * kTestBlock, 2))); });
  EXPECT_TRUE(device.WaitUntilHeld(1, ZoneTestRig::Soon()));
  EXPECT_FALSE(rig.file->TryReplaceCommitted(moved));
  device.Release();
  writer.Join();
  ASSERT_TRUE(appended.ok());
  EXPECT_FALSE(rig.Sync(true).ok());
  ASSERT_TRUE(rig.Sync().ok());
  ExpectAllSummed(rig);
  EXPECT_TRUE(rig.file->TryReplaceCommitted(rig.committed));
  EXPECT_EQ(rig.ReadAll(), Pattern(20 * kTestBlock + 9, 1) + Pattern(20 * kTestBlock, 2));
}

// --- checksums from the caller ---

TEST(PlainFileChecksumTest, AppendWithAWrongChecksumChangesNothing) {
  const std::string first = Pattern(3 * kTestBlock / 2, 1);
  for (const std::size_t length : {std::size_t{1}, std::size_t{100}, 3 * kTestBlock, 20 * kTestBlock}) {
    PlainFileRig rig;
    ASSERT_TRUE(rig.file->Append(AsBytes(first), Crc32c(AsBytes(first))).ok());
    AlignedBuffer bytes(RoundUp(length, kTestBlock));
    bytes.Append(AsBytes(Pattern(length, 2)));
    const Status appended = rig.file->Append(bytes.View(), Crc32c(bytes.View()) + 1);
    ASSERT_FALSE(appended.ok());
    EXPECT_EQ(appended.error().code(), Code::kCorruption);
    EXPECT_EQ(rig.ReadAll(), first);
    EXPECT_TRUE(rig.file->Append(bytes.View(), Crc32c(bytes.View())).ok()) << "the error is not sticky";
    ASSERT_TRUE(rig.Sync().ok());
    EXPECT_EQ(rig.ReadAll(), first + Pattern(length, 2));
    ExpectAllSummed(rig);
  }
}

TEST(PlainFileChecksumTest, OverwriteWithAWrongChecksumChangesNothing) {
  for (const std::size_t length : {std::size_t{1}, std::size_t{100}, 3 * kTestBlock, 20 * kTestBlock}) {
    PlainFileRig rig;
    const std::string first = Pattern(kTestBlock + 50, 1);
    const std::string second = Pattern(length, 2);
    ASSERT_TRUE(rig.file->Append(AsBytes(first)).ok());
    ASSERT_TRUE(rig.Sync().ok());
    EXPECT_FALSE(
        rig.file->PositionedAppend(AsBytes(second), kTestBlock, Crc32c(AsBytes(second)) ^ 0x80).ok());
    EXPECT_EQ(rig.ReadAll(), first);
    EXPECT_FALSE(rig.file->dirty());
    ASSERT_TRUE(rig.file->PositionedAppend(AsBytes(second), kTestBlock, Crc32c(AsBytes(second))).ok());
    ASSERT_TRUE(rig.Sync().ok());
    std::string expected = first;
    expected.replace(kTestBlock, std::min(length, expected.size() - kTestBlock), second);
    EXPECT_EQ(rig.ReadAll(), expected);
    ExpectAllSummed(rig);
  }
}

}  // namespace
}  // namespace zenfs
