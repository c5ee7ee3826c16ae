#include <gmock/gmock.h>

#include "testing/random_bytes.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

TEST_F(VolumeTest, SyncedPlainFileIsThereAfterRemount) {
  const std::string content = RandomBytes(3'000'001, 1);
  Put("000007.sst", content);
  Remount();
  EXPECT_EQ(Get("000007.sst"), content);
}

TEST_F(VolumeTest, SyncedFramedFileIsThereAfterRemount) {
  const std::string content = RandomBytes(1'000'003, 2);
  Put("000004.log", content);
  Remount();
  EXPECT_EQ(Get("000004.log"), content);
}

TEST_F(VolumeTest, UnsyncedBytesAreReadableThroughAnotherHandle) {
  for (const char* name : {"a.log", "b.sst"}) {
    auto writer = volume_->Create(name);
    ASSERT_TRUE(IsOk(writer));
    ASSERT_TRUE(IsOk((*writer)->Append(AsBytes("hello"))));
    EXPECT_EQ(Get(name), "hello");
    ASSERT_TRUE(IsOk((*writer)->Append(AsBytes(" world"))));
    EXPECT_EQ(Get(name), "hello world");
  }
}

TEST_F(VolumeTest, ReopenForAppendKeepsTheContents) {
  for (const char* name : {"a.log", "b.sst"}) {
    std::string expected;
    for (int round = 0; round < 5; ++round) {
      auto file = volume_->OpenForAppend(name, true);
      ASSERT_TRUE(IsOk(file));
      const std::string piece = RandomBytes(5000 + round, round);
      ASSERT_TRUE(IsOk((*file)->Append(AsBytes(piece))));
      ASSERT_TRUE(IsOk((*file)->Close()));
      expected += piece;
      EXPECT_EQ(Get(name), expected);
      Remount();
      EXPECT_EQ(Get(name), expected);
    }
  }
}

// R1 of docs/internals/failures.md.
TEST_F(VolumeTest, ReopeningAFileThatIsBeingWrittenDoesNotHang) {
  auto first = volume_->Create("a.sst");
  ASSERT_TRUE(IsOk(first));
  ASSERT_TRUE(IsOk((*first)->Append(AsBytes("one"))));
  auto second = volume_->OpenForAppend("a.sst", false);
  ASSERT_TRUE(IsOk(second));
  ASSERT_TRUE(IsOk((*second)->Append(AsBytes("two"))));
  ASSERT_TRUE(IsOk((*second)->Sync()));
  EXPECT_EQ(Get("a.sst"), "onetwo");
}

TEST_F(VolumeTest, DeletedFileLivesUntilItsLastHandleIsGone) {
  for (const char* name : {"a.log", "b.sst"}) {
    const std::string content = RandomBytes(300'000, 3);
    Put(name, content);
    auto file = volume_->OpenForRead(name);
    ASSERT_TRUE(IsOk(file));
    ASSERT_TRUE(IsOk(volume_->Unlink(name)));
    EXPECT_EQ(CodeOf(volume_->OpenForRead(name)), Code::kNotFound);
    for (int i = 0; i < 60; ++i) {  // more than the device holds, so its zones would be reused
      Put("filler.sst", RandomBytes(700'000, 100 + i));
    }
    EXPECT_EQ(ReadAll(**file), content);
  }
}

// R3 of docs/internals/failures.md.
TEST_F(VolumeTest, WritingToADeletedFileWorksAndLeavesNothing) {
  for (const char* name : {"a.log", "b.sst"}) {
    auto file = volume_->Create(name);
    ASSERT_TRUE(IsOk(file));
    ASSERT_TRUE(IsOk((*file)->Append(AsBytes("before"))));
    ASSERT_TRUE(IsOk((*file)->Sync()));
    ASSERT_TRUE(IsOk(volume_->Unlink(name)));
    ASSERT_TRUE(IsOk((*file)->Append(AsBytes(" after"))));
    ASSERT_TRUE(IsOk((*file)->Sync()));
    EXPECT_EQ(ReadAll(**file), "before after");
    ASSERT_TRUE(IsOk((*file)->Close()));
  }
  Remount();
  EXPECT_TRUE(Names("").empty());
}

TEST_F(VolumeTest, CreateReplacesAnExistingFileOnlyOnceTheNewOneIsDurable) {
  Put("CURRENT", "old");
  auto file = volume_->Create("CURRENT");
  ASSERT_TRUE(IsOk(file));
  ASSERT_TRUE(IsOk((*file)->Append(AsBytes("new"))));
  EXPECT_EQ(Get("CURRENT"), "new");
  {
    const auto beside = Volume::Mount(MakeReadOnlyView(*device_), {});  // sees only commits
    ASSERT_TRUE(IsOk(beside));
    const auto old = (*beside)->OpenForRead("CURRENT");
    ASSERT_TRUE(IsOk(old));
    EXPECT_EQ(ReadAll(**old), "old");
  }
}

TEST_F(VolumeTest, TruncateToShorterThenAppendGivesBothParts) {
  for (const char* name : {"a.log", "b.sst"}) {
    for (const std::size_t cut : {0u, 1u, 4095u, 4096u, 70'000u, 99'999u}) {
      std::string expected = RandomBytes(100'000, cut);
      Put(name, expected);
      ASSERT_TRUE(IsOk(TruncateFile(*volume_, name, cut)));
      expected.resize(cut);
      EXPECT_EQ(Get(name), expected);
      auto file = volume_->OpenForAppend(name, false);
      ASSERT_TRUE(IsOk(file));
      ASSERT_TRUE(IsOk((*file)->Append(AsBytes("tail"))));
      ASSERT_TRUE(IsOk((*file)->Sync()));
      ASSERT_TRUE(IsOk((*file)->Close()));
      expected += "tail";
      EXPECT_EQ(Get(name), expected);
      Remount();
      EXPECT_EQ(Get(name), expected);
    }
    EXPECT_EQ(CodeOf(TruncateFile(*volume_, name, 1 << 20)), Code::kNotSupported);
  }
}

TEST_F(VolumeTest, SyncOfAnSstCostsOneCommitAndOfAWalNone) {
  WaitForLogReserve();
  const std::uint64_t before = volume_->counters().metalog.commits;
  Put("000009.sst", RandomBytes(100'000, 9));
  ASSERT_TRUE(IsOk(volume_->SyncDirectory("")));
  EXPECT_EQ(volume_->counters().metalog.commits, before + 1);
  auto wal = volume_->Create("000010.log");
  ASSERT_TRUE(IsOk(wal));
  ASSERT_TRUE(IsOk((*wal)->Append(AsBytes("first"))));
  ASSERT_TRUE(IsOk((*wal)->Sync()));
  const std::uint64_t created = volume_->counters().metalog.commits;
  EXPECT_EQ(created, before + 2);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(IsOk((*wal)->Append(AsBytes("more"))));
    ASSERT_TRUE(IsOk((*wal)->Sync()));
  }
  EXPECT_EQ(volume_->counters().metalog.commits, created);
}

TEST_F(VolumeTest, FullDeviceSaysNoSpaceLosesNothingAndGoesOnAfterDeletes) {
  std::vector<std::string> names;
  Status status;
  for (int i = 0; status.ok() && i < 200; ++i) {
    const std::string name = "f" + std::to_string(i) + ".sst";
    auto file = volume_->Create(name);
    ASSERT_TRUE(IsOk(file));
    status = (*file)->Append(AsBytes(RandomBytes(500'000, i)));
    if (status.ok()) status = (*file)->Sync();
    IgnoreError((*file)->Close());
    if (status.ok()) names.push_back(name);
  }
  ASSERT_EQ(CodeOf(status), Code::kNoSpace);
  EXPECT_GT(names.size(), 20u);
  auto wal = volume_->Create("w.log");  // logs have their own zones, so they can be written
  ASSERT_TRUE(IsOk(wal));
  ASSERT_TRUE(IsOk((*wal)->Append(AsBytes("still"))));
  EXPECT_TRUE(IsOk((*wal)->Sync()));
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(Get(names[i]), RandomBytes(500'000, i));
  for (std::size_t i = 0; i < names.size(); ++i) ASSERT_TRUE(IsOk(volume_->Unlink(names[i])));
  for (int i = 0; i < 10; ++i) Put("again" + std::to_string(i) + ".sst", RandomBytes(500'000, i));
  Remount();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Get("again" + std::to_string(i) + ".sst"), RandomBytes(500'000, i));
}

// S2 of docs/internals/failures.md.
TEST_F(VolumeTest, FreeSpaceOfTheReportCanReallyBeWritten) {
  const std::uint64_t free = volume_->Space().free;
  auto file = volume_->Create("big.sst");
  ASSERT_TRUE(IsOk(file));
  const std::string piece(64 << 10, 'x');
  std::uint64_t written = 0;
  for (; written + piece.size() <= free; written += piece.size()) {
    ASSERT_TRUE(IsOk((*file)->Append(AsBytes(piece)))) << written << " of " << free;
  }
  EXPECT_TRUE(IsOk((*file)->Sync()));
}

// While a log holds two zones, of which it needs one.
TEST_F(VolumeTest, FreeSpaceBesideALogCanReallyBeWrittenAndTheLogGoesOn) {
  const auto log = volume_->Create("1.log");
  ASSERT_TRUE(IsOk(log));
  ASSERT_TRUE(IsOk((*log)->Append(AsBytes("before"))));
  ASSERT_TRUE(IsOk((*log)->Sync()));
  const auto file = volume_->Create("big.sst");
  ASSERT_TRUE(IsOk(file));
  const std::string piece(64 << 10, 'x');
  const std::uint64_t free = volume_->Space().free;
  for (std::uint64_t written = 0; written + piece.size() <= free; written += piece.size())
    ASSERT_TRUE(IsOk((*file)->Append(AsBytes(piece)))) << written << " of " << free;
  EXPECT_TRUE(IsOk((*file)->Sync()));
  ASSERT_TRUE(IsOk((*log)->Append(AsBytes("after"))));
  EXPECT_TRUE(IsOk((*log)->Sync()));
}

TEST_F(VolumeTest, WalTrafficOfManyTimesTheDeviceNeedsNoMoreThanItsLiveLogs) {
  auto manifest = volume_->Create("MANIFEST-000001");
  ASSERT_TRUE(IsOk(manifest));
  std::string expected;
  for (int round = 0; round < 60; ++round) {
    const std::string name = std::to_string(round) + ".log";
    auto wal = volume_->Create(name);
    ASSERT_TRUE(IsOk(wal));
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(IsOk((*wal)->Append(AsBytes(RandomBytes(100'000, i)))));
      ASSERT_TRUE(IsOk((*wal)->Sync())) << round;
    }
    ASSERT_TRUE(IsOk((*wal)->Close()));
    ASSERT_TRUE(IsOk((*manifest)->Append(AsBytes(name))));
    ASSERT_TRUE(IsOk((*manifest)->Sync())) << round;
    expected += name;
    ASSERT_TRUE(IsOk(volume_->Unlink(name)));
  }
  EXPECT_EQ(ReadAll(**manifest), expected);
  EXPECT_GT(volume_->counters().written.cleaned, 0u);
  Remount();
  EXPECT_EQ(Get("MANIFEST-000001"), expected);
}

// R6 of docs/internals/failures.md.
TEST_F(VolumeTest, SixtyFourFilesAreWrittenInTurnsOnFourteenZones) {
  std::vector<std::unique_ptr<FileHandle>> files;
  std::vector<std::string> expected(64);
  for (int i = 0; i < 64; ++i) {
    auto file = volume_->Create("f" + std::to_string(i) + (i % 4 == 0 ? ".log" : ".sst"),
                                static_cast<Lifetime>(i % kLifetimeCount));
    ASSERT_TRUE(IsOk(file));
    files.push_back(*std::move(file));
  }
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 64; ++i) {
      const std::string piece = RandomBytes(30'000 + i, 64 * round + i);
      ASSERT_TRUE(IsOk(files[i]->Append(AsBytes(piece))));
      ASSERT_TRUE(IsOk(files[i]->Sync()));
      expected[i] += piece;
    }
  }
  for (int i = 0; i < 64; ++i) EXPECT_EQ(ReadAll(*files[i]), expected[i]);
  files.clear();
  Remount();
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(Get("f" + std::to_string(i) + (i % 4 == 0 ? ".log" : ".sst")), expected[i]);
}

TEST_F(VolumeTest, HandlesOutliveTheUnmountAndFailCleanly) {
  auto file = volume_->Create("a.log");
  ASSERT_TRUE(IsOk(file));
  ASSERT_TRUE(IsOk((*file)->Append(AsBytes("kept"))));
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  EXPECT_EQ(CodeOf((*file)->Append(AsBytes("x"))), Code::kShutdown);
  EXPECT_EQ(CodeOf((*file)->Sync()), Code::kShutdown);
  volume_.reset();
  Mount();
  EXPECT_EQ(Get("a.log"), "kept");
}

class SlowResets : public VolumeTest {
 protected:
  SlowResets() : VolumeTest(SmallGeometry(), {.management_us = 5000}) {}
};

// `zenfs delete`, then `zenfs df`: the first must not end before its resets, so that the second shows the free space.
TEST_F(SlowResets, SpaceOfDeletedFilesIsFreeAfterTheUnmount) {
  const std::uint64_t before = volume_->Space().free;
  Put("big.sst", RandomBytes(15'000'000, 1));
  ASSERT_TRUE(IsOk(volume_->Unlink("big.sst")));
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_ = *Volume::Mount(MakeReadOnlyView(*device_), {.read_only = true});
  EXPECT_EQ(volume_->Space().garbage, 0u);
  EXPECT_EQ(volume_->Space().free, before);
}

class FewSlots : public VolumeTest, public testing::WithParamInterface<std::uint32_t> {
 protected:
  static EmulatorGeometry Limited() {
    EmulatorGeometry geometry = SmallGeometry();
    geometry.max_open = geometry.max_active = GetParam();
    return geometry;
  }
  FewSlots() : VolumeTest(Limited()) {}
};

// R7 of docs/internals/failures.md.
TEST_P(FewSlots, ManyWritersOfLogsAndPlainFilesFinish) {
  std::vector<std::unique_ptr<FileHandle>> files;
  std::vector<std::string> expected(12);
  const auto name = [](int i) { return "f" + std::to_string(i) + (i % 3 == 0 ? ".log" : ".sst"); };
  for (int i = 0; i < 12; ++i) {
    auto file = volume_->Create(name(i), static_cast<Lifetime>(i % kLifetimeCount));
    ASSERT_TRUE(IsOk(file));
    files.push_back(*std::move(file));
  }
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 12; ++i) {
      const std::string piece = RandomBytes(50'000 + i, 12 * round + i);
      ASSERT_TRUE(IsOk(files[i]->Append(AsBytes(piece))));
      ASSERT_TRUE(IsOk(files[i]->Sync())) << round << " " << i;
      expected[i] += piece;
    }
    for (int j = 0; j < 20; ++j) {  // enough for switches of the metadata log
      Put("tmp", std::to_string(j));
      ASSERT_TRUE(IsOk(volume_->Rename("tmp", "CURRENT")));
    }
  }
  files.clear();
  for (int i = 0; i < 12; ++i) EXPECT_EQ(Get(name(i)), expected[i]);
  Remount();
  for (int i = 0; i < 12; ++i) EXPECT_EQ(Get(name(i)), expected[i]);
}

INSTANTIATE_TEST_SUITE_P(Limits, FewSlots, testing::Values(4u, 5u, 6u, 0u));

// Each record takes a block: 80 MiB of frames with 2 MB of payload, on a device of 30 MiB.
TEST_F(VolumeTest, PaddingOfSmallSyncedRecordsNeverFillsTheDevice) {
  auto log = volume_->Create("1.log");
  ASSERT_TRUE(IsOk(log));
  const std::string record(100, 'r');
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(IsOk((*log)->Append(AsBytes(record)))) << i;
    ASSERT_TRUE(IsOk((*log)->Sync())) << i;
  }
  EXPECT_EQ((*log)->size(), 2'000'000u);
  EXPECT_GT(volume_->counters().written.cleaned, 0u);
}

}  // namespace
}  // namespace zenfs
