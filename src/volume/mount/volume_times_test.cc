// Modification times of files: shown by the volume at once, and found by a later mount.
#include <array>

#include "base/clock.h"
#include "testing/crash_device.h"
#include "volume/mount/volume_flush_test_rig.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kThen = 1'800'000'000;
constexpr std::uint64_t kHour = 3'600;

class VolumeTimesTest : public VolumeFlushTest {
 protected:
  void Append(std::string_view text) { ASSERT_TRUE(IsOk(file_->Append(AsBytes(text)))); }
  std::uint64_t TimeOf(const std::string& path) {
    const auto stat = volume_->Stat(path);
    EXPECT_TRUE(IsOk(stat)) << path;
    const auto list = volume_->List("");
    for (const DirectoryEntry& entry : *list) {
      if (entry.name != path) continue;
      EXPECT_EQ(entry.stat.mtime_seconds, stat->mtime_seconds);
    }
    return stat ? stat->mtime_seconds : 0;
  }
  // The file as a reader beside this mount sees it.
  std::uint64_t TimeForReaders(const std::string& path) {
    const auto reader = Volume::Mount(MakeReadOnlyView(*device_), {.read_only = true});
    EXPECT_TRUE(IsOk(reader));
    const auto stat = (*reader)->Stat(path);
    EXPECT_TRUE(IsOk(stat));
    return stat ? stat->mtime_seconds : 0;
  }

  WallClockOverride clock_{kThen};
};

// For framed and plain files.
constexpr std::array kNames{"000001.log", "MANIFEST-000001", "LOG",
                            "000002.sst", "000003.blob",     "CURRENT.dbtmp"};

TEST_F(VolumeTimesTest, AppendAndTruncationMoveTheTimeAtOnceAndReadsDoNot) {
  for (const char* const name : kNames) {
    clock_.Set(kThen);
    Open(name);
    EXPECT_EQ(TimeOf(name), kThen) << name;
    clock_.Set(kThen + 100);
    EXPECT_EQ(TimeOf(name), kThen) << name;
    Append("some bytes");
    EXPECT_EQ(TimeOf(name), kThen + 100) << name;
    clock_.Set(kThen + 200);
    EXPECT_TRUE(IsOk(file_->Flush()));
    EXPECT_TRUE(IsOk(file_->Sync()));
    EXPECT_EQ(Get(name), "some bytes");
    EXPECT_EQ(TimeOf(name), kThen + 100) << name;
    ASSERT_TRUE(IsOk(file_->Truncate(3)));
    EXPECT_EQ(TimeOf(name), kThen + 200) << name;
    clock_.Set(kThen + 300);
    Append("more");
    file_.reset();
    EXPECT_EQ(TimeOf(name), kThen + 300) << name;
  }
}

TEST_F(VolumeTimesTest, TimeOfTheLastAppendSurvivesSyncAndLossOfPower) {
  for (const char* const name : kNames) {
    clock_.Set(kThen);
    Open(name);
    Append("first");
    ASSERT_TRUE(IsOk(file_->Sync()));
    clock_.Set(kThen + 100);
    Append("second");
    clock_.Set(kThen + 200);
    ASSERT_TRUE(IsOk(file_->Sync()));
    EXPECT_EQ(TimeForReaders(name), kThen + 100) << name;
    clock_.Set(kThen + kHour);
    LosePower(LossPolicy::LoseAll());
    ASSERT_TRUE(Mount());
    EXPECT_EQ(TimeOf(name), kThen + 100) << name;
    EXPECT_EQ(Get(name), "firstsecond");
    ASSERT_TRUE(IsOk(volume_->Unlink(name)));
  }
}

TEST_F(VolumeTimesTest, TimeOfTheLastAppendSurvivesCloseRenameAndUnmount) {
  for (const char* const name : kNames) {
    clock_.Set(kThen);
    Open(name);
    clock_.Set(kThen + 100);
    Append("bytes");
    clock_.Set(kThen + 200);
    ASSERT_TRUE(IsOk(file_->Close()));
    file_.reset();
    ASSERT_TRUE(IsOk(volume_->Rename(name, "renamed")));
    EXPECT_EQ(TimeOf("renamed"), kThen + 100) << name;
    ASSERT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    mounted_ = Fail(Code::kShutdown, "unmounted");
    clock_.Set(kThen + kHour);
    ASSERT_TRUE(Mount());
    EXPECT_EQ(TimeOf("renamed"), kThen + 100) << name;
    EXPECT_EQ(TimeForReaders("renamed"), kThen + 100) << name;
    ASSERT_TRUE(IsOk(volume_->Unlink("renamed")));
  }
}

TEST_F(VolumeTimesTest, FlushedBytesOfAKilledProcessHaveTheTimeOfTheirAppend) {
  for (const char* const name : kNames) {
    clock_.Set(kThen);
    Open(name);
    ASSERT_TRUE(IsOk(AppendAndFlush("first")));
    clock_.Set(kThen + 100);
    ASSERT_TRUE(IsOk(AppendAndFlush("second")));
    clock_.Set(kThen + 200);
    Die();
    clock_.Set(kThen + kHour);
    ASSERT_TRUE(Mount());
    EXPECT_EQ(TimeOf(name), kThen + 100) << name;
    EXPECT_EQ(Get(name), "firstsecond");
    Die();  // no frame was written since the seal
    ASSERT_TRUE(Mount());
    EXPECT_EQ(TimeOf(name), kThen + 100) << name;
    ASSERT_TRUE(IsOk(volume_->Unlink(name)));
  }
}

// Most bytes of the files are on the device in uncommitted extents, and the rest in shared memory.
TEST_F(VolumeTimesTest, FlushedExtentsOfAKilledProcessHaveTheTimeOfTheirAppend) {
  for (const std::size_t size : {200'000, 196'608}) {
    clock_.Set(kThen);
    Open("000003.blob");
    ASSERT_TRUE(IsOk(AppendAndFlush("first")));
    clock_.Set(kThen + 100);
    ASSERT_TRUE(IsOk(AppendAndFlush(Text(size))));
    Die();
    clock_.Set(kThen + kHour);
    ASSERT_TRUE(Mount());
    EXPECT_EQ(TimeOf("000003.blob"), kThen + 100);
    EXPECT_EQ(Get("000003.blob"), "first" + Text(size));
    ASSERT_TRUE(IsOk(volume_->Unlink("000003.blob")));
  }
}

// More time passes between the frames of a log than the 16 bits in a frame can express exactly.
TEST_F(VolumeTimesTest, LogThatWasIdleForDaysHasAPlausibleTimeAfterACrash) {
  Open("000001.log");
  std::uint64_t now = kThen;
  for (const std::uint64_t pause : {kHour, 5 * kHour, 30 * kHour, 10 * 24 * kHour, std::uint64_t{1}}) {
    now += pause;
    clock_.Set(now);
    Append("x");
    ASSERT_TRUE(IsOk(file_->Sync()));
    EXPECT_EQ(TimeOf("000001.log"), now);
    const std::uint64_t seen = TimeForReaders("000001.log");
    EXPECT_LE(seen, now) << pause;
    EXPECT_GE(seen + 63, now) << pause;
  }
  LosePower(LossPolicy::LoseAll());
  ASSERT_TRUE(Mount());
  EXPECT_EQ(TimeOf("000001.log"), now);
}

// Cleaning and reclaim change the places of bytes, not the bytes.
TEST_F(VolumeTimesTest, CleanDoesNotMoveTheTime) {
  Open("000001.log");
  Append(std::string(100'000, 'x'));
  ASSERT_TRUE(IsOk(file_->Sync()));
  clock_.Set(kThen + 100);
  for (int i = 0; volume_->counters().written.cleaned == 0; ++i) {
    ASSERT_LT(i, 500);
    auto other = volume_->Create("other.log");
    ASSERT_TRUE(IsOk(other));
    ASSERT_TRUE(IsOk((*other)->Append(AsBytes(std::string(300'000, 'y')))));
    ASSERT_TRUE(IsOk((*other)->Sync()));
  }
  EXPECT_EQ(TimeOf("000001.log"), kThen);
  EXPECT_EQ(TimeForReaders("000001.log"), kThen);
  LosePower(LossPolicy::LoseAll());
  ASSERT_TRUE(Mount());
  EXPECT_EQ(TimeOf("000001.log"), kThen);
}

}  // namespace
}  // namespace zenfs
