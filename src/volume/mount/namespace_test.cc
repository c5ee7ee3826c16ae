#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>

#include "base/sync_point.h"
#include "device/read_only_view.h"
#include "testing/borrowed_device.h"
#include "testing/faulty_device.h"
#include "testing/switched_points.h"
#include "volume/mount/mount_table.h"
#include "volume/mount/namespace.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// D2 of docs/internals/failures.md.
TEST_F(VolumeTest, RenameOverAnExistingFileReplacesItInOneCommit) {
  Put("CURRENT", "old");
  Put("000001.dbtmp", "new");
  WaitForCommits(*volume_, 1 + 1 + 2);  // of the mount, of the ready log zone, of both files
  const std::uint64_t before = volume_->counters().metalog.commits;
  ASSERT_TRUE(IsOk(volume_->Rename("000001.dbtmp", "CURRENT")));
  EXPECT_EQ(volume_->counters().metalog.commits, before + 1);
  EXPECT_THAT(Names(""), ElementsAre("CURRENT"));
  Remount();
  EXPECT_EQ(Get("CURRENT"), "new");
}

TEST_F(VolumeTest, RenameOfANeverSyncedFileTakesItsContentsAlong) {
  auto file = volume_->Create("tmp");
  ASSERT_TRUE(IsOk(file));
  ASSERT_TRUE(IsOk((*file)->Append(AsBytes("content"))));
  ASSERT_TRUE(IsOk(volume_->Rename("tmp", "final")));
  ASSERT_TRUE(IsOk((*file)->Append(AsBytes(" and more"))));
  ASSERT_TRUE(IsOk((*file)->Close()));
  Remount();
  EXPECT_THAT(Names(""), ElementsAre("final"));
  EXPECT_EQ(Get("final"), "content and more");
}

// Between two steps of the Create that replaces it, a file is neither pending nor marked as unlinked.
TEST_F(VolumeTest, AFileThatLosesItsNameBeforeItWasEverDurableCanBeSyncedAndTruncatedMeanwhile) {
  for (const std::string path : {"a.sst", "a.log"}) {
    auto first = volume_->Create(path);
    ASSERT_TRUE(IsOk(first));
    ASSERT_TRUE(IsOk((*first)->Append(AsBytes("the first"))));
    bool was_there = false;
    {
      SyncPoint::Scope scope([&](std::string_view name) {
        if (name != "Namespace::Create:replaced") return;
        was_there = true;
        EXPECT_TRUE(IsOk((*first)->Truncate(3))) << path;
        EXPECT_TRUE(IsOk((*first)->Sync())) << path;
      });
      Put(path, "the second");
    }
    EXPECT_TRUE(was_there);
    EXPECT_TRUE(IsOk((*first)->Sync()));
    EXPECT_EQ(Get(path), "the second");
  }
  Remount();
  EXPECT_EQ(Get("a.sst"), "the second");
  EXPECT_EQ(Get("a.log"), "the second");
}

TEST_F(VolumeTest, RenamedDirectoryKeepsItsFiles) {
  ASSERT_TRUE(IsOk(volume_->MakeDirectory("a/b/c", true)));
  Put("a/b/c/file", "x");
  ASSERT_TRUE(IsOk(volume_->Rename("a/b", "d")));
  EXPECT_EQ(Get("d/c/file"), "x");
  EXPECT_EQ(CodeOf(volume_->Rename("d", "d/c/inside")), Code::kInvalidArgument);
  ASSERT_TRUE(IsOk(volume_->MakeDirectory("full", false)));
  Put("full/file", "y");
  EXPECT_EQ(CodeOf(volume_->Rename("d", "full")), Code::kNotEmpty);
  ASSERT_TRUE(IsOk(volume_->Unlink("full/file")));
  EXPECT_TRUE(IsOk(volume_->Rename("d", "full")));
  Remount();
  EXPECT_EQ(Get("full/c/file"), "x");
  EXPECT_THAT(Names("a"), IsEmpty());
}

// D10 of docs/internals/failures.md.
TEST_F(VolumeTest, FailedRenameAndFailedLinkAreErrors) {
  Put("file", "x");
  ASSERT_TRUE(IsOk(volume_->MakeDirectory("dir", false)));
  EXPECT_EQ(CodeOf(volume_->Rename("missing", "other")), Code::kNotFound);
  EXPECT_EQ(CodeOf(volume_->Rename("file", "nowhere/file")), Code::kNotFound);
  EXPECT_EQ(CodeOf(volume_->Rename("file", "dir")), Code::kIsADirectory);
  EXPECT_EQ(CodeOf(volume_->Rename("dir", "file")), Code::kNotADirectory);
  EXPECT_EQ(CodeOf(volume_->Link("missing", "other")), Code::kNotFound);
  EXPECT_EQ(CodeOf(volume_->Link("file", "dir")), Code::kExists);
  EXPECT_EQ(CodeOf(volume_->Link("dir", "dir2")), Code::kIsADirectory);
  EXPECT_EQ(Get("file"), "x");
}

TEST_F(VolumeTest, LinkedFileLivesWithEitherName) {
  Put("a", "shared");
  ASSERT_TRUE(IsOk(volume_->Link("a", "b")));
  EXPECT_EQ(volume_->Stat("a")->links, 2u);
  EXPECT_EQ(volume_->Stat("a")->id, volume_->Stat("b")->id);
  ASSERT_TRUE(IsOk(volume_->Unlink("a")));
  Remount();
  EXPECT_EQ(Get("b"), "shared");
  EXPECT_EQ(volume_->Stat("b")->links, 1u);
}

TEST_F(VolumeTest, RenameOfOneLinkOntoAnotherOfTheSameFileChangesNothing) {
  Put("a", "shared");
  ASSERT_TRUE(IsOk(volume_->Link("a", "b")));
  EXPECT_TRUE(IsOk(volume_->Rename("a", "b")));
  EXPECT_THAT(Names(""), ElementsAre("a", "b"));
}

TEST_F(VolumeTest, DirectoriesComeAndGo) {
  EXPECT_TRUE(IsOk(volume_->MakeDirectory("x/y", true)));
  EXPECT_TRUE(IsOk(volume_->MakeDirectory("x/y", true)));
  EXPECT_EQ(CodeOf(volume_->MakeDirectory("x/y", false)), Code::kExists);
  EXPECT_EQ(CodeOf(volume_->MakeDirectory("p/q", false)), Code::kNotFound);
  EXPECT_EQ(CodeOf(volume_->RemoveDirectory("x")), Code::kNotEmpty);
  EXPECT_EQ(CodeOf(volume_->RemoveDirectory("")), Code::kInvalidArgument);
  auto pending = volume_->Create("x/y/file");
  ASSERT_TRUE(IsOk(pending));
  EXPECT_EQ(CodeOf(volume_->RemoveDirectory("x/y")), Code::kNotEmpty);
  ASSERT_TRUE(IsOk(volume_->Unlink("x/y/file")));
  EXPECT_TRUE(IsOk(volume_->RemoveDirectory("x/y")));
  EXPECT_TRUE(IsOk(volume_->RemoveDirectory("x")));
  EXPECT_EQ(CodeOf(volume_->List("x")), Code::kNotFound);
}

constexpr std::uint64_t kDeep = 10'000;

TEST_F(VolumeTest, ATreeOfAnyDepthIsRemovedInLinearTime) {
  Put("beside", "x");
  AddDeepTree(kDeep);
  const std::uint64_t before = volume_->counters().metalog.commits;
  ASSERT_TRUE(IsOk(volume_->RemoveTree("d")));
  EXPECT_LT(volume_->counters().metalog.commits, before + 40);
  EXPECT_THAT(Names(""), ElementsAre("beside"));
  Remount();
  EXPECT_THAT(Names(""), ElementsAre("beside"));
}

TEST_F(VolumeTest, ATreeIsRemovedWithTheFilesThatNobodySynced) {
  ASSERT_TRUE(IsOk(volume_->MakeDirectory("a/b", true)));
  Put("a/one", "1");
  ASSERT_TRUE(IsOk(volume_->Link("a/one", "a/b/two")));
  ASSERT_TRUE(IsOk(volume_->Link("a/one", "three")));
  auto young = volume_->Create("a/b/young");
  ASSERT_TRUE(IsOk(young));
  auto shadow = volume_->Create("a/one");  // replaces the file once it is synced
  ASSERT_TRUE(IsOk(shadow));
  auto open = volume_->OpenForRead("three");
  ASSERT_TRUE(IsOk(open));
  ASSERT_TRUE(IsOk(volume_->RemoveTree("/a/")));
  EXPECT_THAT(Names(""), ElementsAre("three"));
  EXPECT_TRUE(IsOk((*young)->Append(AsBytes("into the void"))));
  EXPECT_TRUE(IsOk((*young)->Close()));
  EXPECT_TRUE(IsOk((*shadow)->Close()));
  EXPECT_EQ(ReadAll(**open), "1");
  EXPECT_EQ(CodeOf(volume_->RemoveTree("a")), Code::kNotFound);
  EXPECT_EQ(CodeOf(volume_->RemoveTree("three")), Code::kNotADirectory);
  EXPECT_EQ(CodeOf(volume_->RemoveTree("/")), Code::kInvalidArgument);
  Remount();
  EXPECT_THAT(Names(""), ElementsAre("three"));
}

TEST_F(VolumeTest, NamesThatAppearDuringTheRemovalOfATreeGoToo) {
  AddDeepTree(5000);
  int steps = 0;
  SyncPoint::Scope scope([&](std::string_view name) {
    if (name != "Namespace::RemoveTree:planned" || ++steps != 2) return;
    EXPECT_TRUE(IsOk(volume_->MakeDirectory("d/d/new", false)));
    Put("d/d/new/file", "x");
    EXPECT_EQ(CodeOf(volume_->RemoveDirectory("d")), Code::kNotEmpty);
  });
  ASSERT_TRUE(IsOk(volume_->RemoveTree("d")));
  EXPECT_GT(steps, 2);
  EXPECT_THAT(Names(""), IsEmpty());
}

TEST_F(VolumeTest, SyncDirectoryMakesCreatedFilesDurable) {
  auto file = volume_->Create("new.sst");
  ASSERT_TRUE(IsOk(file));
  ASSERT_TRUE(IsOk(volume_->SyncDirectory("")));
  const auto beside = Volume::Mount(MakeReadOnlyView(*device_), {});
  ASSERT_TRUE(IsOk(beside));
  EXPECT_TRUE(IsOk((*beside)->Stat("new.sst")));
}

TEST_F(VolumeTest, PathIsLockedOncePerProcess) {
  auto lock = volume_->Lock("db/../LOCK");
  ASSERT_TRUE(IsOk(lock));
  EXPECT_EQ(CodeOf(volume_->Lock("LOCK")), Code::kBusy);
  lock->reset();
  EXPECT_TRUE(IsOk(volume_->Lock("LOCK")));
  EXPECT_THAT(Names(""), ElementsAre("LOCK"));
}

TEST_F(VolumeTest, ReadOnlyMountShowsEverythingAndChangesNothing) {
  Put("a.log", "log");
  Put("b.sst", "table");
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  const EmulatorMeter before = device_->meter();
  {
    const auto read_only = Volume::Mount(MakeReadOnlyView(*device_), {.read_only = true});
    ASSERT_TRUE(IsOk(read_only));
    EXPECT_TRUE((*read_only)->info().read_only);
    const auto file = (*read_only)->OpenForRead("a.log");
    ASSERT_TRUE(IsOk(file));
    EXPECT_EQ(ReadAll(**file), "log");
    EXPECT_EQ(CodeOf((*read_only)->Create("c")), Code::kReadOnly);
    EXPECT_EQ(CodeOf((*read_only)->Unlink("a.log")), Code::kReadOnly);
    EXPECT_EQ(CodeOf((*read_only)->Rename("a.log", "x.log")), Code::kReadOnly);
  }
  const EmulatorMeter after = device_->meter();
  for (const EmulatorCommand kind : {EmulatorCommand::kWrite, EmulatorCommand::kManagement}) {
    EXPECT_EQ(after.of(kind).commands, before.of(kind).commands);
  }
  volume_.reset();
  Mount();
}

TEST_F(VolumeTest, TwoMountsOfOneKeyShareOneVolume) {
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  int opened = 0;
  const auto open = [&]() -> Result<std::unique_ptr<ZonedDevice>> {
    ++opened;
    return Borrow(*device_);
  };
  for (int round = 1; round <= 3; ++round) {
    auto first = MountShared("key", {}, open);
    auto second = MountShared("key", {}, open);
    ASSERT_TRUE(IsOk(first));
    ASSERT_TRUE(IsOk(second));
    EXPECT_EQ(first->get(), second->get());
    EXPECT_EQ(CodeOf(MountShared("key", {.plain_buffer_bytes = 1 << 16}, open)), Code::kInvalidArgument);
    EXPECT_EQ(opened, round);
  }
  Mount();
}

TEST_F(VolumeTest, ARefusedMountMayHoldTheLastPointerToTheVolume) {
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  {
    SwitchedPoints points;
    const auto open = [&]() -> Result<std::unique_ptr<ZonedDevice>> { return Borrow(*device_); };
    auto first = MountShared("key", {}, open);
    ASSERT_TRUE(IsOk(first));
    {
      const SwitchedPoints::During during(points, [&](std::string_view name) {
        if (name == "MountShared:found") first->reset();
      });
      EXPECT_EQ(CodeOf(MountShared("key", {.plain_buffer_bytes = 1 << 16}, open)), Code::kInvalidArgument);
    }
    EXPECT_TRUE(IsOk(MountShared("key", {.plain_buffer_bytes = 1 << 16}, open)));
  }
  Mount();
}

TEST(DeviceNoticeTest, WhatADeviceHasToSayReachesWhoeverMountsIt) {
  const auto device = CreateMemoryDevice(SmallGeometry());
  ASSERT_TRUE(IsOk(FormatVolume(*device, {})));
  for (const bool read_only : {false, true}) {
    auto noted = std::make_unique<FaultyDevice>(read_only ? MakeReadOnlyView(*device) : Borrow(*device));
    noted->SetNotices({"mounted without explicit-open"});
    const auto volume = Volume::Mount(std::move(noted), {.read_only = read_only});
    ASSERT_TRUE(IsOk(volume));
    EXPECT_EQ((*volume)->notices(), (std::vector<std::string>{"mounted without explicit-open"}));
    EXPECT_TRUE(IsOk((*volume)->Unmount()));
  }
}

}  // namespace
}  // namespace zenfs

namespace zenfs {
namespace {

TEST(PathLocksTest, ALockedPathIsBusyInEverySpellingUntilItsLockIsDestroyed) {
  PathLocks locks;
  auto lock = locks.Take("/db/LOCK");
  ASSERT_TRUE(lock);
  const auto again = locks.Take("db//./LOCK");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), Code::kBusy);
  EXPECT_TRUE(locks.Take("/other/LOCK"));
  lock->reset();
  EXPECT_TRUE(locks.Take("/db/LOCK"));
}

TEST(PathLocksTest, ALockMayOutliveTheSetItCameFrom) {
  std::optional<PathLocks> locks(std::in_place);
  const auto lock = locks->Take("/db/LOCK");
  ASSERT_TRUE(lock);
  locks.reset();
}

}  // namespace
}  // namespace zenfs
