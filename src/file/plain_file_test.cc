#include "file/plain_file.h"

#include "file/plain_file_test_rig.h"

namespace zenfs {
namespace {

using Command = FaultyDevice::Command;

TEST(PlainFileTest, UnsyncedBytesCanBeRead) {
  PlainFileRig rig;
  ASSERT_TRUE(rig.file->Append(AsBytes("hello ")).ok());
  ASSERT_TRUE(rig.file->Append(AsBytes("world")).ok());
  EXPECT_EQ(rig.ReadAll(), "hello world");
  EXPECT_EQ(rig.Read(4, 3), "o w");
  EXPECT_EQ(rig.Read(11, 5), "");
  EXPECT_EQ(rig.Read(100, 5), "");
  EXPECT_EQ(rig.zone_rig.device.count(Command::kWrite), 0U);
  EXPECT_TRUE(rig.file->dirty());
}

TEST(PlainFileTest, NewFileHasNothingToCommit) {
  PlainFileRig rig;
  EXPECT_FALSE(rig.file->dirty());
  EXPECT_FALSE(rig.file->Drain()->changed);
}

TEST(PlainFileTest, OnlySyncedBytesSurviveAReopen) {
  PlainFileRig rig;
  const std::string data = Pattern(3 * kTestBlock + 100, 1);
  ASSERT_TRUE(rig.file->Append(AsBytes(data)).ok());
  ASSERT_TRUE(rig.Sync().ok());
  EXPECT_FALSE(rig.file->dirty());
  ASSERT_TRUE(rig.file->Append(AsBytes("lost")).ok());
  rig.Reopen();
  EXPECT_EQ(rig.ReadAll(), data);
}

TEST(PlainFileTest, AppendAfterReopenContinuesTheLastBlock) {
  PlainFileRig rig;
  const std::string data = Pattern(5000, 1), more = Pattern(9000, 2);
  ASSERT_TRUE(rig.file->Append(AsBytes(data)).ok());
  ASSERT_TRUE(rig.Sync().ok());
  rig.Reopen();
  ASSERT_TRUE(rig.file->Append(AsBytes(more)).ok());
  EXPECT_EQ(rig.ReadAll(), data + more);
  ASSERT_TRUE(rig.Sync().ok());
  rig.Reopen();
  EXPECT_EQ(rig.ReadAll(), data + more);
}

// P3 of docs/internals/failures.md.
TEST(PlainFileTest, ContiguousWritesBecomeOneExtent) {
  PlainFileRig rig(32, 64);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(8 * kTestBlock, i))).ok());
  ASSERT_TRUE(rig.Sync().ok());
  EXPECT_EQ(rig.committed.size(), 1U);
}

TEST(PlainFileTest, RewrittenTailReplacesTheOldBlock) {
  PlainFileRig rig;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(100, i))).ok());
    ASSERT_TRUE(rig.Sync().ok());
  }
  EXPECT_EQ(rig.zone_rig.zones->Space().live, kTestBlock);
  rig.Reopen();
  EXPECT_EQ(rig.file->size(), 1000U);
  EXPECT_EQ(rig.Read(900, 100), Pattern(100, 9));
}

// WritableFileWriter::WriteDirect writes aligned buffers with the last page padded, writes that page again with the
// next buffer, and truncates to the true size at the end.
TEST(PlainFileTest, RocksDbDirectWriterSequenceIsKept) {
  PlainFileRig rig(32, 64, 8 * kTestBlock);
  const std::string data = Pattern(50 * kTestBlock + 777, 3);
  AlignedBuffer buffer(16 * kTestBlock);
  std::size_t flushed = 0;  // bytes in whole pages, which are not written again
  while (flushed + kTestBlock <= data.size()) {
    const std::size_t n = std::min<std::size_t>(data.size() - flushed, 15 * kTestBlock + 1000);
    buffer.Clear();
    buffer.Append(AsBytes(data).subspan(flushed, n));
    buffer.PadTo(kTestBlock);
    ASSERT_TRUE(rig.file->PositionedAppend(buffer.View(), flushed).ok());
    if (flushed == 30 * kTestBlock) {
      ASSERT_TRUE(rig.Sync().ok());  // with a padded last page
    }
    flushed += RoundDown(n, kTestBlock);
  }
  ASSERT_TRUE(rig.file->Truncate(data.size()).ok());
  ASSERT_TRUE(rig.Sync().ok());
  EXPECT_EQ(rig.ReadAll(), data);
  rig.Reopen();
  EXPECT_EQ(rig.ReadAll(), data);
  EXPECT_EQ(rig.zone_rig.zones->Space().live, RoundUp(data.size(), kTestBlock));
}

// P5 of docs/internals/failures.md.
TEST(PlainFileTest, LargeAlignedAppendIsOneDeviceWriteTogetherWithTheBufferedBlock) {
  PlainFileRig rig(8, 256, 16 * kTestBlock);
  AlignedBuffer buffer(16 * kTestBlock);
  const std::string first = Pattern(16 * kTestBlock, 1), second = Pattern(16 * kTestBlock, 2);
  buffer.Append(AsBytes(first));
  ASSERT_TRUE(rig.file->Append(buffer.View()).ok());
  buffer.Clear();
  buffer.Append(AsBytes(second));
  ASSERT_TRUE(rig.file->Append(buffer.View()).ok());
  EXPECT_EQ(rig.zone_rig.device.count(Command::kWrite), 2U);
  EXPECT_EQ(rig.ReadAll(), first + second);
  ASSERT_TRUE(rig.Sync().ok());
  EXPECT_EQ(rig.zone_rig.device.count(Command::kWrite), 3U);
  EXPECT_EQ(rig.ReadAll(), first + second);
}

TEST(PlainFileTest, WriteBackKeepsTheLastBlockInTheBuffer) {
  PlainFileRig rig;
  const std::string data = Pattern(3 * kTestBlock, 1);
  ASSERT_TRUE(rig.file->Append(AsBytes(data)).ok());
  ASSERT_TRUE(rig.file->WriteBack().ok());
  ASSERT_TRUE(rig.file->WriteBack().ok());
  EXPECT_EQ(rig.zone_rig.device.count(Command::kWrite), 1U);
  ASSERT_TRUE(rig.file->PositionedAppend(AsBytes(Pattern(kTestBlock, 5)), 2 * kTestBlock).ok());
  EXPECT_EQ(rig.ReadAll(), data.substr(0, 2 * kTestBlock) + Pattern(kTestBlock, 5));
}

TEST(PlainFileTest, PositionedAppendOutsideTheTailIsRefused) {
  PlainFileRig rig;
  ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(20 * kTestBlock, 1))).ok());
  ASSERT_TRUE(rig.Sync().ok());
  const auto behind = rig.file->PositionedAppend(AsBytes("x"), 20 * kTestBlock + 1);
  ASSERT_FALSE(behind.ok());
  EXPECT_EQ(behind.error().code(), Code::kInvalidArgument);
  EXPECT_NE(behind.error().text().find("81921"), std::string::npos);
  EXPECT_NE(behind.error().text().find("81920"), std::string::npos);
  EXPECT_FALSE(rig.file->PositionedAppend(AsBytes("x"), 0).ok());
}

TEST(PlainFileTest, TruncationToALargerSizeIsNotSupported) {
  PlainFileRig rig;
  EXPECT_EQ(rig.file->Truncate(1).error().code(), Code::kNotSupported);
}

TEST(PlainFileTest, AppendAfterATruncationOfCommittedBytesIsRead) {
  PlainFileRig rig;
  std::string data = Pattern(6 * kTestBlock, 1);
  ASSERT_TRUE(rig.file->Append(AsBytes(data)).ok());
  ASSERT_TRUE(rig.Sync().ok());
  ASSERT_TRUE(rig.file->Truncate(2 * kTestBlock + 5).ok());
  EXPECT_TRUE(rig.file->dirty());
  data.resize(2 * kTestBlock + 5);
  EXPECT_EQ(rig.ReadAll(), data);
  ASSERT_TRUE(rig.file->Append(AsBytes("more")).ok());
  data += "more";
  EXPECT_EQ(rig.ReadAll(), data);
  ASSERT_TRUE(rig.Sync().ok());
  rig.Reopen();
  EXPECT_EQ(rig.ReadAll(), data);
  EXPECT_EQ(rig.zone_rig.zones->Space().live, 3 * kTestBlock);
}

TEST(PlainFileTest, TruncationToZeroFreesAllSpace) {
  PlainFileRig rig;
  ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(20 * kTestBlock, 1))).ok());
  ASSERT_TRUE(rig.Sync().ok());
  ASSERT_TRUE(rig.file->Truncate(0).ok());
  ASSERT_TRUE(rig.Sync().ok());
  EXPECT_EQ(rig.zone_rig.zones->Space().live, 0U);
  ASSERT_TRUE(rig.zone_rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.zone_rig.zones->Space().garbage, 0U);
}

// D12 of docs/internals/failures.md.
TEST(PlainFileTest, DeviceErrorIsSticky) {
  PlainFileRig rig;
  ASSERT_TRUE(rig.file->Append(AsBytes("abc")).ok());
  rig.zone_rig.device.Inject({Command::kWrite, 1, 3, {}, Code::kIo, FaultyDevice::When::kBefore});
  EXPECT_EQ(rig.file->Drain().error().code(), Code::kIo);
  rig.zone_rig.device.ClearFaults();
  EXPECT_EQ(rig.file->Drain().error().code(), Code::kIo);
  EXPECT_EQ(rig.file->Append(AsBytes("d")).error().code(), Code::kIo);
  EXPECT_EQ(rig.ReadAll(), "abc");
}

TEST(PlainFileTest, OneFailedZoneCausesNoError) {
  PlainFileRig rig;
  const std::string data = Pattern(5 * kTestBlock, 4);
  ASSERT_TRUE(rig.file->Append(AsBytes(data)).ok());
  rig.zone_rig.device.Inject({Command::kWrite, 1, 1, {}, Code::kIo, FaultyDevice::When::kAfter});
  ASSERT_TRUE(rig.Sync().ok());
  rig.Reopen();
  EXPECT_EQ(rig.ReadAll(), data);
}

TEST(PlainFileTest, AppendSucceedsAgainAfterAFullDeviceHasRoom) {
  PlainFileRig rig(4, 16);
  SinkCursor other;
  auto filler = rig.zone_rig.WriteLive(other, Lifetime::kMedium, 48);
  ASSERT_TRUE(filler);
  const std::string data = Pattern(10 * kTestBlock + 9, 1), more = Pattern(30 * kTestBlock, 2);
  ASSERT_TRUE(rig.file->Append(AsBytes(data)).ok());
  ASSERT_TRUE(rig.Sync().ok());
  EXPECT_EQ(rig.file->Append(AsBytes(more)).error().code(), Code::kNoSpace);
  EXPECT_EQ(rig.ReadAll(), data);
  rig.zone_rig.zones->RemoveLive(*filler);
  ASSERT_TRUE(rig.file->Append(AsBytes(more)).ok());
  EXPECT_EQ(rig.ReadAll(), data + more);
  ASSERT_TRUE(rig.Sync().ok());
  rig.Reopen();
  EXPECT_EQ(rig.ReadAll(), data + more);
}

TEST(PlainFileTest, NextCommitIncludesTheChangesOfAFailedOne) {
  PlainFileRig rig;
  const std::string a = Pattern(5000, 1), b = Pattern(7000, 2);
  ASSERT_TRUE(rig.file->Append(AsBytes(a)).ok());
  ASSERT_FALSE(rig.Sync(true).ok());
  EXPECT_TRUE(rig.file->dirty());
  ASSERT_TRUE(rig.file->Append(AsBytes(b)).ok());
  ASSERT_TRUE(rig.Sync().ok());
  rig.Reopen();
  EXPECT_EQ(rig.ReadAll(), a + b);
}

TEST(PlainFileTest, ZonesOfACommitInFlightStayPinnedAfterATruncation) {
  PlainFileRig rig(8, 4, 2 * kTestBlock);
  ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(4 * kTestBlock - 10, 1))).ok());
  auto drained = rig.file->Drain();
  ASSERT_TRUE(drained && drained->changed);
  const ZoneId named = rig.zone_rig.ZoneOf(drained->extents.back());
  ASSERT_TRUE(rig.file->Truncate(0).ok());
  ASSERT_TRUE(rig.zone_rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_NE(rig.zone_rig.StatusOf(named).pins, 0U);
  EXPECT_EQ(rig.zone_rig.device.count(Command::kReset), 0U);
  rig.file->MarkCommitted(*drained);
  ASSERT_TRUE(rig.zone_rig.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(rig.zone_rig.StatusOf(named).pins, 0U);
}

TEST(PlainFileTest, AppendBetweenDrainAndCommitStaysDirty) {
  PlainFileRig rig;
  ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(100, 1))).ok());
  auto drained = rig.file->Drain();
  ASSERT_TRUE(drained);
  ASSERT_TRUE(rig.file->Append(AsBytes(Pattern(20 * kTestBlock, 2))).ok());
  rig.file->MarkCommitted(*drained);
  EXPECT_TRUE(rig.file->dirty());
  auto next = rig.file->Drain();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->from_offset, 0U);  // the tail block was written again
  EXPECT_TRUE(next->data_since.has_value());
}

TEST(PlainFileTest, MovedExtentsAreReadFromTheirNewPlace) {
  PlainFileRig rig;
  const std::string data = Pattern(3 * kTestBlock, 1);
  ASSERT_TRUE(rig.file->Append(AsBytes(data)).ok());
  ASSERT_TRUE(rig.Sync().ok());
  AlignedBuffer copy(3 * kTestBlock);
  copy.Append(AsBytes(Pattern(3 * kTestBlock, 9)));  // differs from the original
  const ByteView bytes = copy.View();
  SinkCursor cursor;
  auto placed = rig.zone_rig.sink->Write(cursor, Lifetime::kLong, std::span(&bytes, 1), ZoneTestRig::Soon());
  ASSERT_TRUE(placed);
  ASSERT_TRUE(rig.file->Append(AsBytes("tail")).ok());
  ASSERT_TRUE(rig.file->TryReplaceCommitted({{0, placed->place, 3 * kTestBlock}}));
  EXPECT_EQ(rig.ReadAll(), Pattern(3 * kTestBlock, 9) + "tail");
}

TEST(PlainFileTest, EndOfWritingReleasesTheClaim) {
  PlainFileRig rig;
  const std::string data = Pattern(5000, 1);
  ASSERT_TRUE(rig.file->Append(AsBytes(data)).ok());
  ASSERT_TRUE(rig.Sync().ok());
  rig.file->EndWriting();
  SinkCursor other;
  auto placed = rig.zone_rig.Write(other, Lifetime::kMedium, 1);
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->pin.zone(), rig.zone_rig.ZoneOf(rig.committed.back()));
  ASSERT_TRUE(rig.file->Append(AsBytes("more")).ok());
  EXPECT_EQ(rig.ReadAll(), data + "more");
}

}  // namespace
}  // namespace zenfs
