// Which directory of the host has which files of the volume: removals, moves, copies, several prefixes, and crashes between the steps.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <vector>

#include "base/clock.h"
#include "base/sync_point.h"
#include "default_device_rig.h"

namespace zenfs::bound_directories_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace hostfs = std::filesystem;

// Two prefixes, each with a registry of its own beside it.
class TwoPrefixesTest : public DefaultDeviceTest {
 protected:
  void SetUp() override {
    hostfs::create_directories(At("x/a"));
    hostfs::create_directories(At("y/b"));
    prefixes = {At("x/a"), At("y/b")};
    Start();
  }
  void TearDown() override {
    Stop();
    EXPECT_THAT(SetAside(), SizeIs(set_aside_at_end));
    EXPECT_TRUE(volume.CheckIsClean());
  }
  std::size_t set_aside_at_end = 0;
};

// The entry in the first registry was left with one name, as if the directory had been removed.
TEST_F(TwoPrefixesTest, ADirectoryThatWasMovedToAnotherPrefixIsNotTakenForRemoved) {
  MakeDirectory("x/a/db");
  ASSERT_STATUS_OK(Write("x/a/db/f", "one"));
  hostfs::rename(At("x/a/db"), At("y/b/db"));
  EXPECT_EQ(Read("y/b/db/f"), "one");
  for (const bool restart : {false, true}) {
    const std::string other = restart ? "x/a/second" : "x/a/first";
    if (restart) Restart();
    MakeDirectory(other);
    ASSERT_STATUS_OK(Write(other + "/f", "two"));
    ASSERT_STATUS_OK(Write("y/b/db/g", "three"));
    EXPECT_EQ(Read("y/b/db/f"), "one");
  }
}

TEST_F(TwoPrefixesTest, ANewDirectoryOfItsOldNameHasOtherFiles) {
  MakeDirectory("x/a/db");
  ASSERT_STATUS_OK(Write("x/a/db/f", "one"));
  hostfs::rename(At("x/a/db"), At("y/b/db"));
  EXPECT_EQ(Read("y/b/db/f"), "one");
  MakeDirectory("x/a/db");
  PutOnHost("x/a/db/ZENFS", "");
  EXPECT_THAT(Read("x/a/db/f"), HasSubstr("has the files of a directory that was moved"));
  hostfs::remove(At("x/a/db/ZENFS"));
  ASSERT_STATUS_OK(Write("x/a/db/f", "two"));
  EXPECT_EQ(Read("y/b/db/f"), "one");
  EXPECT_EQ(Read("x/a/db/f"), "two");
}

TEST_F(TwoPrefixesTest, ACopyFromBeforeAMoveDoesNotCount) {
  MakeDirectory("x/a/db");
  ASSERT_STATUS_OK(Write("x/a/db/f", "one"));
  hostfs::copy(At("x/a/db"), At("x/a/copy"));
  hostfs::rename(At("x/a/db"), At("y/b/db"));
  EXPECT_EQ(Read("y/b/db/f"), "one");
  for (const bool original_is_gone : {false, true}) {
    if (original_is_gone) hostfs::remove_all(At("y/b/db"));
    EXPECT_THAT(Read("x/a/copy/f"), HasSubstr("does not count any more"));
    EXPECT_THAT(Write("x/a/copy/g", "x").ToString(), HasSubstr("does not count any more"));
  }
  set_aside_at_end = 1;
  MakeDirectory("y/b/new");
  ASSERT_STATUS_OK(Write("y/b/new/f", "two"));
}

// What a user does whose registries are lost. The other directory may exist all the same.
TEST_F(TwoPrefixesTest, FilesThatAreGivenToAnotherDirectoryAreNotUsedByBoth) {
  MakeDirectory("x/a/db");
  ASSERT_STATUS_OK(Write("x/a/db/f", "one"));
  Stop();
  hostfs::remove_all(At("x/.zenfs." + std::to_string(geteuid())));
  hostfs::rename(At("x/a/db"), volume.directory() + "/elsewhere");
  Start();
  MakeDirectory("x/a/db");
  PutOnHost("x/a/db/ZENFS", "");
  EXPECT_EQ(Read("x/a/db/f"), "one");
  hostfs::rename(volume.directory() + "/elsewhere", At("y/b/db"));
  EXPECT_THAT(Read("y/b/db/f"), HasSubstr("does not count any more"));
  EXPECT_EQ(Read("x/a/db/f"), "one");
}

TEST_F(TwoPrefixesTest, ANarrowerPrefixFindsWhatWasMovedMeanwhile) {
  MakeDirectory("x/a/db");
  ASSERT_STATUS_OK(Write("x/a/db/f", "one"));
  Stop();
  prefixes = {At("x/a/db")};
  Start();
  EXPECT_EQ(Read("x/a/db/f"), "one");
  Stop();
  hostfs::rename(At("x/a/db"), At("x/a/db2"));
  prefixes = {At("x/a/db2")};
  Start();
  EXPECT_EQ(Read("x/a/db2/f"), "one");
  ASSERT_STATUS_OK(Write("x/a/db2/g", "two"));
}

TEST_F(TwoPrefixesTest, OutsideOfThePrefixesADirectoryWithAMarkerIsRefused) {
  MakeDirectory("x/a/db");
  ASSERT_STATUS_OK(Write("x/a/db/f", "one"));
  hostfs::rename(At("x/a/db"), At("x/db"));
  EXPECT_THAT(Write("x/db/g", "x").ToString(), HasSubstr("is not below ZENFS_DEFAULT_PREFIX"));
  rocksdb::FileLock* lock = nullptr;
  EXPECT_FALSE(fs->LockFile(At("x/db/LOCK"), kIo, &lock, nullptr).ok());
  EXPECT_THAT(OnHost("x/db"), ElementsAre("ZENFS"));
  hostfs::rename(At("x/db"), At("y/b/db"));
  EXPECT_EQ(Read("y/b/db/f"), "one");
}

TEST_F(TwoPrefixesTest, ACrashOfAMoveToAnotherPrefixSetsNothingAside) {
  int step = 0;
  for (bool died = true; died; ++step) {
    SCOPED_TRACE(step);
    MakeDirectory("x/a/db");
    ASSERT_STATUS_OK(Write("x/a/db/f", "one"));
    hostfs::rename(At("x/a/db"), At("y/b/db"));
    int reached = 0;
    died = false;
    {
      const SyncPoint::Scope scope([&](std::string_view point) {
        if (!point.starts_with("BoundDirectories::") || reached++ != step) return;
        died = true;
        throw std::runtime_error("the process dies here");
      });
      Read("y/b/db/f");
    }
    Restart();
    for (const char* const other : {"x/a/other", "y/b/other"}) {  // asks both registries
      MakeDirectory(other);
      ASSERT_STATUS_OK(Write(std::string(other) + "/f", "two"));
    }
    Stop();
    EXPECT_THAT(SetAside(), IsEmpty());
    Start();
    EXPECT_EQ(Read("y/b/db/f"), "one");
    ASSERT_STATUS_OK(fs->DeleteFile(At("y/b/db/f"), kIo, nullptr));
    ASSERT_STATUS_OK(fs->DeleteDir(At("y/b/db"), kIo, nullptr));
  }
  EXPECT_GT(step, 4);
}

class BoundDirectoriesTest : public DefaultDeviceTest {
 protected:
  using DefaultDeviceTest::DefaultDeviceTest;
};

TEST_F(BoundDirectoriesTest, ADirectoryOverAnotherThatStaysGetsItsFilesBack) {
  MakeDirectory("db");
  MakeDirectory("db/sub");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  ASSERT_STATUS_OK(Write("db/sub/f", "two"));
  hostfs::rename(At("db/sub"), At("sub"));
  hostfs::copy(At("db"), At("elsewhere"));  // a move to another file system, and later
  hostfs::remove_all(At("db"));
  for (const char* const name : {"new", "db"}) {
    MakeDirectory(name);
    ASSERT_STATUS_OK(Write(std::string(name) + "/f", "three"));
  }
  Restart();
  EXPECT_EQ(Read("elsewhere/f"), "one");
  EXPECT_EQ(Read("sub/f"), "two");
  EXPECT_EQ(Read("db/f"), "three");
}

TEST_F(BoundDirectoriesTest, ADirectoryThatIsRemovedAgainAndAgainBlocksNoOther) {
  MakeDirectory("other");
  ASSERT_STATUS_OK(Write("other/f", "kept"));
  for (int round = 0; round < 3; ++round) {
    MakeDirectory("db");
    MakeDirectory("db/sub");
    ASSERT_STATUS_OK(Write("db/f", "one"));
    ASSERT_STATUS_OK(Write("db/sub/f", "two"));
    hostfs::remove(At("db/ZENFS"));
    EXPECT_FALSE(Exists("db/f"));
    ASSERT_STATUS_OK(Write("db/g", "three"));
    EXPECT_EQ(Read("db/sub/f"), "two");
    if (round == 1) Restart();
    hostfs::remove_all(At("db"));
    EXPECT_EQ(Read("other/f"), "kept");
  }
  MakeDirectory("last");
  ASSERT_STATUS_OK(Write("last/f", "x"));
  ExpectNoLeftovers();
  Stop();
  EXPECT_THAT(InVolume("db"), IsEmpty());
  EXPECT_THAT(SetAside(), SizeIs(9));
}

// The entry has the moved directory's marker as its other name; nothing is at the path that the copy tells.
TEST_F(BoundDirectoriesTest, ACopyOfADirectoryThatWasMovedAndNotUsedSinceIsRefused) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  hostfs::copy(At("db"), At("copy"));
  hostfs::rename(At("db"), At("moved"));
  EXPECT_THAT(Read("copy/f"), HasSubstr("is a copy of another directory"));
  EXPECT_EQ(Read("moved/f"), "one");
}

TEST_F(BoundDirectoriesTest, ACopyIsRefusedAlsoIfTheRegistryIsLost) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  hostfs::copy(At("db"), At("copy"));
  hostfs::remove_all(Registry());
  EXPECT_THAT(Read("copy/f"), HasSubstr("is a copy of another directory"));
  EXPECT_EQ(Read("db/f"), "one");
}

// Files that are set aside come back when they are used, so only the volume tells.
TEST_F(BoundDirectoriesTest, AReplacedMarkerSetsNothingAside) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  hostfs::copy(At("db/ZENFS"), At("saved"));
  hostfs::rename(At("saved"), At("db/ZENFS"));
  Restart();
  MakeDirectory("other");
  ASSERT_STATUS_OK(Write("other/f", "two"));
  Stop();
  EXPECT_THAT(SetAside(), IsEmpty());
  EXPECT_THAT(InVolume("db"), ElementsAre("f"));
}

TEST_F(BoundDirectoriesTest, ACopyOfARegistrySaysNothingOfDirectoriesThatWereMoved) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  Stop();
  const std::string copy = volume.directory() + "/copy";
  hostfs::copy(Registry(), copy);
  hostfs::remove_all(Registry());
  hostfs::rename(copy, Registry());
  hostfs::rename(At("db"), At("moved"));
  Start();
  MakeDirectory("other");
  ASSERT_STATUS_OK(Write("other/f", "two"));
  Stop();
  EXPECT_THAT(SetAside(), IsEmpty());
  Start();
  EXPECT_EQ(Read("moved/f"), "one");
}

TEST_F(BoundDirectoriesTest, AReaderOfASetAsideDirectoryChangesNothing) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  hostfs::copy(At("db"), At("elsewhere"));
  hostfs::remove_all(At("db"));
  MakeDirectory("other");
  ASSERT_STATUS_OK(Write("other/f", "two"));
  Stop();
  const std::string marker = TextOnHost("elsewhere/ZENFS");
  fs =
      std::make_unique<DefaultFileSystem>(DefaultDevice{.uri = volume.uri("ro"), .prefixes = prefixes}, host);
  EXPECT_EQ(Read("elsewhere/f"), "one");
  EXPECT_FALSE(Write("elsewhere/g", "x").ok());
  Stop();
  EXPECT_EQ(TextOnHost("elsewhere/ZENFS"), marker);
  EXPECT_THAT(SetAside(), SizeIs(1));
  Start();
  EXPECT_EQ(Read("elsewhere/f"), "one");
}

TEST_F(BoundDirectoriesTest, ADirectoryWithoutFilesThatWasMovedIsNotGivenToAnother) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  ASSERT_STATUS_OK(fs->DeleteFile(At("db/f"), kIo, nullptr));
  hostfs::rename(At("db"), At("moved"));
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/g", "two"));
  ASSERT_STATUS_OK(Write("moved/h", "three"));
  EXPECT_THAT(Children("db"), ElementsAre("g"));
  EXPECT_THAT(Children("moved"), ElementsAre("h"));
}

// Without the registry nothing says that the directory was moved. It was used before by the same process.
TEST_F(BoundDirectoriesTest, FilesThatAreGivenToAnotherDirectoryAreNotReadByTheFormerOne) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  hostfs::rename(At("db"), At("moved"));
  EXPECT_EQ(Read("moved/f"), "one");
  hostfs::remove_all(Registry());
  MakeDirectory("db");
  PutOnHost("db/ZENFS", "");
  EXPECT_EQ(Read("db/f"), "one");
  EXPECT_THAT(Read("moved/f"), HasSubstr("does not count any more"));
  EXPECT_THAT(Write("moved/g", "two").ToString(), HasSubstr("does not count any more"));
}

// What a user does who wants the space at once. The path of the removed one belongs to another, which stays in its place.
TEST_F(BoundDirectoriesTest, AnEntryWhoseFilesAreGoneDoesNotSetItsSuccessorAside) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  hostfs::remove_all(At("db"));
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/g", "two"));
  Stop();
  for (const std::string& name : SetAside()) {
    const auto direct = volume.Open();
    ASSERT_STATUS_OK(direct->DeleteFile("/.zenfs-removed/" + name + "/f", kIo, nullptr));
    ASSERT_STATUS_OK(direct->DeleteDir("/.zenfs-removed/" + name, kIo, nullptr));
  }
  Start();
  MakeDirectory("other");
  ASSERT_STATUS_OK(Write("other/g", "two"));
  ExpectNoLeftovers();
  Stop();
  EXPECT_THAT(SetAside(), IsEmpty());
  EXPECT_THAT(InVolume("db"), ElementsAre("g"));
}

TEST_F(BoundDirectoriesTest, AMarkerThatWasUsedIsLookedAtAgainOnceItChanged) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  EXPECT_EQ(Read("db/f"), "one");
  ASSERT_EQ(chmod(At("db/ZENFS").c_str(), 0666), 0);
  EXPECT_THAT(Read("db/f"), HasSubstr("others may write to it"));
  EXPECT_THAT(Write("db/g", "two").ToString(), HasSubstr("others may write to it"));
  ASSERT_EQ(chmod(At("db/ZENFS").c_str(), 0644), 0);
  EXPECT_EQ(Read("db/f"), "one");
}

TEST_F(BoundDirectoriesTest, ARegistryThatOthersMayWriteToIsNotBelieved) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  ASSERT_EQ(chmod(Registry().c_str(), 0777), 0);
  hostfs::remove_all(At("db"));
  MakeDirectory("other");
  ASSERT_STATUS_OK(Write("other/f", "two"));
  Stop();
  EXPECT_THAT(SetAside(), IsEmpty());
  EXPECT_EQ(hostfs::hard_link_count(At("other/ZENFS")), 2u);  // a registry elsewhere
}

TEST_F(BoundDirectoriesTest, AMovedDirectoryThatCannotBeWrittenHasItsFiles) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  hostfs::rename(At("db"), At("moved"));
  hostfs::create_directory(At("moved/.ZENFS.new"));  // stands for a host that is full or read-only
  EXPECT_EQ(Read("moved/f"), "one");
  ASSERT_STATUS_OK(Write("moved/g", "two"));
  hostfs::remove(At("moved/.ZENFS.new"));
  Restart();
  EXPECT_THAT(Children("moved"), ElementsAre("f", "g"));
}

TEST_F(BoundDirectoriesTest, AFileOfTheHostIsNotRenamedOverOneOfTheVolume) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  PutOnHost("db/g", "of the host");
  EXPECT_THAT(fs->RenameFile(At("db/g"), At("db/f"), kIo, nullptr).ToString(),
              HasSubstr("Invalid cross-device link"));
  EXPECT_EQ(Read("db/f"), "one");
  EXPECT_EQ(Read("db/g"), "of the host");
}

// What RocksDB's BackupEngine makes below a database.
TEST_F(BoundDirectoriesTest, DirectoriesWithoutFilesKeepNoOthersFromBeingSetAside) {
  for (const char* const name : {"db", "db/backup", "db/backup/private", "db/backup/private/1"})
    MakeDirectory(name);
  ASSERT_STATUS_OK(Write("db/f", "one"));
  ASSERT_STATUS_OK(Write("db/backup/private/1/f", "two"));
  hostfs::remove_all(At("db"));
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/g", "three"));
  EXPECT_THAT(TextOnHost("db/ZENFS"), HasSubstr("\npath " + At("db") + "\n"));
  Stop();
  EXPECT_THAT(InVolume("db"), ElementsAre("g"));
  EXPECT_THAT(SetAside(), SizeIs(2));
}

TEST_F(BoundDirectoriesTest, AMarkerThatIsEmptiedInItsPlaceBindsTheDirectoryAnew) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  hostfs::resize_file(At("db/ZENFS"), 0);  // its entry as well
  EXPECT_EQ(Read("db/f"), "one");
  Restart();
  EXPECT_EQ(Read("db/f"), "one");
}

TEST_F(BoundDirectoriesTest, APathWithALineEndGetsNoMarker) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  hostfs::rename(At("db"), At("d\nb"));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Read("d\nb/f"), "one");
    Restart();
  }
  hostfs::rename(At("d\nb"), At("db"));
  EXPECT_EQ(Read("db/f"), "one");
}

TEST_F(BoundDirectoriesTest, AHostThatIsRestoredWithItsHardLinksTellsRemovalsAgain) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  Stop();
  std::string entry;
  for (const auto& name : hostfs::directory_iterator(Registry())) entry = name.path();
  hostfs::copy_file(entry, entry + ".copy");
  hostfs::rename(entry + ".copy", entry);
  hostfs::remove(At("db/ZENFS"));
  hostfs::create_hard_link(entry, At("db/ZENFS"));
  Start();
  EXPECT_EQ(Read("db/f"), "one");
  hostfs::remove_all(At("db"));
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/g", "two"));
  Stop();
  EXPECT_THAT(SetAside(), SizeIs(1));
  EXPECT_THAT(InVolume("db"), ElementsAre("g"));
}

TEST_F(BoundDirectoriesTest, ADatabaseThatIsOpenIsNotDividedWhenItsMarkerGoes) {
  MakeDirectory("db");
  rocksdb::FileLock* lock = nullptr;
  ASSERT_STATUS_OK(fs->LockFile(At("db/LOCK"), kIo, &lock, nullptr));
  ASSERT_STATUS_OK(Write("db/f", "one"));
  hostfs::remove(At("db/ZENFS"));
  EXPECT_THAT(Write("db/g", "x").ToString(), HasSubstr("a database of this process is open there"));
  ASSERT_STATUS_OK(fs->UnlockFile(lock, kIo, nullptr));
  ASSERT_STATUS_OK(Write("db/g", "two"));
  EXPECT_THAT(Children("db"), ElementsAre("g"));
}

TEST_F(BoundDirectoriesTest, WhatAnotherUserPutsInTheWayIsNotBelieved) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give files to another user";
  constexpr uid_t kNobody = 65534;
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  // An entry for a marker that was moved to another file system.
  const std::string registry = At(".zenfs." + std::to_string(geteuid()));
  hostfs::create_directory(registry);
  for (const auto& entry : hostfs::directory_iterator(Registry())) {
    std::ofstream(registry + "/" + entry.path().filename().string()) << "x";
    hostfs::create_hard_link(registry + "/" + entry.path().filename().string(), registry + "/second");
  }
  ASSERT_EQ(chown(registry.c_str(), kNobody, kNobody), 0);
  hostfs::copy(At("db"), At("elsewhere"));
  hostfs::remove_all(At("db"));
  EXPECT_EQ(Read("elsewhere/f"), "one");
  // A marker at the place of a directory that was removed.
  hostfs::remove_all(registry);
  hostfs::remove_all(At("elsewhere"));
  hostfs::create_directory(At("elsewhere"));
  PutOnHost("elsewhere/ZENFS", "");
  ASSERT_EQ(chown(At("elsewhere/ZENFS").c_str(), kNobody, kNobody), 0);
  MakeDirectory("new");
  ASSERT_STATUS_OK(Write("new/f", "two"));
  Stop();
  EXPECT_THAT(SetAside(), SizeIs(1));
}

class SmallBoundDirectoriesTest : public BoundDirectoriesTest {
 protected:
  SmallBoundDirectoriesTest() : BoundDirectoriesTest(Small()) {}
};

TEST_F(SmallBoundDirectoriesTest, WhatWasSetAsideFirstIsDeletedFirst) {
  WallClockOverride clock(1'000'000'000);  // 2001-09-09T01:46:40Z
  for (const char* const name : {"older", "newer"}) {
    MakeDirectory(name);
    ASSERT_STATUS_OK(Write(std::string(name) + "/f", std::string(12 << 20, 'x')));
  }
  MakeDirectory("any");
  for (const char* const name : {"newer", "older"}) {  // the one that was made first is removed last
    hostfs::remove_all(At(name));
    Restart();
    ASSERT_STATUS_OK(Write("any/f", "x"));
    clock.Set(WallSeconds() + 3600);
  }
  std::set<std::string> aside;
  for (int i = 0; i < 30 && aside.size() != 1; ++i) {
    ASSERT_STATUS_OK(Write("any/" + std::to_string(i), std::string(2 << 20, 'x')));
    MakeDirectory("new" + std::to_string(i));
    ASSERT_STATUS_OK(Write("new" + std::to_string(i) + "/f", "x"));
    Stop();
    aside = SetAside();
    Start();
  }
  ASSERT_THAT(aside, SizeIs(1));
  EXPECT_THAT(*aside.begin(), ::testing::StartsWith("2001-09-09T024640Z."));
}

TEST_F(BoundDirectoriesTest, TooManyDirectoriesThatAreSetAsideAreDeleted) {
  Stop();
  const std::string oldest = "2001-09-09T014640Z.";
  {
    const auto direct = volume.Open();
    ASSERT_STATUS_OK(direct->CreateDir("/.zenfs-removed", kIo, nullptr));
    for (std::size_t i = 0; i < BoundDirectories::kSetAsideMax; ++i)
      ASSERT_STATUS_OK(
          direct->CreateDir("/.zenfs-removed/" + oldest + std::to_string(100'000 + i), kIo, nullptr));
  }
  Start();
  for (const char* const name : {"db", "new"}) {
    MakeDirectory(name);
    ASSERT_STATUS_OK(Write(name + std::string("/f"), "x"));
    hostfs::remove_all(At("db"));
  }
  Stop();
  const std::set<std::string> aside = SetAside();
  EXPECT_THAT(aside, SizeIs(BoundDirectories::kSetAsideMax));
  EXPECT_EQ(*aside.begin(), oldest + "100001");
}

// Only one of a program with this library and one without it can have a directory.
TEST_F(BoundDirectoriesTest, TheLockIsTheHosts) {
  MakeDirectory("db");
  rocksdb::FileLock* ours = nullptr;
  rocksdb::FileLock* hosts = nullptr;
  ASSERT_STATUS_OK(fs->LockFile(At("db/LOCK"), kIo, &ours, nullptr));
  EXPECT_THAT(OnHost("db"), ElementsAre("LOCK", "ZENFS"));
  EXPECT_FALSE(host->LockFile(At("db/LOCK"), kIo, &hosts, nullptr).ok());
  ASSERT_STATUS_OK(fs->UnlockFile(ours, kIo, nullptr));
  ASSERT_STATUS_OK(host->LockFile(At("db/LOCK"), kIo, &hosts, nullptr));
  EXPECT_FALSE(fs->LockFile(At("db/LOCK"), kIo, &ours, nullptr).ok());
  ASSERT_STATUS_OK(host->UnlockFile(hosts, kIo, nullptr));
  EXPECT_THAT(Children("db"), IsEmpty());
}

TEST_F(BoundDirectoriesTest, AnotherUserMayLookIntoARegistryWhateverTheUmaskIs) {
  const mode_t before = umask(077);
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/f", "one"));
  umask(before);
  struct stat st{};
  ASSERT_EQ(stat(Registry().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0711u);
}

TEST_F(BoundDirectoriesTest, TheLongestPathsHaveMarkersThatCanBeRead) {
  std::string name;
  while (prefix.size() + name.size() < 3700) {
    name += std::string(name.empty() ? "" : "/") + std::string(200, 'n');
    MakeDirectory(name);
  }
  name += "/" + std::string(4060 - At(name).size(), 'n');
  MakeDirectory(name);
  ASSERT_STATUS_OK(Write(name + "/f", "one"));
  Restart();
  EXPECT_EQ(Read(name + "/f"), "one");
  hostfs::remove_all(prefix);  // too long for others to remove
}

// The process dies at each step of each change. What comes after finds each file, and once a directory is removed, none of its.
class CrashBetweenSteps : public BoundDirectoriesTest {
 protected:
  struct Change {
    const char* name;
    std::function<void()> before;
    std::function<void()> act;
    std::string directory;  // that has the file afterwards
  };

  // Dies when the step with this number is reached. True if there is one.
  bool DiesAt(int step, const std::function<void()>& act) {
    int reached = 0;
    bool died = false;
    {
      const SyncPoint::Scope scope([&](std::string_view point) {
        if (!point.starts_with("BoundDirectories::") || reached++ != step) return;
        died = true;
        throw std::runtime_error("the process dies here");
      });
      act();
    }
    Restart();
    return died;
  }
  std::vector<Change> Changes() {
    const auto with_file = [this] {
      MakeDirectory("db");
      ASSERT_STATUS_OK(Write("db/f", "one"));
    };
    return {{"moved",
             [=, this] {
               with_file();
               hostfs::rename(At("db"), At("moved"));
             },
             [this] { Read("moved/f"); }, "moved"},
            {"marker replaced",
             [=, this] {
               with_file();
               hostfs::copy(At("db/ZENFS"), At("saved"));
               hostfs::rename(At("saved"), At("db/ZENFS"));
             },
             [this] { Read("db/f"); }, "db"},
            {"adopted",
             [=, this] {
               with_file();
               hostfs::remove(At("db/ZENFS"));
               PutOnHost("db/ZENFS", "");
             },
             [this] { Read("db/f"); }, "db"},
            {"turned up again, with its name taken",
             [=, this] {
               with_file();
               hostfs::copy(At("db"), At("elsewhere"));
               hostfs::remove_all(At("db"));
               MakeDirectory("db");
               ASSERT_STATUS_OK(Write("db/g", "two"));
             },
             [this] { Read("elsewhere/f"); }, "elsewhere"},
            {"turned up again",
             [=, this] {
               with_file();
               hostfs::copy(At("db"), At("elsewhere"));
               hostfs::remove_all(At("db"));
               MakeDirectory("other");
               ASSERT_STATUS_OK(Write("other/g", "two"));
             },
             [this] { Read("elsewhere/f"); }, "elsewhere"}};
  }
};

TEST_F(CrashBetweenSteps, LosesNoFile) {
  for (const Change& change : Changes()) {
    for (const char* const then : {"used", "another is bound", "moved", "removed"}) {
      // An empty marker stands for the volume's directory of the same path, so it is not moved.
      if (std::string_view(change.name) == "adopted" && std::string_view(then) == "moved") continue;
      int step = 0;
      for (bool died = true; died; ++step) {
        SCOPED_TRACE(std::string(change.name) + ", step " + std::to_string(step) + ", then " + then);
        change.before();
        if (HasFatalFailure()) return;
        died = DiesAt(step, change.act);
        std::string directory = change.directory;
        if (std::string_view(then) == "moved") {
          hostfs::rename(At(directory), At("later"));
          directory = "later";
        }
        if (std::string_view(then) == "removed") {
          hostfs::remove_all(At(directory));
          MakeDirectory(directory);
          EXPECT_FALSE(Exists(directory + "/f"));
        }
        if (std::string_view(then) != "used") {
          MakeDirectory("new");
          ASSERT_STATUS_OK(Write("new/g", "three"));
        }
        if (std::string_view(then) != "removed") {
          EXPECT_EQ(Read(directory + "/f"), "one");
          Restart();
          EXPECT_EQ(Read(directory + "/f"), "one");
          ASSERT_STATUS_OK(Write(directory + "/h", "four"));
        } else {
          ASSERT_STATUS_OK(Write(directory + "/h", "four"));
          EXPECT_THAT(Children(directory), ElementsAre("h"));
        }
        ExpectNoLeftovers();
        for (const auto& entry : hostfs::directory_iterator(prefix)) hostfs::remove_all(entry);
        MakeDirectory("end");
        ASSERT_STATUS_OK(Write("end/f", "x"));
        ExpectNoLeftovers();
        hostfs::remove_all(At("end"));
        Restart();
        ASSERT_FALSE(HasFailure());
      }
      EXPECT_GT(step, 4);
    }
  }
}

TEST_F(CrashBetweenSteps, OfTheFirstBindingLeavesNothingBehind) {
  MakeDirectory("done");
  ASSERT_STATUS_OK(Write("done/f", "one"));
  int step = 0;
  for (bool died = true; died; ++step) {
    SCOPED_TRACE(step);
    MakeDirectory("db");
    died = DiesAt(step, [this] { static_cast<void>(Write("db/f", "x")); });
    ASSERT_STATUS_OK(Write("db/g", "new"));
    if (died) {
      EXPECT_THAT(Children("db"), ElementsAre("g"));
    }
    EXPECT_THAT(TextOnHost("db/ZENFS"), HasSubstr("\npath " + At("db") + "\n"));
    EXPECT_EQ(Read("done/f"), "one");
    ExpectNoLeftovers();
    hostfs::remove_all(At("db"));
  }
  EXPECT_GT(step, 4);
}

TEST_F(CrashBetweenSteps, OfASettingAsideKeepsTheFilesForAMarkerThatTurnsUp) {
  int step = 0;
  for (bool died = true; died; ++step) {
    SCOPED_TRACE(step);
    MakeDirectory("db");
    ASSERT_STATUS_OK(Write("db/f", "one"));
    hostfs::copy(At("db"), At("elsewhere"));
    hostfs::remove_all(At("db"));
    MakeDirectory("db");
    died = DiesAt(step, [this] { static_cast<void>(Write("db/f", "two")); });
    ASSERT_STATUS_OK(Write("db/f", "two"));
    EXPECT_EQ(Read("elsewhere/f"), "one");
    EXPECT_EQ(Read("db/f"), "two");
    for (const char* const name : {"db", "elsewhere"}) hostfs::remove_all(At(name));
  }
  EXPECT_GT(step, 5);
}

}  // namespace
}  // namespace zenfs::bound_directories_test
