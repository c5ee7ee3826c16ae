#include "wal/framed_file.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/sync_point.h"
#include "base/thread.h"
#include "wal/wal_test_rig.h"

namespace zenfs::framed_file_test {
namespace {

const Status kFailed = Fail(Code::kIo, "failed");

TEST(FramedFileStateTest, ErrorStaysUntilASendSucceeds) {
  FramedFileState state;
  const std::uint64_t before = state.failed_sends();
  state.BeginSend();
  state.FrameFailed();
  state.EndSend(kFailed);
  EXPECT_TRUE(state.free());
  EXPECT_FALSE(state.sound());
  EXPECT_TRUE(state.SendFailedSince(before)) << "for callers that waited";
  EXPECT_FALSE(state.SendFailedSince(state.failed_sends())) << "for later callers";
  state.BeginSend();
  EXPECT_FALSE(state.sound()) << "not before the send has ended";
  state.EndSend({});
  EXPECT_TRUE(state.sound());
  EXPECT_FALSE(state.SendFailedSince(before));
}

TEST(FramedFileStateTest, FramesThatAFlushMayHaveLostArePlacedAnewBeforeTheNextSend) {
  FramedFileState state;
  state.BeginSend();
  state.FlushFailed();
  state.EndSend(kFailed);
  EXPECT_TRUE(state.doubtful());
  state.BeginSend();
  state.EndSend(kFailed);
  EXPECT_TRUE(state.doubtful()) << "writing them again failed too";
  state.BeginSend();
  state.PlacedAnew();
  EXPECT_FALSE(state.doubtful());
  EXPECT_FALSE(state.sound());
  state.EndSend({});
  EXPECT_TRUE(state.sound());
}

TEST(FramedFileStateTest, CleaningRunsBesideASend) {
  FramedFileState state;
  state.BeginSend();
  state.BeginCleaning();
  state.EndSend({});
  EXPECT_TRUE(state.free());
  EXPECT_TRUE(state.cleaning());
  state.EndCleaning();
  state.BeginTruncation();
  EXPECT_TRUE(state.truncating());
  EXPECT_FALSE(state.free());
  state.EndTruncation();
  EXPECT_TRUE(state.free());
}

TEST(FramedFileStateTest, AppendsStayClosedForTheFirstReason) {
  FramedFileState state;
  state.CloseAppends({});
  EXPECT_TRUE(state.appends().ok());
  state.CloseAppends(Fail(Code::kUnknownOutcome, "first"));
  state.CloseAppends({});
  state.CloseAppends(kFailed);
  EXPECT_EQ(state.appends().error().code(), Code::kUnknownOutcome);
}

using Command = FaultyDevice::Command;

TEST(FramedFileTest, UnsyncedBytesAreReadableAtOnceAndCostNoWrite) {
  WalRig rig(TestGeometry(8, 16));
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, "hello ").ok());
  ASSERT_TRUE(Append(*file, "world").ok());
  EXPECT_EQ(file->size(), 11U);
  EXPECT_EQ(WalRig::Content(*file), "hello world");
  EXPECT_EQ(rig.Count(Command::kWrite), 0U);
}

TEST(FramedFileTest, ReadGivesWhatIsThereAndNothingBeyondTheEnd) {
  WalRig rig(TestGeometry(8, 16));
  rig.Mount();
  const auto file = rig.NewFile();
  const std::string text = TestText(30'000, 1);
  for (std::size_t at = 0; at < text.size(); at += 3000) {
    ASSERT_TRUE(Append(*file, std::string_view(text).substr(at, 3000)).ok());
    if (at % 9000 == 0) {
      ASSERT_TRUE(file->WriteBack().ok());  // so that the end is still in the buffer
    }
  }
  for (std::size_t offset = 0; offset < text.size() + 10; offset += 997) {
    for (const std::size_t length :
         {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{40'000}}) {
      std::string got(length, '?');
      const auto n = file->Read(offset, std::as_writable_bytes(std::span(got)));
      ASSERT_TRUE(n);
      const std::string expected = offset < text.size() ? text.substr(offset, length) : "";
      EXPECT_EQ(got.substr(0, *n), expected);
    }
  }
}

TEST(FramedFileTest, WriteBackIsOneDeviceWriteAndNoFlush) {
  WalRig rig(TestGeometry(8, 16));
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, "abc").ok());
  ASSERT_TRUE(file->WriteBack().ok());
  ASSERT_TRUE(file->WriteBack().ok());
  EXPECT_EQ(rig.Count(Command::kWrite), 1U);
  EXPECT_EQ(rig.Count(Command::kFlush), 0U);
  EXPECT_EQ(rig.Recovered(file->id()), "abc");
}

// D8 of docs/internals/failures.md.
TEST(FramedFileTest, SyncFlushesOnlyAVolatileCacheAndOnlyWhatIsNotStableYet) {
  for (const bool is_volatile : {true, false}) {
    EmulatorOptions options;
    options.volatile_cache = is_volatile;
    WalRig rig(TestGeometry(8, 16), 1, options);
    rig.Mount();
    const auto file = rig.NewFile();
    const std::uint64_t one = is_volatile ? 1 : 0;
    ASSERT_TRUE(Append(*file, "abc").ok());
    ASSERT_TRUE(file->Sync().ok());
    EXPECT_EQ(rig.Count(Command::kFlush), one);
    ASSERT_TRUE(file->Sync().ok());
    EXPECT_EQ(rig.Count(Command::kFlush), one) << "nothing was appended since";
    ASSERT_TRUE(Append(*file, "def").ok());
    ASSERT_TRUE(file->WriteBack().ok());
    ASSERT_TRUE(file->Sync().ok());
    EXPECT_EQ(rig.Count(Command::kFlush), 2 * one);
    EXPECT_EQ(rig.Count(Command::kWrite), 2U);
  }
}

TEST(FramedFileTest, AppendLargerThanTheBufferIsAllThere) {
  WalRig rig(TestGeometry(32, 16));
  rig.buffer_bytes = 16 << 10;
  rig.Mount();
  const auto file = rig.NewFile();
  const std::string text = TestText(300'000, 4);
  ASSERT_TRUE(Append(*file, text).ok());
  EXPECT_EQ(WalRig::Content(*file), text);
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(WalRig::Content(*file), text);
  EXPECT_EQ(rig.Recovered(file->id()), text);
}

TEST(FramedFileTest, ConcurrentSyncsShareAFrameAndAFlush) {
  WalRig rig(TestGeometry(8, 16));
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, "first ").ok());
  rig.device.Hold(Command::kFlush);
  std::atomic<int> entered = 0;
  SyncPoint::Scope scope([&](std::string_view name) {
    if (name != "FramedFile::WriteBackAll") return;
    ++entered;
    entered.notify_all();
  });
  std::vector<Thread> threads;
  threads.emplace_back("syncer", [&] { EXPECT_TRUE(file->Sync().ok()); });
  ASSERT_TRUE(rig.device.WaitUntilHeld(1, ZoneTestRig::Soon()));
  ASSERT_TRUE(Append(*file, "second").ok());
  for (int i = 0; i < 6; ++i) threads.emplace_back("syncer", [&] { EXPECT_TRUE(file->Sync().ok()); });
  for (int n = entered; n < 7; n = entered) entered.wait(n);
  rig.device.Release();
  threads.clear();
  EXPECT_EQ(rig.Count(Command::kWrite), 2U);
  EXPECT_EQ(rig.Count(Command::kFlush), 2U);
  EXPECT_EQ(rig.Recovered(file->id()), "first second");
}

TEST(FramedFileTest, BytesAppendedWhileAFrameIsInFlightAreReadable) {
  WalRig rig(TestGeometry(8, 16));
  rig.Mount();
  const auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, "in flight, ").ok());
  rig.device.Hold(Command::kWrite);
  Thread syncer("syncer", [&] { EXPECT_TRUE(file->Sync().ok()); });
  ASSERT_TRUE(rig.device.WaitUntilHeld(1, ZoneTestRig::Soon()));
  ASSERT_TRUE(Append(*file, "being appended").ok());
  EXPECT_EQ(file->size(), 25U);
  EXPECT_EQ(WalRig::Content(*file), "in flight, being appended");
  rig.device.Release();
  syncer.Join();
  EXPECT_EQ(WalRig::Content(*file), "in flight, being appended");
}

TEST(FramedFileTest, UnreadableBlockBetweenTwoFramesDoesNotHideThem) {
  WalRig rig(TestGeometry(8, 16));
  rig.Mount();
  const auto file = rig.NewFile();
  const auto other = rig.NewFile();
  ASSERT_TRUE(Append(*file, "one").ok());
  ASSERT_TRUE(file->WriteBack().ok());
  ASSERT_TRUE(Append(*other, "between").ok());
  ASSERT_TRUE(other->WriteBack().ok());
  ASSERT_TRUE(Append(*file, "two").ok());
  ASSERT_TRUE(file->WriteBack().ok());
  rig.device.Inject({.command = Command::kRead, .times = 1});  // the read that spans all three
  EXPECT_EQ(WalRig::Content(*file), "onetwo");
  rig.device.Inject({.command = Command::kRead, .times = 10});
  EXPECT_EQ(WalRig::Content(*file).substr(0, 6), "error:");
}

TEST(FramedFileTest, DeletedFileGivesItsZonesBack) {
  WalRig rig(TestGeometry(8, 4));
  rig.Mount();
  auto file = rig.NewFile();
  ASSERT_TRUE(Append(*file, TestText(6 * kTestBlock, 1)).ok());
  ASSERT_TRUE(file->Sync().ok());
  const ZoneId first = rig.ZoneOf(file->Pieces().front().place);
  EXPECT_FALSE(rig.WasReleased(first));
  file.reset();
  EXPECT_TRUE(rig.WaitUntilReleased(first));
}

TEST(FramedFileTest, ZoneIsNotResetWhileAReadOfItIsUnderWay) {
  WalRig rig(TestGeometry(8, 4));
  rig.Mount();
  auto file = rig.NewFile();
  const std::string text = TestText(4 * kTestBlock - kFrameHeaderBytes, 1);
  ASSERT_TRUE(Append(*file, text).ok());
  ASSERT_TRUE(file->Sync().ok());
  const ZoneId zone = rig.ZoneOf(file->Pieces().front().place);
  rig.device.Hold(Command::kRead);
  std::string got;
  Thread reader("reader", [&] { got = WalRig::Content(*file); });
  ASSERT_TRUE(rig.device.WaitUntilHeld(1, ZoneTestRig::Soon()));
  auto truncate = file->BeginTruncate(0);
  ASSERT_TRUE(truncate);
  truncate->End(rig.Commit(truncate->edits()));
  rig.log->supply().ReleaseDead();
  EXPECT_FALSE(rig.WasReleased(zone));
  rig.device.Release();
  reader.Join();
  EXPECT_EQ(got, text);
  rig.log->zones().Wake();
  EXPECT_TRUE(rig.WaitUntilReleased(zone));
}

TEST(LogStoreTest, FileIsFoundUntilItIsRemovedAndLivesAsLongAsItsHandles) {
  WalRig rig(TestGeometry(8, 16));
  rig.Mount();
  LogStore store;
  auto file = rig.NewFile();
  const FileId id = file->id();
  store.Add(file);
  EXPECT_EQ(store.Find(id), file);
  EXPECT_EQ(store.All().size(), 1U);
  store.Remove(id);
  EXPECT_EQ(store.Find(id), nullptr);
  EXPECT_TRUE(store.All().empty());
  ASSERT_TRUE(file->Append(AsBytes("still open")).ok());
  EXPECT_EQ(WalRig::Content(*file), "still open");
  store.Remove(id);  // nothing
}

}  // namespace
}  // namespace zenfs::framed_file_test
