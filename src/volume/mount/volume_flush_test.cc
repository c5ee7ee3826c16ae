// Flush with shared memory: flushed bytes survive the death of the process. Notices of mounts about them.
#include <sys/resource.h>

#include <atomic>

#include "base/sync_point.h"
#include "testing/watched_device.h"
#include "volume/mount/volume_flush_test_rig.h"
#include "wal/log_drain.h"

namespace zenfs {
namespace {

// P5 of docs/internals/failures.md.
TEST_F(VolumeFlushTest, FlushSendsNothingToTheDevice) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("commits the file")));
  // The log allocates its zones in the background, so only bytes that the file has written count.
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(IsOk(AppendAndFlush("record")));
  EXPECT_EQ(volume_->counters().written.log_data, 0u);
}

// D7 of docs/internals/failures.md.
TEST_F(VolumeFlushTest, FlushedBytesSurviveTheProcessAndUnflushedOnesAreAPrefix) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("one ")));
  ASSERT_TRUE(IsOk(file_->Sync()));
  ASSERT_TRUE(IsOk(AppendAndFlush("two ")));
  ASSERT_TRUE(IsOk(file_->Append(AsBytes("three"))));
  Die();
  ASSERT_TRUE(Mount());
  const std::string text = Get("1.log");
  EXPECT_TRUE(text == "one two " || text == "one two three") << text;
  EXPECT_TRUE(volume_->notices().empty());
  EXPECT_EQ(Buffers().size(), 1u) << "the old buffers were not removed";
}

TEST_F(VolumeFlushTest, WhatWasRecoveredIsDurable) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("flushed")));
  Die();
  ASSERT_TRUE(Mount());
  LosePower(LossPolicy::LoseAll());
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1.log"), "flushed");
}

TEST_F(VolumeFlushTest, AppendingGoesOnBehindWhatWasRecovered) {
  for (int round = 0; round < 20; ++round) {
    Open("1.log");
    ASSERT_TRUE(IsOk(AppendAndFlush(std::to_string(round) + ";")));
    if (round % 3 == 0) {
      ASSERT_TRUE(IsOk(file_->Sync()));
    }
    ASSERT_TRUE(IsOk(AppendAndFlush("more;")));
    Die();
    ASSERT_TRUE(Mount()) << "round " << round;
  }
  std::string expected;
  for (int round = 0; round < 20; ++round) expected += std::to_string(round) + ";more;";
  EXPECT_EQ(Get("1.log"), expected);
}

TEST_F(VolumeFlushTest, ManyFilesAndMoreThanABufferOfBytesSurvive) {
  std::vector<std::unique_ptr<FileHandle>> files;
  std::vector<std::string> expected;
  Random random(1);
  for (int i = 0; i < 20; ++i) {  // more files than buffers
    auto opened = volume_->OpenForAppend(std::to_string(i) + ".log", true);
    ASSERT_TRUE(IsOk(opened));
    files.push_back(*std::move(opened));
    expected.emplace_back();
  }
  for (int step = 0; step < 400; ++step) {
    const std::size_t i = random.Below(files.size());
    const std::string text(1 + random.Below(9000), static_cast<char>('a' + step % 26));
    ASSERT_TRUE(IsOk(files[i]->Append(AsBytes(text))));
    ASSERT_TRUE(IsOk(files[i]->Flush()));
    expected[i] += text;
  }
  device_->StopAfter(0);
  files.clear();
  Die();
  ASSERT_TRUE(Mount());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].empty()) continue;
    EXPECT_EQ(Get(std::to_string(i) + ".log"), expected[i]);
  }
}

// The frame in flight is in plain memory, because no buffer was free, and is lost with the process. The next mount must not
// find the bytes appended after it: it could not distinguish the gap from damage.
TEST_F(VolumeFlushTest, BytesBehindAFrameThatDiedWithTheProcessDoNotKeepTheVolumeFromMounting) {
  for (const bool has_one_buffer : {false, true}) {
    std::vector<std::unique_ptr<FileHandle>> others;
    for (int i = 0; i < (has_one_buffer ? 31 : 32); ++i) {  // of 32 buffers
      Open(std::to_string(i) + ".log");
      ASSERT_TRUE(IsOk(AppendAndFlush("text")));
      others.push_back(std::move(file_));
    }
    Open("last.log");
    ASSERT_TRUE(IsOk(file_->Truncate(0)));
    ASSERT_TRUE(IsOk(file_->Append(AsBytes("synced, "))));
    ASSERT_TRUE(IsOk(file_->Sync()));
    ASSERT_TRUE(IsOk(file_->Append(AsBytes("in flight, "))));  // goes to plain memory
    if (!has_one_buffer) others.pop_back();                    // frees a buffer
    {
      const SyncPoint::Scope scope([&](std::string_view name) {
        if (name != "FrameWriter::Lead") return;
        EXPECT_TRUE(IsOk(file_->Append(AsBytes("behind it"))));
        device_->StopAfter(0);
      });
      EXPECT_FALSE(file_->Flush().ok());
    }
    others.clear();
    Die();
    ASSERT_TRUE(Mount());
    EXPECT_EQ(Get("last.log"), "synced, ");
    EXPECT_TRUE(volume_->notices().empty());
  }
}

// The drain has a frame in flight from plain memory, and nothing was appended after it.
TEST_F(VolumeFlushTest, AFlushWaitsForAFrameInFlightThatWouldDieWithTheProcess) {
  std::vector<std::unique_ptr<FileHandle>> others;
  for (int i = 0; i < 32; ++i) {  // as many as there are buffers
    Open(std::to_string(i) + ".log");
    ASSERT_TRUE(IsOk(AppendAndFlush("text")));
    others.push_back(std::move(file_));
  }
  Open("last.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("commits the file")));
  std::atomic<bool> in_flight = false;
  std::atomic<bool> go = false;
  static thread_local bool is_flusher = false;
  is_flusher = true;
  const auto let_go = [&] {
    device_->StopAfter(0);
    go = true;
    go.notify_all();
  };
  const SyncPoint::Scope scope([&](std::string_view name) {
    if (is_flusher) {
      if (name == "FramedFile::WriteBackAll") let_go();
    } else if (name == "FrameWriter::Lead") {
      in_flight = true;
      in_flight.notify_all();
      go.wait(false);
    }
  });
  ASSERT_TRUE(IsOk(file_->Append(AsBytes(std::string(200'000, 'x')))));  // wakes the drain
  in_flight.wait(false);
  EXPECT_FALSE(file_->Flush().ok()) << "the flush did not wait for the write, which fails";
  let_go();
  End();
}

TEST_F(VolumeFlushTest, ATruncatedFileDoesNotGetItsTailBack) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("keep, drop")));
  ASSERT_TRUE(IsOk(file_->Truncate(4)));
  Die();
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1.log"), "keep");
}

TEST_F(VolumeFlushTest, ADeletedFileStaysDeleted) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("gone")));
  ASSERT_TRUE(IsOk(volume_->Unlink("1.log")));
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("new")));
  Die();
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1.log"), "new");
}

TEST_F(VolumeFlushTest, UnmountLeavesNothingOnTheHost) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("text")));
  EXPECT_EQ(Buffers().size(), 1u);
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  EXPECT_TRUE(Buffers().empty());
  file_.reset();
  volume_.reset();
  ASSERT_TRUE(Mount());
  EXPECT_TRUE(volume_->notices().empty());
  EXPECT_EQ(Get("1.log"), "text");
}

TEST_F(VolumeFlushTest, AfterPrepareForExitAFlushIsADeviceWrite) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("one ")));
  ASSERT_TRUE(IsOk(volume_->PrepareForExit()));
  EXPECT_TRUE(Buffers().empty());
  ASSERT_TRUE(IsOk(AppendAndFlush("two")));
  Die();
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1.log"), "one two");
  EXPECT_TRUE(volume_->notices().empty());
}

TEST_F(VolumeFlushTest, WithoutSharedMemoryAFlushIsADeviceWrite) {
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  MountOptions options;
  options.flush_directory = "none";
  auto mounted = Volume::Mount(Borrow(*device_), options);
  ASSERT_TRUE(IsOk(mounted));
  volume_ = *mounted;
  mounted = Fail(Code::kShutdown, "");
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("text")));
  EXPECT_TRUE(Buffers().empty());
  Die();
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1.log"), "text");
}

TEST_F(VolumeFlushTest, BytesOlderThanASecondReachTheDevice) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("commits the file")));
  ASSERT_TRUE(IsOk(file_->Sync()));
  ASSERT_TRUE(IsOk(AppendAndFlush("text")));
  const std::uint64_t before = volume_->counters().written.log_data;
  const Deadline deadline = Deadline::After(std::chrono::seconds(30));
  while (volume_->counters().written.log_data == before && !deadline.Passed()) {
    SleepUntil(SteadyNow() + std::chrono::milliseconds(5));
  }
  EXPECT_EQ(volume_->counters().written.log_data, before + 4);
}

// The drain does not know an uncommitted file. When the file is committed, its waiting bytes keep their age.
TEST_F(VolumeFlushTest, BytesAppendedLongBeforeTheFirstFlushReachTheDevice) {
  Open("1.log");
  ASSERT_TRUE(IsOk(file_->Append(AsBytes("text"))));
  SleepUntil(SteadyNow() + 2 * LogDrain::kMaxAge);  // so that the drain has looked for files and sleeps
  ASSERT_TRUE(IsOk(file_->Flush()));
  const Deadline deadline = Deadline::After(std::chrono::seconds(10));
  while (volume_->counters().written.log_data == 0 && !deadline.Passed()) {
    SleepUntil(SteadyNow() + std::chrono::milliseconds(5));
  }
  EXPECT_EQ(volume_->counters().written.log_data, 4u);
}

TEST_F(VolumeFlushTest, BuffersThatAreGoneAreANoticeAndWhatWasSyncedIsThere) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("synced")));
  ASSERT_TRUE(IsOk(file_->Sync()));
  ASSERT_TRUE(IsOk(AppendAndFlush(" flushed")));
  Die();
  for (const std::string& path : Buffers()) std::filesystem::remove(path);
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1.log"), "synced");
  ASSERT_EQ(volume_->notices().size(), 1u);
  EXPECT_NE(volume_->notices()[0].find(directory_), std::string::npos);
}

TEST_F(VolumeFlushTest, DamagedBuffersKeepTheVolumeFromMountingUntilTheyAreGivenUp) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("synced")));
  ASSERT_TRUE(IsOk(file_->Sync()));
  ASSERT_TRUE(IsOk(AppendAndFlush(" flushed")));
  Die();
  ASSERT_EQ(Buffers().size(), 1u);
  const std::string path = Buffers()[0];
  std::filesystem::resize_file(path, 8192);
  EXPECT_FALSE(Mount());
  EXPECT_EQ(mounted_.error().code(), Code::kCorruption);
  EXPECT_NE(mounted_.error().text().find(path), std::string::npos);
  EXPECT_NE(mounted_.error().text().find("discard_unsynced"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(path)) << "a refused mount removed the only copy";
  discard_ = true;
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1.log"), "synced");
  EXPECT_EQ(volume_->notices().size(), 1u);
}

TEST_F(VolumeFlushTest, ADirectoryThatIsNoTmpfsIsRefusedByName) {
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  MountOptions options;
  options.flush_directory = "/proc";
  const auto mounted = Volume::Mount(Borrow(*device_), options);
  EXPECT_EQ(CodeOf(mounted), Code::kInvalidArgument);
  EXPECT_NE(mounted.error().text().find("/proc"), std::string::npos);
}

TEST_F(VolumeFlushTest, ACheckNotesBytesThatWaitForAMountAndFindsThemDamaged) {
  const auto told = [&](Severity severity) -> std::string {
    const auto report = CheckVolume(*device_, {});
    EXPECT_TRUE(IsOk(report));
    if (!report) return "";
    EXPECT_EQ(report->clean(), severity != Severity::kError);
    std::string text;
    for (const Finding& finding : report->findings) {
      if (finding.text.find(directory_) == std::string::npos) continue;
      EXPECT_EQ(finding.severity, severity);
      text += finding.text;
    }
    return text;
  };
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("synced")));
  ASSERT_TRUE(IsOk(file_->Sync()));
  EXPECT_EQ(told(Severity::kNote), "");
  ASSERT_TRUE(IsOk(AppendAndFlush(" flushed")));
  EXPECT_EQ(told(Severity::kNote), "") << "its writer lives";
  Die();
  ASSERT_EQ(Buffers().size(), 1u);
  const std::string path = Buffers()[0];
  EXPECT_NE(told(Severity::kNote).find("8 bytes of 1 file "), std::string::npos) << told(Severity::kNote);
  EXPECT_NE(told(Severity::kNote).find(path), std::string::npos);
  std::filesystem::resize_file(path, 8192);
  EXPECT_NE(told(Severity::kError).find("discard_unsynced"), std::string::npos)
      << "the next mount will be refused";
  discard_ = true;
  ASSERT_TRUE(Mount());
  EXPECT_EQ(told(Severity::kNote), "");
}

TEST_F(VolumeFlushTest, ACopyOfTheDeviceMountsWithANoticeAndLeavesTheOriginalsBytes) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("synced")));
  ASSERT_TRUE(IsOk(file_->Sync()));
  ASSERT_TRUE(IsOk(AppendAndFlush(" flushed")));
  Die();
  const std::unique_ptr<CrashDevice> copy = device_->Image(LossPolicy::KeepAll());
  copy->SetIdentity("crash:2");
  {
    auto mounted = Volume::Mount(Borrow(*copy), Options());
    ASSERT_TRUE(IsOk(mounted));
    EXPECT_EQ((*mounted)->notices().size(), 1u);
    EXPECT_EQ((*mounted)->Stat("1.log")->size, 6u);
  }
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1.log"), "synced flushed");
}

// P5 of docs/internals/failures.md.
long VoluntarySwitches() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

// P5: an append does not wait for the device, because the drain's thread writes full buffers.
TEST_F(VolumeFlushTest, AppendsAndFlushesSendNothingToTheDeviceOnTheirOwnThread) {
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  mounted_ = Fail(Code::kShutdown, "");
  WatchedDevice watched(Borrow(*device_));
  static thread_local bool is_appender = false;
  std::atomic<std::uint64_t> own = 0;
  std::atomic<std::uint64_t> others = 0;
  const WatchedDevice::Watch watch(watched, {.before_write = [&](DeviceOffset, std::size_t) -> Status {
                                     ++(is_appender ? own : others);
                                     return {};
                                   }});
  auto mounted = Volume::Mount(Borrow(watched), Options());
  ASSERT_TRUE(IsOk(mounted));
  volume_ = *mounted;
  mounted = Fail(Code::kShutdown, "");
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("commits the file")));
  is_appender = true;
  const std::string record(1000, 'r');
  constexpr std::uint64_t kHalfABuffer = 128 << 10;
  long switches = 0;  // context switches of this thread, because it waits
  for (int round = 1; round <= 30; ++round) {
    const long before = VoluntarySwitches();
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(IsOk(AppendAndFlush(record)));
    switches += VoluntarySwitches() - before;
    // So that the waiting bytes and the next ones fit one buffer.
    const Deadline deadline = Deadline::After(std::chrono::seconds(30));
    while (volume_->counters().written.log_data + kHalfABuffer < file_->size() && !deadline.Passed()) {
      SleepUntil(SteadyNow() + std::chrono::microseconds(200));
    }
  }
  is_appender = false;
  EXPECT_EQ(own, 0u);
  EXPECT_GE(others, 10u);
  EXPECT_LT(switches, 300) << "of 3,000 appends and flushes, one in ten waits";
  EXPECT_EQ(file_->size(), 16u + 30 * 100 * 1000);
  End();
}

}  // namespace
}  // namespace zenfs
