// The default device: files in the volume, directories of the host. What other programs do to the directories.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "base/random.h"
#include "base/thread.h"
#include "default_device_rig.h"

namespace zenfs::default_device_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace hostfs = std::filesystem;

TEST_F(DefaultDeviceTest, FilesAreInTheVolumeUnderTheirPathOnTheHost) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/CURRENT", "one"));
  EXPECT_EQ(Read("db/CURRENT"), "one");
  EXPECT_THAT(Children("db"), ElementsAre("CURRENT"));
  EXPECT_THAT(OnHost("db"), ElementsAre("ZENFS"));
  Restart();
  EXPECT_EQ(Read("db/CURRENT"), "one");
  Stop();
  EXPECT_THAT(InVolume("db"), ElementsAre("CURRENT"));
}

TEST_F(DefaultDeviceTest, AFileHasOneNameWhateverLeadsToIt) {
  MakeDirectory("db");
  hostfs::create_directory_symlink("db", At("link"));
  hostfs::create_directory_symlink(prefix, volume.directory() + "/prefix");
  ASSERT_STATUS_OK(Write("link/a", "one"));
  const std::string back = hostfs::current_path();
  hostfs::current_path(At("db"));
  EXPECT_EQ(ReadWhole(*fs, "a"), "one");
  EXPECT_EQ(ReadWhole(*fs, "../link/../db/./a"), "one");
  hostfs::current_path(back);
  EXPECT_EQ(ReadWhole(*fs, volume.directory() + "/prefix/link//a"), "one");
  EXPECT_TRUE(fs->FileExists(At("missing/../db/a"), kIo, nullptr).ok());
}

TEST_F(DefaultDeviceTest, WhatIsNotBelowThePrefixStaysOnTheHost) {
  const std::string beside = prefix + "beside";
  ASSERT_STATUS_OK(fs->CreateDir(beside, kIo, nullptr));
  ASSERT_STATUS_OK(WriteWhole(*fs, beside + "/a", "one"));
  EXPECT_TRUE(hostfs::is_regular_file(beside + "/a"));
  EXPECT_EQ(ReadWhole(*fs, beside + "/a"), "one");
  EXPECT_FALSE(hostfs::exists(beside + "/ZENFS"));
}

TEST_F(DefaultDeviceTest, FilesOfTheHostAreReadAndNeverReplaced) {
  PutOnHost("settings", "of the host");
  EXPECT_EQ(Read("settings"), "of the host");
  EXPECT_THAT(Write("settings", "x").ToString(), HasSubstr("is a file of the host"));
  ASSERT_STATUS_OK(Write("a", "one"));
  EXPECT_THAT(fs->RenameFile(At("a"), At("settings"), kIo, nullptr).ToString(),
              HasSubstr("is a file of the host"));
  EXPECT_THAT(Children(""), ElementsAre("a")) << "RocksDB deletes files that it lists and does not know";
  ASSERT_STATUS_OK(fs->DeleteFile(At("settings"), kIo, nullptr));
  EXPECT_FALSE(hostfs::exists(At("settings")));
}

TEST_F(DefaultDeviceTest, ADatabaseOnTheHostIsNotMixedWithTheVolume) {
  hostfs::create_directory(At("db"));
  PutOnHost("db/CURRENT", "MANIFEST-000004\n");
  EXPECT_THAT(Write("db/000005.log", "x").ToString(), HasSubstr("has a database on the host"));
  EXPECT_THAT(OnHost("db"), ElementsAre("CURRENT"));
}

TEST_F(DefaultDeviceTest, ARemovedDirectoryTakesItsFilesWithIt) {
  for (const bool again : {false, true}) {
    for (const bool restart : {false, true}) {
      MakeDirectory("db");
      ASSERT_STATUS_OK(Write("db/a", "old"));
      if (restart) Restart();
      hostfs::remove_all(At("db"));
      EXPECT_FALSE(Exists("db/a"));
      if (again) {
        MakeDirectory("db");
        EXPECT_THAT(Children("db"), IsEmpty());
        ASSERT_STATUS_OK(Write("db/b", "new"));
        EXPECT_THAT(Children("db"), ElementsAre("b"));
        hostfs::remove_all(At("db"));
      }
      MakeDirectory("other");
      ASSERT_STATUS_OK(Write("other/c", "x"));
      Stop();
      EXPECT_THAT(InVolume("db"), IsEmpty());
      Start();
      hostfs::remove_all(At("other"));
    }
  }
}

TEST_F(DefaultDeviceTest, AnEmptiedDirectoryIsEmptyInTheVolumeToo) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/a", "old"));
  hostfs::remove(At("db/ZENFS"));
  EXPECT_THAT(Children("db"), IsEmpty());
  EXPECT_FALSE(Exists("db/a"));
  ASSERT_STATUS_OK(Write("db/b", "new"));
  Stop();
  EXPECT_THAT(InVolume("db"), ElementsAre("b"));
}

TEST_F(DefaultDeviceTest, AMovedDirectoryKeepsItsFilesAndItsOldNameIsFree) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/a", "old"));
  hostfs::rename(At("db"), At("saved"));
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/a", "new"));
  Restart();
  EXPECT_EQ(Read("saved/a"), "old");
  EXPECT_EQ(Read("db/a"), "new");
  hostfs::remove_all(At("db"));
  hostfs::rename(At("saved"), At("db"));
  EXPECT_EQ(Read("db/a"), "old");
  MakeDirectory("saved");
  ASSERT_STATUS_OK(Write("saved/a", "newest"));
  EXPECT_EQ(Read("db/a"), "old");
  EXPECT_EQ(Read("saved/a"), "newest");
}

TEST_F(DefaultDeviceTest, DirectoriesBelowAMovedOneKeepTheirFiles) {
  MakeDirectory("db");
  MakeDirectory("db/archive");
  ASSERT_STATUS_OK(Write("db/a", "one"));
  ASSERT_STATUS_OK(Write("db/archive/b", "two"));
  ASSERT_STATUS_OK(fs->RenameFile(At("db"), At("moved"), kIo, nullptr));
  EXPECT_EQ(Read("moved/archive/b"), "two");
  MakeDirectory("db");
  MakeDirectory("db/archive");
  ASSERT_STATUS_OK(Write("db/archive/b", "three"));
  Restart();
  EXPECT_EQ(Read("moved/a"), "one");
  EXPECT_EQ(Read("moved/archive/b"), "two");
  EXPECT_EQ(Read("db/archive/b"), "three");
}

TEST_F(DefaultDeviceTest, ACopiedDirectoryIsRefusedAndTheOriginalWorks) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/a", "one"));
  hostfs::copy(At("db"), At("copy"));
  EXPECT_THAT(Read("copy/a"), HasSubstr("is a copy of another directory"));
  EXPECT_THAT(Write("copy/b", "x").ToString(), HasSubstr("is a copy of another directory"));
  Restart();
  EXPECT_EQ(Read("db/a"), "one");
  // What a move to another file system of the host leaves.
  hostfs::remove_all(At("db"));
  EXPECT_EQ(Read("copy/a"), "one");
  hostfs::rename(At("copy"), At("db"));
  Restart();
  EXPECT_EQ(Read("db/a"), "one");
  hostfs::copy(At("db"), At("copy"));
  EXPECT_THAT(Read("copy/a"), HasSubstr("is a copy of another directory"));
}

TEST_F(DefaultDeviceTest, ACopyOfTheWholeHostDeletesNothing) {
  MakeDirectory("db");
  MakeDirectory("gone");
  ASSERT_STATUS_OK(Write("db/a", "one"));
  ASSERT_STATUS_OK(Write("gone/a", "two"));
  Stop();
  // A copy that keeps no hard links, as of a restored host.
  const std::string copy = volume.directory() + "/copy";
  hostfs::create_directory(copy);
  hostfs::copy(prefix, copy + "/host", hostfs::copy_options::recursive);
  hostfs::copy(Registry(), copy + "/registry");
  hostfs::remove_all(prefix);
  hostfs::remove_all(Registry());
  hostfs::rename(copy + "/host", prefix);
  hostfs::rename(copy + "/registry", Registry());
  Start();
  MakeDirectory("new");
  ASSERT_STATUS_OK(Write("new/a", "three"));
  EXPECT_EQ(Read("db/a"), "one");
  EXPECT_EQ(Read("gone/a"), "two");
  hostfs::remove_all(At("gone"));
  MakeDirectory("newer");
  ASSERT_STATUS_OK(Write("newer/a", "four"));
  EXPECT_EQ(Read("db/a"), "one");
}

TEST_F(DefaultDeviceTest, AnotherPrefixKnowsTheSameDirectories) {
  MakeDirectory("data");
  MakeDirectory("data/db");
  ASSERT_STATUS_OK(Write("data/db/a", "one"));
  Stop();
  hostfs::remove_all(At("data/db"));
  fs = std::make_unique<DefaultFileSystem>(DefaultDevice{.uri = volume.uri(), .prefixes = {At("data/db")}},
                                           host);
  MakeDirectory("data/db");
  ASSERT_STATUS_OK(Write("data/db/b", "new"));
  EXPECT_THAT(Children("data/db"), ElementsAre("b"));
}

TEST_F(DefaultDeviceTest, ALostRegistryIsMadeAnew) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/a", "one"));
  hostfs::remove_all(Registry());
  Restart();
  EXPECT_EQ(Read("db/a"), "one");
  hostfs::remove_all(At("db"));
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/b", "new"));
  EXPECT_THAT(Children("db"), ElementsAre("b"));
}

TEST_F(DefaultDeviceTest, FilesOfUnknownOriginAreKeptAndCanBeAdopted) {
  Stop();
  {
    const auto direct = volume.Open();
    ASSERT_STATUS_OK(direct->CreateDirIfMissing(At("db"), kIo, nullptr));
    ASSERT_STATUS_OK(WriteWhole(*direct, At("db/a"), "one"));
  }
  Start();
  MakeDirectory("db");
  EXPECT_FALSE(Exists("db/a"));
  EXPECT_THAT(Write("db/b", "x").ToString(), HasSubstr("make an empty file " + At("db/ZENFS")));
  PutOnHost("db/ZENFS", "");
  EXPECT_EQ(Read("db/a"), "one");
  ASSERT_STATUS_OK(Write("db/b", "two"));
  Restart();
  EXPECT_THAT(Children("db"), ElementsAre("a", "b"));
}

// Whatever replaces the marker of a directory that stays, its files are not taken for removed ones.
TEST_F(DefaultDeviceTest, AReplacedMarkerIsNoRemoval) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/a", "one"));
  hostfs::copy(At("db/ZENFS"), At("saved"));
  hostfs::rename(At("saved"), At("db/ZENFS"));  // as tar does
  Restart();
  MakeDirectory("other");
  ASSERT_STATUS_OK(Write("other/b", "two"));
  EXPECT_EQ(Read("db/a"), "one");
  // The new marker is as good as the first: a removal is seen, and a copy.
  hostfs::copy(At("db"), At("copy"));
  EXPECT_THAT(Read("copy/a"), HasSubstr("is a copy of another directory"));
  hostfs::remove_all(At("copy"));
  hostfs::remove_all(At("db"));
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/c", "three"));
  EXPECT_THAT(Children("db"), ElementsAre("c"));
}

TEST_F(DefaultDeviceTest, AnEmptyMarkerKeepsTheFilesUntilItIsUsed) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/a", "one"));
  hostfs::remove_all(At("db"));
  hostfs::create_directory(At("db"));
  PutOnHost("db/ZENFS", "");
  Restart();
  MakeDirectory("other");
  ASSERT_STATUS_OK(Write("other/b", "two"));
  EXPECT_EQ(Read("db/a"), "one");
}

TEST_F(DefaultDeviceTest, ADirectoryThatTurnsUpAgainGetsItsFilesBack) {
  for (const bool old_name_is_taken : {false, true}) {
    MakeDirectory("db");
    ASSERT_STATUS_OK(Write("db/a", "one"));
    hostfs::copy(At("db"), At("elsewhere"));  // a move to another file system, and later
    hostfs::remove_all(At("db"));
    if (old_name_is_taken) {
      MakeDirectory("db");
      ASSERT_STATUS_OK(Write("db/a", "two"));
    }
    MakeDirectory("other");
    ASSERT_STATUS_OK(Write("other/b", "three"));
    Restart();
    EXPECT_EQ(Read("elsewhere/a"), "one");
    Restart();
    EXPECT_EQ(Read("elsewhere/a"), "one");
    EXPECT_EQ(Exists("db/a"), old_name_is_taken);
    for (const char* const name : {"db", "elsewhere", "other"}) hostfs::remove_all(At(name));
  }
}

TEST_F(DefaultDeviceTest, ACopyByHardLinksIsRefusedAndTheOriginalWorks) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/a", "one"));
  hostfs::create_directory(At("copy"));
  hostfs::create_hard_link(At("db/ZENFS"), At("copy/ZENFS"));
  EXPECT_THAT(Read("copy/a"), HasSubstr("was copied by hard links"));
  EXPECT_THAT(Write("copy/b", "x").ToString(), HasSubstr("was copied by hard links"));
  ASSERT_STATUS_OK(Write("db/b", "two"));
  Restart();
  EXPECT_EQ(Read("db/a"), "one");
  hostfs::rename(At("db"), At("moved"));  // now nothing tells them apart
  EXPECT_THAT(Read("moved/a"), HasSubstr("was copied by hard links"));
  hostfs::remove_all(At("copy"));
  EXPECT_EQ(Read("moved/a"), "one");
}

TEST_F(DefaultDeviceTest, AnEmptyMarkerDoesNotTakeTheFilesOfAMovedDirectory) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/a", "one"));
  hostfs::rename(At("db"), At("old"));
  hostfs::create_directory(At("db"));
  PutOnHost("db/ZENFS", "");
  EXPECT_THAT(Read("db/a"), HasSubstr("has the files of a directory that was moved"));
  EXPECT_EQ(Read("old/a"), "one");
}

TEST_F(DefaultDeviceTest, ADatabaseThatWasMadeOnTheHostMeanwhileIsNotMixedWithTheVolumes) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/a", "one"));
  PutOnHost("db/CURRENT", "MANIFEST-000004\n");  // a run without the plugin
  Restart();
  EXPECT_THAT(Read("db/a"), HasSubstr("has a database on the host"));
  EXPECT_THAT(Write("db/b", "x").ToString(), HasSubstr("has a database on the host"));
}

TEST_F(DefaultDeviceTest, AnotherUsersDirectoryIsNotTakenOverByACopy) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a registry to another user";
  constexpr uid_t kNobody = 65534;
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/a", "one"));
  hostfs::copy(At("db"), At("copy"));
  const std::string theirs = volume.directory() + "/.zenfs.65534";
  hostfs::rename(Registry(), theirs);
  ASSERT_EQ(chown(theirs.c_str(), kNobody, kNobody), 0);
  for (const std::string name : {"db", "copy"}) {  // both say that this is their registry
    std::string text = TextOnHost(name + "/ZENFS");
    text.replace(text.find(Registry()), Registry().size(), theirs);
    std::ofstream(At(name + "/ZENFS"), std::ios::in | std::ios::out) << text;
    hostfs::resize_file(At(name + "/ZENFS"), text.size());
  }
  Restart();
  EXPECT_THAT(Read("copy/a"), HasSubstr("is a copy of another directory"));
  EXPECT_EQ(Read("db/a"), "one");  // the same file, so it was given to this user
  EXPECT_EQ(hostfs::hard_link_count(At("db/ZENFS")), 2u);
}

class SmallDefaultDeviceTest : public DefaultDeviceTest {
 protected:
  SmallDefaultDeviceTest() : DefaultDeviceTest(Small()) {}
};

TEST_F(SmallDefaultDeviceTest, WhatIsSetAsideIsDeletedWhenSpaceIsNeeded) {
  const std::string much(6 << 20, 'x');
  for (int round = 0; round < 20; ++round) {  // twice what the volume has
    MakeDirectory("db");
    ASSERT_STATUS_OK(Write("db/a", much)) << round;
    hostfs::remove_all(At("db"));
  }
  MakeDirectory("last");
  ASSERT_STATUS_OK(Write("last/b", "kept"));
  Stop();
  const auto direct = volume.Open();
  std::vector<std::string> aside;
  ASSERT_STATUS_OK(direct->GetChildren("/.zenfs-removed", kIo, &aside, nullptr));
  EXPECT_THAT(aside.size(), ::testing::AllOf(::testing::Gt(2u), ::testing::Lt(10u)));
}

TEST_F(SmallDefaultDeviceTest, WhatIsSetAsideGivesRoomHoweverFastADirectoryIsFilled) {
  const std::string much(4 << 20, 'x');
  for (const char* const name : {"old", "new"}) {  // each has more than half of the volume
    MakeDirectory(name);
    for (int i = 0; i < 10; ++i) ASSERT_STATUS_OK(Write(name + ("/" + std::to_string(i)), much)) << i;
    hostfs::remove_all(At("old"));
  }
}

TEST_F(DefaultDeviceTest, AMarkerIsUsedOnlyIfItIsOursAndOfThisVolume) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/a", "one"));
  const std::string marker = TextOnHost("db/ZENFS");
  const auto with = [&](const std::string& text, mode_t mode = 0644, uid_t owner = geteuid()) {
    hostfs::remove_all(At("other"));
    hostfs::create_directory(At("other"));
    PutOnHost("other/ZENFS", text);
    EXPECT_EQ(chmod(At("other/ZENFS").c_str(), mode), 0);
    EXPECT_EQ(chown(At("other/ZENFS").c_str(), owner, static_cast<gid_t>(-1)), 0);
    return Read("other/a") + Write("other/b", "x").ToString();
  };
  EXPECT_THAT(with(marker, 0666), HasSubstr("others may write to it"));
  EXPECT_THAT(with("", 0666), HasSubstr("others may write to it"));
  if (geteuid() == 0) {
    EXPECT_THAT(with("", 0644, 65534), HasSubstr("belongs to user 65534"));
  }
  EXPECT_THAT(with("nonsense"), HasSubstr("not a marker of ZenFS"));
  EXPECT_THAT(with(marker.substr(0, marker.size() - 5)), HasSubstr("not a marker of ZenFS"));
  const std::string uuid = "00000000-0000-4000-8000-000000000000";
  std::string foreign = marker;
  foreign.replace(foreign.find("volume ") + 7, uuid.size(), uuid);
  EXPECT_THAT(with(foreign), HasSubstr("are in the volume " + uuid));
  std::string lost = marker;
  lost.replace(lost.find("\nid ") + 4, 1, "9");
  EXPECT_THAT(with(lost), HasSubstr("does not have the directory"));
  EXPECT_EQ(Read("db/a"), "one");
}

TEST_F(DefaultDeviceTest, NothingIsLinkedOrRenamedBetweenHostAndVolume) {
  ASSERT_STATUS_OK(Write("a", "one"));
  const std::string outside = volume.directory() + "/outside";
  EXPECT_TRUE(fs->LinkFile(At("a"), outside, kIo, nullptr).IsNotSupported());
  EXPECT_THAT(fs->RenameFile(At("a"), outside, kIo, nullptr).ToString(),
              HasSubstr("Invalid cross-device link"));
  ASSERT_STATUS_OK(WriteWhole(*fs, outside, "two"));
  EXPECT_TRUE(fs->LinkFile(outside, At("b"), kIo, nullptr).IsNotSupported());
  EXPECT_THAT(fs->RenameFile(outside, At("b"), kIo, nullptr).ToString(),
              HasSubstr("Invalid cross-device link"));
  MakeDirectory("db");
  EXPECT_THAT(fs->RenameFile(At("db"), outside + "-db", kIo, nullptr).ToString(),
              HasSubstr("Invalid cross-device link"));
  ASSERT_STATUS_OK(fs->LinkFile(At("a"), At("b"), kIo, nullptr));
  bool same = false;
  ASSERT_STATUS_OK(fs->AreFilesSame(At("a"), At("b"), kIo, &same, nullptr));
  EXPECT_TRUE(same);
  ASSERT_STATUS_OK(fs->AreFilesSame(At("a"), outside, kIo, &same, nullptr));
  EXPECT_FALSE(same);
}

TEST_F(DefaultDeviceTest, ADirectoryIsDeletedOnBothSidesIfItIsEmptyOnBoth) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/a", "one"));
  EXPECT_FALSE(fs->DeleteDir(At("db"), kIo, nullptr).ok());
  ASSERT_STATUS_OK(fs->DeleteFile(At("db/a"), kIo, nullptr));
  PutOnHost("db/of the host", "x");
  EXPECT_FALSE(fs->DeleteDir(At("db"), kIo, nullptr).ok());
  hostfs::remove(At("db/of the host"));
  ASSERT_STATUS_OK(fs->DeleteDir(At("db"), kIo, nullptr));
  EXPECT_FALSE(hostfs::exists(At("db")));
  EXPECT_TRUE(hostfs::is_empty(Registry()));
  EXPECT_FALSE(Write("db/a", "x").ok());  // no directory, as on the host
}

TEST_F(DefaultDeviceTest, WithoutItsDeviceNothingIsWritten) {
  Stop();
  fs = std::make_unique<DefaultFileSystem>(
      DefaultDevice{.uri = "zenfs://emu:/nonexistent", .prefixes = {prefix}}, host);
  EXPECT_THAT(Write("a", "x").ToString(), HasSubstr("/nonexistent"));
  EXPECT_FALSE(fs->LockFile(At("LOCK"), kIo, std::make_unique<rocksdb::FileLock*>().get(), nullptr).ok());
  fs = std::make_unique<DefaultFileSystem>(Fail(Code::kInvalidArgument, "no such prefix"), host);
  EXPECT_THAT(Write("a", "x").ToString(), HasSubstr("no such prefix"));
  EXPECT_FALSE(fs->CreateDir(At("db"), kIo, nullptr).ok());
  EXPECT_THAT(OnHost(""), IsEmpty());
}

TEST_F(DefaultDeviceTest, AProcessThatChangesItsRootDoesNotWriteToTheHost) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to change the root directory";
  const pid_t child = fork();
  if (child == 0) {
    if (chroot(prefix.c_str()) != 0 || chdir("/") != 0) std::_Exit(2);
    std::_Exit(WriteWhole(*fs, "/f", "x").ToString().find("chroot") != std::string::npos ? 0 : 1);
  }
  int ended = -1;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  EXPECT_EQ(ended, 0);
  EXPECT_THAT(OnHost(""), IsEmpty());
}

TEST_F(DefaultDeviceTest, APrefixThatLeadsElsewhereNowDoesNotLeaveFilesOnTheHost) {
  const std::string link = volume.directory() + "/link";
  hostfs::create_directory_symlink(prefix, link);
  Stop();
  fs = std::make_unique<DefaultFileSystem>(
      DefaultDevice{.uri = volume.uri(), .prefixes = {prefix}, .given = {link}}, host);
  const std::string elsewhere = volume.directory() + "/elsewhere";
  ASSERT_STATUS_OK(WriteWhole(*fs, elsewhere, "x"));  // a file of the host
  hostfs::remove(elsewhere);
  hostfs::create_directory(elsewhere);
  hostfs::remove(link);
  hostfs::create_directory_symlink(elsewhere, link);
  EXPECT_THAT(WriteWhole(*fs, link + "/f", "x").ToString(), HasSubstr("when the program began"));
  EXPECT_TRUE(hostfs::is_empty(elsewhere));
}

TEST_F(DefaultDeviceTest, AForkedChildIsRefusedAndDoesNotHang) {
  MakeDirectory("db");
  ASSERT_STATUS_OK(Write("db/a", "one"));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    std::_Exit(Read("db/a").find("forked") != std::string::npos && !Write("db/b", "x").ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(Children("db"), ElementsAre("a"));
}

TEST_F(DefaultDeviceTest, ManyThreadsMountOnceAndBindOnce) {
  MakeDirectory("db");
  std::vector<Thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back("writer", [this, i] {
      for (int round = 0; round < 20; ++round) {
        const std::string name = "db/" + std::to_string(i) + "-" + std::to_string(round);
        EXPECT_STATUS_OK(Write(name, name));
        EXPECT_EQ(Read(name), name);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(Children("db").size(), 160u);
  EXPECT_EQ(hostfs::hard_link_count(At("db/ZENFS")), 2u);
}

// Two directories, one on the default device and one on the host alone, through the same wipes, moves, restarts and changes: each
// listing and each file must be equal.
class Sequence {
 public:
  Sequence(std::function<rocksdb::FileSystem&()> files, std::function<void()> restart, std::string prefix,
           std::string model, unsigned seed)
      : files_(std::move(files)),
        restart_(std::move(restart)),
        roots_{std::move(prefix), std::move(model)},
        random_(seed) {}

  void Step() {
    const std::string one = AnyDirectory();
    const std::string other = AnyDirectory();
    const std::string name = "/f" + std::to_string(random_.Next() % 3);
    const std::string text = std::to_string(random_.Next());
    switch (random_.Next() % 12) {
      case 0:
        return Both([&](rocksdb::FileSystem& fs, const std::string& root) {
          return fs.CreateDir(root + one, kIo, nullptr);
        });
      case 1:
      case 2:
      case 3:
      case 4:
        return Both([&](rocksdb::FileSystem& fs, const std::string& root) {
          return WriteWhole(fs, root + one + name, text);
        });
      case 5:
        return Both([&](rocksdb::FileSystem& fs, const std::string& root) {
          return fs.DeleteFile(root + one + name, kIo, nullptr);
        });
      case 6:
        return Both([&](rocksdb::FileSystem& fs, const std::string& root) {
          return fs.RenameFile(root + one + name, root + other + name, kIo, nullptr);
        });
      case 7:
        return Both([&](rocksdb::FileSystem& fs, const std::string& root) {
          if (hostfs::exists(root + other)) return IOStatus::OK();
          return fs.RenameFile(root + one, root + other, kIo, nullptr);
        });
      case 8:
        return Both([&](rocksdb::FileSystem& fs, const std::string& root) {
          return fs.DeleteDir(root + one, kIo, nullptr);
        });
      case 9:
        for (const std::string& root : roots_) hostfs::remove_all(root + one);
        return;
      case 10:
        for (const std::string& root : roots_) {
          if (!hostfs::is_directory(root + one)) continue;
          for (const auto& entry : hostfs::directory_iterator(root + one)) hostfs::remove_all(entry);
        }
        return;
      default:
        if (random_.Next() % 2 == 0) return restart_();
        for (const std::string& root : roots_) {
          std::error_code ignored;
          if (!hostfs::exists(root + other)) hostfs::rename(root + one, root + other, ignored);
        }
    }
  }

  // All names and contents below the root, as the file system shows them.
  std::string Look(std::size_t side) {
    std::string seen;
    for (const char* const directory : kDirectories) {
      std::vector<std::string> names;
      const IOStatus listed = Of(side).GetChildren(roots_[side] + directory, kIo, &names, nullptr);
      if (!listed.ok() && !listed.IsNotFound()) return listed.ToString();
      std::ranges::sort(names);
      for (const std::string& name : names) {
        const std::string path = roots_[side] + directory + "/" + name;
        seen += std::string(directory) + "/" + name + ": ";
        seen += hostfs::is_directory(path) ? "directory\n" : ReadWhole(Of(side), path) + "\n";
      }
    }
    return seen;
  }

 private:
  static constexpr const char* kDirectories[] = {"/a", "/b", "/a/c", "/b/c"};

  std::string AnyDirectory() { return kDirectories[random_.Next() % std::size(kDirectories)]; }
  rocksdb::FileSystem& Of(std::size_t side) { return side == 0 ? files_() : *rocksdb::FileSystem::Default(); }
  template <typename Act>
  void Both(const Act& act) {
    const IOStatus ours = act(Of(0), roots_[0]);
    const IOStatus hosts = act(Of(1), roots_[1]);
    EXPECT_EQ(ours.ok(), hosts.ok()) << ours.ToString() << " / " << hosts.ToString();
  }

  const std::function<rocksdb::FileSystem&()> files_;
  const std::function<void()> restart_;
  const std::string roots_[2];
  Random random_;
};

TEST_F(DefaultDeviceTest, NoOrderOfWipesMovesAndRestartsShowsOtherFilesThanTheHost) {
  for (unsigned seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(seed);
    const std::string root = At("s" + std::to_string(seed));
    const std::string model = volume.directory() + "/model" + std::to_string(seed);
    hostfs::create_directory(root);
    hostfs::create_directory(model);
    Sequence sequence([&]() -> rocksdb::FileSystem& { return *fs; }, [&] { Restart(); }, root, model, seed);
    for (int step = 0; step < 40 && !HasFailure(); ++step) {
      SCOPED_TRACE(step);
      sequence.Step();
      EXPECT_EQ(sequence.Look(0), sequence.Look(1));
    }
    if (HasFailure()) return;
    hostfs::remove_all(root);
  }
  ASSERT_STATUS_OK(Write("last", "x"));
  // Everything that was removed is gone from the volume as well, or set aside.
  ExpectNoLeftovers();
  Stop();
  EXPECT_THAT(InVolume(""), ::testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace zenfs::default_device_test
