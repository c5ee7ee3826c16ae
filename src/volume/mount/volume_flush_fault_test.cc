// Flushes of the device's cache that fail. The bytes written before may be lost although a later flush succeeds, so they may
// not be reported as durable before they are written again.
#include <gmock/gmock.h>

#include "volume/volume_fault_test_rig.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

class FlushFaultTest : public VolumeFaultTest {
 protected:
  FlushFaultTest() {
    // Without append buffers, unsynced bytes are written to the device early, so that a failed flush can lose some.
    IgnoreError(volume_->Unmount());
    MountFaulty({}, {.plain_buffer_bytes = 4096});
    WarmUpLog();
  }
  // Lets a flush for another file fail.
  void FailAFlush() {
    faulty_->Inject({.command = Command::kFlush});
    EXPECT_FALSE(WriteFile("other.log", "other").ok());
    faulty_->ClearFaults();
  }
  static std::string Content(char c) { return std::string(5 * 4096 + 100, c); }
};

TEST_F(FlushFaultTest, SyncOfALogWhoseFlushFailedIsMadeUpForByWritingItsFramesAnew) {
  const auto log = Create("1.log");
  ASSERT_TRUE(IsOk(log->Append(AsBytes("in doubt"))));
  faulty_->Inject({.command = Command::kFlush, .kth = 2});  // the first flush is that of the file's creation
  ASSERT_FALSE(log->Sync().ok());
  const DeviceOffset in_doubt = PlaceOf("1.log");
  ASSERT_TRUE(IsOk(log->Sync()));
  EXPECT_NE(PlaceOf("1.log"), in_doubt)
      << "the next flush succeeds, but proves nothing about bytes written before";
  ASSERT_TRUE(IsOk(log->Append(AsBytes(", and more"))));
  EXPECT_TRUE(IsOk(log->Close()));
  EXPECT_TRUE(IsOk(WriteFile("2.log", "fine")));
  RemountHealthy();
  EXPECT_EQ(Get("1.log"), "in doubt, and more");
}

TEST_F(FlushFaultTest, LogOfWhichAFlushHasLostWhatOnlyTheDeviceHadStaysFailed) {
  const auto log = Create("1.log");
  ASSERT_TRUE(IsOk(log->Append(AsBytes("lost"))));
  ASSERT_TRUE(IsOk(log->Flush())) << "to the device";
  faulty_->Inject({.command = Command::kFlush});
  ASSERT_FALSE(log->Sync().ok());
  faulty_->Inject({.command = Command::kRead, .times = kForEver, .bytes = BlockOf("1.log")});
  const Status again = log->Sync();
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().text(), HasSubstr("bytes 0 to 4, which a flush may have lost"));
  EXPECT_FALSE(log->Close().ok());
  EXPECT_TRUE(IsOk(WriteFile("2.log", "fine")));
}

TEST_F(FlushFaultTest, SyncOfALogFailsThatAnothersFlushMayHaveLost) {
  const auto log = Create("1.log");
  ASSERT_TRUE(IsOk(log->Append(AsBytes("written, "))));
  ASSERT_TRUE(IsOk(log->Flush())) << "to the device";
  FailAFlush();
  const Status synced = log->Sync();
  ASSERT_FALSE(synced.ok());
  EXPECT_THAT(synced.error().text(), HasSubstr("may be lost although a later one succeeds"));
  const DeviceOffset in_doubt = PlaceOf("1.log");
  ASSERT_TRUE(IsOk(log->Sync()));
  EXPECT_NE(PlaceOf("1.log"), in_doubt);
  RemountHealthy();
  EXPECT_EQ(Get("1.log"), "written, ");
}

TEST_F(FlushFaultTest, LogWithoutUnsyncedFramesIsNotTouchedByAnothersFlush) {
  const auto log = Create("1.log");
  ASSERT_TRUE(IsOk(log->Append(AsBytes("synced, "))));
  ASSERT_TRUE(IsOk(log->Sync()));
  FailAFlush();
  ASSERT_TRUE(IsOk(log->Append(AsBytes("and more"))));
  ASSERT_TRUE(IsOk(log->Sync()));
  RemountHealthy();
  EXPECT_EQ(Get("1.log"), "synced, and more");
}

TEST_F(FlushFaultTest, LogIsNotCutToWhatAFlushMayHaveLost) {
  const auto log = Create("1.log");
  ASSERT_TRUE(IsOk(log->Append(AsBytes("written and cut"))));
  ASSERT_TRUE(IsOk(log->Flush()));
  FailAFlush();
  EXPECT_FALSE(log->Truncate(7).ok());
}

TEST_F(FlushFaultTest, SyncOfAPlainFileWhoseFlushFailedFailsForGood) {
  const auto file = Create("a.sst");
  ASSERT_TRUE(IsOk(file->Append(AsBytes(Content('a')))));
  faulty_->Inject({.command = Command::kFlush});
  ASSERT_FALSE(file->Sync().ok());
  const Status again = file->Sync();
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().text(), HasSubstr("may be lost although a later one succeeds"));
  EXPECT_FALSE(file->Close().ok());
  EXPECT_TRUE(IsOk(WriteFile("b.sst", Content('b'))));
  RemountHealthy();
  EXPECT_EQ(Get("b.sst"), Content('b'));
  EXPECT_EQ(CodeOf(volume_->Stat("a.sst")), Code::kNotFound);
}

TEST_F(FlushFaultTest, SyncOfAPlainFileFailsThatAnothersFlushMayHaveLost) {
  const auto file = Create("a.sst");
  ASSERT_TRUE(IsOk(file->Append(AsBytes(Content('a')))));
  FailAFlush();
  EXPECT_FALSE(file->Sync().ok());
  EXPECT_FALSE(file->Close().ok());
}

TEST_F(FlushFaultTest, PlainFileThatWasSyncedBeforeGoesOn) {
  const auto file = Create("a.sst");
  ASSERT_TRUE(IsOk(file->Append(AsBytes(Content('a')))));
  ASSERT_TRUE(IsOk(file->Sync()));
  FailAFlush();
  ASSERT_TRUE(IsOk(file->Append(AsBytes(Content('b')))));
  ASSERT_TRUE(IsOk(file->Close()));
  RemountHealthy();
  EXPECT_EQ(Get("a.sst"), Content('a') + Content('b'));
}

TEST_F(FlushFaultTest, RenameDoesNotPublishWhatAFlushMayHaveLost) {
  const auto file = Create("a.tmp");
  ASSERT_TRUE(IsOk(file->Append(AsBytes(Content('a')))));
  FailAFlush();
  EXPECT_FALSE(volume_->Rename("a.tmp", "a.sst").ok());
  EXPECT_EQ(CodeOf(volume_->Stat("a.sst")), Code::kNotFound);
}

TEST_F(FlushFaultTest, FlushThatFailsBehindACommitMovesTheLogAndIsToldOnce) {
  const std::uint64_t switches = volume_->counters().metalog.switches;
  faulty_->Inject({.command = Command::kFlush});
  EXPECT_FALSE(volume_->MakeDirectory("refused", false).ok());
  EXPECT_EQ(volume_->counters().metalog.switches, switches + 1);
  EXPECT_TRUE(IsOk(volume_->MakeDirectory("made", false)));
  RemountHealthy();
  EXPECT_EQ(CodeOf(volume_->Stat("refused")), Code::kNotFound);
  EXPECT_TRUE(IsOk(volume_->Stat("made")));
}

}  // namespace
}  // namespace zenfs
