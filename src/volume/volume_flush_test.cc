// Flush by shared memory: what was flushed survives the death of the process, at every device command.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/random.h"
#include "base/shared_memory.h"
#include "base/sync_point.h"
#include "testing/crash_device.h"
#include "volume/volume_test_util.h"
#include "wal/log_drain.h"

namespace zenfs {
namespace {

EmulatorGeometry FlushGeometry() {
  return {.zones = 24, .zone_size = 1 << 20, .zone_capacity = 768 << 10, .max_open = 14, .max_active = 14};
}

class VolumeFlushTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(DefaultSharedMemoryDirectory().empty()) << "this test needs a tmpfs that can be written to";
    ASSERT_TRUE(std::filesystem::create_directory(directory_));
    Use(std::make_unique<CrashDevice>(FlushGeometry()));
    ASSERT_TRUE(IsOk(FormatVolume(*device_, {})));
    ASSERT_TRUE(Mount());
  }
  void TearDown() override {
    file_.reset();
    volume_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Use(std::unique_ptr<CrashDevice> device) {
    device_ = std::move(device);
    device_->SetIdentity("crash:1");
  }
  MountOptions Options() const {
    MountOptions options;
    options.flush_directory = directory_;
    options.discard_unsynced = discard_;
    return options;
  }
  testing::AssertionResult Mount() {
    mounted_ = Volume::Mount(Borrow(*device_), Options());
    if (mounted_) volume_ = *mounted_;
    return IsOk(mounted_);
  }
  // The process dies: nothing that it does any more reaches the device, what the device has stays.
  void Die() {
    End();
    Use(device_->Image(LossPolicy::KeepAll()));
  }
  // Power is lost, and the tmpfs with it.
  void LosePower(LossPolicy policy) {
    End();
    for (const std::string& path : Buffers()) std::filesystem::remove(path);
    Use(device_->Image(policy));
  }
  void End() {
    device_->StopAfter(0);
    file_.reset();
    volume_.reset();
    mounted_ = Fail(Code::kShutdown, "dead");
  }
  void Open(const std::string& path) {
    auto opened = volume_->OpenForAppend(path, true);
    ASSERT_TRUE(IsOk(opened));
    file_ = *std::move(opened);
  }
  Status AppendAndFlush(std::string_view text) {
    ZENFS_RETURN_IF_ERROR(file_->Append(AsBytes(text)));
    return file_->Flush();
  }
  std::string Get(const std::string& path) {
    auto file = volume_->OpenForRead(path);
    EXPECT_TRUE(IsOk(file)) << path;
    if (!file) return "<missing>";
    std::string content((*file)->size(), '\0');
    EXPECT_TRUE(IsOk((*file)->Read(0, std::as_writable_bytes(std::span(content)))));
    return content;
  }
  std::vector<std::string> Buffers() const { return ListSharedMemory(directory_, "zenfs-"); }
  std::uint64_t Commands() const { return device_->commands(); }

  const std::string directory_ =
      DefaultSharedMemoryDirectory() + "/zenfs-test-" + std::to_string(RandomSeed());
  std::unique_ptr<CrashDevice> device_;
  Result<std::shared_ptr<Volume>> mounted_ = Fail(Code::kShutdown, "not mounted yet");
  std::shared_ptr<Volume> volume_;
  std::unique_ptr<FileHandle> file_;
  bool discard_ = false;
};

TEST_F(VolumeFlushTest, FlushSendsNothingToTheDevice) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("commits the file")));
  const std::uint64_t commands = Commands();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(IsOk(AppendAndFlush("record")));
  EXPECT_EQ(Commands(), commands);
}

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

TEST_F(VolumeFlushTest, WhatWasBroughtBackIsDurable) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("flushed")));
  Die();
  ASSERT_TRUE(Mount());
  LosePower(LossPolicy::LoseAll());
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1.log"), "flushed");
}

TEST_F(VolumeFlushTest, AppendingGoesOnBehindWhatWasBroughtBack) {
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
  for (int i = 0; i < 20; ++i) {  // more than there are buffers for
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

// The frame in flight is in plain memory, for want of a buffer, and goes with the process; what was appended behind it
// meanwhile must not be found by the next mount, which could not tell it from damage.
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
    ASSERT_TRUE(IsOk(file_->Append(AsBytes("in flight, "))));  // in plain memory
    if (!has_one_buffer) others.pop_back();                    // there is a buffer from now on
    {
      const SyncPoint::Scope scope([&](std::string_view name) {
        if (name != "LogSpace::Lead") return;
        EXPECT_TRUE(IsOk(file_->Append(AsBytes("behind it"))));
        device_->StopAfter(0);
      });
      EXPECT_FALSE(file_->Flush());
    }
    others.clear();
    Die();
    ASSERT_TRUE(Mount());
    EXPECT_EQ(Get("last.log"), "synced, ");
    EXPECT_TRUE(volume_->notices().empty());
  }
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
  const std::uint64_t before = volume_->write_counters().log_data;
  const Deadline deadline = Deadline::After(std::chrono::seconds(30));
  while (volume_->write_counters().log_data == before && !deadline.Passed()) {
    SleepUntil(SteadyNow() + std::chrono::milliseconds(5));
  }
  EXPECT_EQ(volume_->write_counters().log_data, before + 4);
}

// The drain does not know a file that has no place in the metadata log yet; once it has one, the bytes that wait are as
// old as they are.
TEST_F(VolumeFlushTest, BytesAppendedLongBeforeTheFirstFlushReachTheDevice) {
  Open("1.log");
  ASSERT_TRUE(IsOk(file_->Append(AsBytes("text"))));
  SleepUntil(SteadyNow() + 2 * LogDrain::kMaxAge);  // so the drain has looked, and rests
  ASSERT_TRUE(IsOk(file_->Flush()));
  const Deadline deadline = Deadline::After(std::chrono::seconds(10));
  while (volume_->write_counters().log_data == 0 && !deadline.Passed()) {
    SleepUntil(SteadyNow() + std::chrono::milliseconds(5));
  }
  EXPECT_EQ(volume_->write_counters().log_data, 4u);
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

// The process dies once more while the next one brings the bytes back, after every single device command of that
// mount; the third finds all.
TEST_F(VolumeFlushTest, AKillAtAnyCommandOfTheMountThatBringsBackLosesNothing) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("synced ")));
  ASSERT_TRUE(IsOk(file_->Sync()));
  ASSERT_TRUE(IsOk(AppendAndFlush(std::string(10000, 'x'))));
  Open("2.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("second")));
  Die();
  for (std::uint64_t cut = 0;; ++cut) {
    ASSERT_LT(cut, 100u);
    device_->StopAfter(cut);
    const bool mounted = Mount().operator bool();
    const bool stopped = device_->stopped();
    Die();
    ASSERT_TRUE(Mount()) << "cut " << cut;
    ASSERT_EQ(Get("1.log"), "synced " + std::string(10000, 'x')) << "cut " << cut;
    ASSERT_EQ(Get("2.log"), "second") << "cut " << cut;
    if (mounted && !stopped) break;
    // Bytes to bring back for the next round.
    Open("2.log");
    ASSERT_TRUE(IsOk(file_->Truncate(0)));
    ASSERT_TRUE(IsOk(AppendAndFlush("second")));
    Die();
  }
}

// The process dies after every single device command of its own unmount.
TEST_F(VolumeFlushTest, AKillAtAnyCommandOfAnUnmountLosesNothing) {
  std::string expected[3];
  for (std::uint64_t cut = 0;; ++cut) {
    ASSERT_LT(cut, 100u);
    std::vector<std::unique_ptr<FileHandle>> open;
    for (int i = 0; i < 3; ++i) {
      Open(std::to_string(i) + ".log");
      const std::string text(i == 2 ? 200'000 : 10 + cut, static_cast<char>('a' + cut % 26));
      ASSERT_TRUE(IsOk(AppendAndFlush(text)));
      expected[i] += text;
      open.push_back(std::move(file_));
    }
    open.erase(open.begin());  // closed, so written; the others are still open
    device_->StopAfter(Commands() + cut);
    const bool whole = volume_->Unmount().has_value() && !device_->stopped();
    EXPECT_TRUE(!whole || Buffers().empty());
    open.clear();
    Die();
    ASSERT_TRUE(Mount()) << "cut " << cut;
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(Get(std::to_string(i) + ".log") == expected[i]) << i << ".log, cut " << cut;
    }
    EXPECT_TRUE(volume_->notices().empty()) << "cut " << cut;
    if (whole) break;
  }
}

// Power is lost, tmpfs and all, at every device command of such a mount: what was synced is there, what was only
// flushed is a prefix.
TEST_F(VolumeFlushTest, APowerLossAtAnyCommandOfThatMountKeepsWhatWasSynced) {
  const std::string synced = "synced ";
  const std::string flushed(10000, 'x');
  for (std::uint64_t cut = 0;; ++cut) {
    ASSERT_LT(cut, 100u);
    Open("1.log");
    ASSERT_TRUE(IsOk(file_->Truncate(0)));
    ASSERT_TRUE(IsOk(AppendAndFlush(synced)));
    ASSERT_TRUE(IsOk(file_->Sync()));
    ASSERT_TRUE(IsOk(AppendAndFlush(flushed)));
    Die();
    device_->StopAfter(cut);
    const bool whole = Mount().operator bool() && !device_->stopped();
    LosePower(LossPolicy::Random(cut));
    ASSERT_TRUE(Mount()) << "cut " << cut;
    const std::string found = Get("1.log");
    ASSERT_TRUE(found.starts_with(synced)) << "cut " << cut;
    ASSERT_TRUE((synced + flushed).starts_with(found)) << "cut " << cut;
    if (whole) {
      ASSERT_EQ(found, synced + flushed);
      break;
    }
  }
}

}  // namespace
}  // namespace zenfs
