// A full volume always mounts: the bytes that a dead process flushed wait in shared memory until the device has room.
#include "base/sync_point.h"
#include "testing/small_tmpfs.h"
#include "testing/unprivileged.h"
#include "volume/fsck/check_volume.h"
#include "volume/mount/volume_flush_test_rig.h"
#include "volume/shared_buffers.h"

namespace zenfs::volume_flush_full_test {
namespace {

class VolumeFlushFull : public VolumeFlushTest {
 protected:
  static constexpr int kLogs = 15;  // with two buffers each, about as many as there are slots

  static std::string Name(int log) { return std::to_string(log) + ".log"; }

  // Synced bytes in each log, then data and synced frames in all zones.
  void FillUp() {
    for (int i = 0; i < kLogs; ++i) {
      Open(Name(i));
      expected_.push_back(Text(50'000, static_cast<unsigned>(i)));
      ASSERT_TRUE(IsOk(file_->Append(AsBytes(expected_.back()))));
      ASSERT_TRUE(IsOk(file_->Sync()));
      logs_.push_back(std::move(file_));
    }
    for (const std::string name : {"filler.sst", "filler.log"}) {
      Open(name);
      const std::string block(64 << 10, 'f');
      while (file_->Append(AsBytes(block)).ok() && file_->Sync().ok()) {
      }
      file_.reset();
    }
  }
  // Less than half a buffer for each log, so that the bytes stay in it.
  void FlushInto(std::size_t bytes) {
    for (int i = 0; i < kLogs; ++i) {
      const std::string text = Text(bytes, static_cast<unsigned>(100 + i));
      ASSERT_TRUE(IsOk(logs_[static_cast<std::size_t>(i)]->Append(AsBytes(text)))) << i;
      ASSERT_TRUE(IsOk(logs_[static_cast<std::size_t>(i)]->Flush())) << i;
      expected_[static_cast<std::size_t>(i)] += text;
    }
  }
  void Kill() {
    device_->StopAfter(Commands());
    logs_.clear();
    Die();
  }
  void ExpectAll() {
    for (int i = 0; i < kLogs; ++i)
      EXPECT_TRUE(Get(Name(i)) == expected_[static_cast<std::size_t>(i)]) << Name(i);
  }
  std::uint64_t HeldBytes() const {
    const std::vector<std::string> paths = Buffers();
    EXPECT_EQ(paths.size(), 1u);
    return paths.empty() ? 0 : LookAtSharedBuffers(paths.front()).held_bytes;
  }

  std::vector<std::unique_ptr<FileHandle>> logs_;
  std::vector<std::string> expected_;
};

TEST_F(VolumeFlushFull, AKilledOneMountsAndKeepsWhatWasFlushed) {
  FillUp();
  FlushInto(120'000);
  Kill();
  ASSERT_TRUE(Mount());
  EXPECT_TRUE(volume_->notices().empty());
  ExpectAll();
}

TEST_F(VolumeFlushFull, EachOfManyKillsInARowLosesNothing) {
  FillUp();
  FlushInto(100'000);
  for (int round = 0; round < 10; ++round) {
    Kill();
    ASSERT_TRUE(Mount()) << "round " << round;
    ExpectAll();
    EXPECT_EQ(Buffers().size(), 1u) << "round " << round;
  }
}

TEST_F(VolumeFlushFull, AKillAtAnyCommandOfTheMountLosesNothing) {
  FillUp();
  FlushInto(100'000);
  Kill();
  for (std::uint64_t cut = 0;; ++cut) {
    ASSERT_LT(cut, 100u);
    device_->StopAfter(cut);
    const bool whole = Mount().operator bool() && !device_->stopped();
    Die();
    ASSERT_TRUE(Mount()) << "cut " << cut;
    ExpectAll();
    if (whole) break;
    Die();
  }
}

TEST_F(VolumeFlushFull, AProperEndKeepsWhatWasFlushedAndSaysSo) {
  FillUp();
  FlushInto(120'000);
  logs_.clear();
  EXPECT_TRUE(IsOk(volume_->Unmount()));
  ASSERT_EQ(volume_->notices().size(), 1u);
  EXPECT_NE(volume_->notices().front().find(Buffers().front()), std::string::npos)
      << volume_->notices().front();
  ASSERT_TRUE(Mount());
  EXPECT_TRUE(volume_->notices().empty());
  ExpectAll();
}

// Simulator, seed 3873: a frame that rotted then was taken for the end of its log.
TEST_F(VolumeFlushFull, AProperEndSealsWhatIsOnTheDevice) {
  FillUp();
  FlushInto(120'000);
  logs_.clear();
  EXPECT_TRUE(IsOk(volume_->Unmount()));
  ASSERT_EQ(volume_->notices().size(), 1u) << "bytes wait in memory";
  const auto report = CheckVolume(*device_, {});
  ASSERT_TRUE(IsOk(report));
  for (const Finding& finding : report->findings) {
    EXPECT_EQ(finding.text.find("are not sealed yet"), std::string::npos) << finding.text;
  }
}

TEST_F(VolumeFlushFull, OnceThereIsRoomTheDeviceGetsWhatWaited) {
  FillUp();
  FlushInto(120'000);
  Kill();
  ASSERT_TRUE(Mount());
  EXPECT_GT(HeldBytes(), 0u);
  ASSERT_TRUE(IsOk(volume_->Unlink("filler.sst")));
  EXPECT_TRUE(Await([&] { return HeldBytes() == 0; })) << "the bytes stayed in memory";
  ExpectAll();
  EXPECT_TRUE(IsOk(volume_->Unmount()));
  EXPECT_TRUE(volume_->notices().empty());
  EXPECT_TRUE(Buffers().empty());
  ASSERT_TRUE(Mount());
  ExpectAll();
}

TEST_F(VolumeFlushFull, DeletedLogsGiveTheirBuffersBack) {
  FillUp();
  FlushInto(120'000);
  Kill();
  ASSERT_TRUE(Mount());
  for (int i = 0; i < kLogs; ++i) ASSERT_TRUE(IsOk(volume_->Unlink(Name(i))));
  ASSERT_TRUE(IsOk(volume_->Unlink("filler.log")));
  EXPECT_TRUE(Await([&] { return HeldBytes() == 0; }))
      << "the drain may hold a file for a moment, not longer";
  EXPECT_TRUE(IsOk(volume_->Unmount()));
  EXPECT_TRUE(volume_->notices().empty());
}

TEST_F(VolumeFlushFull, SmallerBuffersOfTheNextMountHoldTheOldBytes) {
  wal_buffer_bytes_ = 1 << 20;
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  ASSERT_TRUE(Mount());
  FillUp();
  FlushInto(400'000);
  Kill();
  wal_buffer_bytes_ = 64 << 10;
  ASSERT_TRUE(Mount());
  ExpectAll();
}

// Reads come from the buffers, and further appends continue there.
TEST_F(VolumeFlushFull, ALogThatWaitsCanBeAppendedTo) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("first, ")));
  Die();
  ASSERT_TRUE(Mount());
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("second, ")));
  Die();
  ASSERT_TRUE(Mount());
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("third")));
  EXPECT_EQ(Get("1.log"), "first, second, third");
}

TEST_F(VolumeFlushFull, FlushedBytesOfPlainFilesWaitToo) {
  FillUp();
  ASSERT_TRUE(IsOk(volume_->Unlink("filler.log")));
  std::string blob = Text(5'000);
  Open("1.blob");
  ASSERT_TRUE(IsOk(AppendAndFlush(blob)));
  ASSERT_TRUE(IsOk(file_->Sync()));
  std::unique_ptr<FileHandle> open = std::move(file_);
  Open("filler2.log");
  const std::string block(64 << 10, 'f');
  while (file_->Append(AsBytes(block)).ok() && file_->Sync().ok()) {
  }
  file_.reset();
  ASSERT_TRUE(IsOk(open->Append(AsBytes(Text(50'000, 7)))));
  ASSERT_TRUE(IsOk(open->Flush()));
  open.reset();
  blob += Text(50'000, 7);
  for (int round = 0; round < 3; ++round) {
    Kill();
    ASSERT_TRUE(Mount()) << round;
    EXPECT_TRUE(Get("1.blob") == blob) << round;
    ExpectAll();
  }
}

// For example `sudo zenfs rmdir`, while the server that usually mounts the volume is down.
TEST_F(VolumeFlushFull, RootLeavesWhatWaitsToTheUserWhoMountsUsually) {
  if (geteuid() != 0) GTEST_SKIP() << "this test must be run by root";
  std::filesystem::permissions(directory_, std::filesystem::perms::all | std::filesystem::perms::sticky_bit);
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  std::optional<Unprivileged> user(std::in_place);
  ASSERT_TRUE(Mount());
  FillUp();
  FlushInto(100'000);
  Kill();
  user.reset();
  ASSERT_TRUE(Mount());
  EXPECT_TRUE(IsOk(volume_->Unmount()));
  EXPECT_EQ(volume_->notices().size(), 1u);
  volume_.reset();
  user.emplace();
  EXPECT_TRUE(Mount());
  ExpectAll();
}

// Without shared memory for the bytes, the device must have room for them.
TEST_F(VolumeFlushFull, WithoutMemoryForThemTheMountNamesAWayOutAndLosesNothing) {
  const SmallTmpfs small(300 << 10);
  if (!small.mounted()) GTEST_SKIP() << "this test must be able to mount a tmpfs";
  FillUp();
  FlushInto(100'000);
  Kill();
  MountOptions options = Options();
  options.flush_directory = small.File("");
  options.flush_directory.pop_back();
  const auto refused = Volume::Mount(Borrow(*device_), options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kNoSpace) << refused.error().ToString();
  EXPECT_NE(refused.error().text().find("flush_dir"), std::string::npos) << refused.error().ToString();
  EXPECT_EQ(Buffers().size(), 1u) << "the refused mount removed the only copy";
  ASSERT_TRUE(Mount());
  ExpectAll();
}

TEST_F(VolumeFlushFull, WithoutMemoryForThemTheDeviceGetsThemIfItHasRoom) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("synced, ")));
  ASSERT_TRUE(IsOk(file_->Sync()));
  ASSERT_TRUE(IsOk(AppendAndFlush("flushed")));
  Die();
  for (std::uint64_t cut = 0;; ++cut) {
    ASSERT_LT(cut, 100u);
    device_->StopAfter(cut);
    MountOptions options = Options();
    options.flush_directory = "none";
    mounted_ = Volume::Mount(Borrow(*device_), options);
    const bool whole = mounted_.ok() && !device_->stopped();
    if (whole) {
      EXPECT_TRUE(Buffers().empty());
      volume_ = *mounted_;
      EXPECT_EQ(Get("1.log"), "synced, flushed");
      break;
    }
    Die();
    ASSERT_TRUE(Mount()) << "cut " << cut;
    EXPECT_EQ(Get("1.log"), "synced, flushed") << "cut " << cut;
    Open("1.log");
    ASSERT_TRUE(IsOk(file_->Truncate(8)));
    ASSERT_TRUE(IsOk(AppendAndFlush("flushed")));
    Die();
  }
}

}  // namespace
}  // namespace zenfs::volume_flush_full_test
