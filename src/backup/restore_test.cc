#include "backup/restore.h"

#include <gmock/gmock.h>

#include "backup/backup_test_rig.h"
#include "backup/restore_record.h"

namespace zenfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RestoreTest : public BackupTest {
 protected:
  void MakeBackup() {
    Fill();
    ASSERT_TRUE(IsOk(Backup()));
    StartAfresh();
  }
  void Damage(const std::string& path) {
    std::string text = HostText(Dest(path));
    text[text.size() / 2] ^= 4;
    PutHost(Dest(path), text);
  }
  // Creates the directory as the older command would.
  void MakeOldBackup() {
    for (const auto& [path, content] : Contents()) PutHost(Dest(path), content);
    std::filesystem::create_directory(Dest("empty directory"));
    PutHost(Dest(std::string(kHintsFile)), "db/000010.sst\t4\ndb/sub/deep.sst\t5\ndb/CURRENT\t0\n");
  }
};

TEST_F(RestoreTest, BytesNamesAndLifetimesAreThoseOfTheBackup) {
  MakeBackup();
  const auto summary = Restore();
  ASSERT_TRUE(IsOk(summary));
  EXPECT_EQ(summary->files, Contents().size());
  EXPECT_EQ(observer_.last_done, summary->bytes);
  Remount();
  ExpectVolumeIsWhole();
  EXPECT_EQ(volume_->Stat("db/000010.sst")->lifetime, Lifetime::kLong);
  EXPECT_EQ(volume_->Stat("db/000020.log")->shape, FileShape::kFramed);
}

TEST_F(RestoreTest, ABackupByTheOlderZenfsIsRestored) {
  MakeOldBackup();
  ASSERT_TRUE(IsOk(Restore()));
  ExpectVolumeIsWhole();
  EXPECT_EQ(volume_->Stat("db/000010.sst")->lifetime, Lifetime::kLong);
  EXPECT_EQ(volume_->Stat("db/sub/deep.sst")->lifetime, Lifetime::kExtreme);
  EXPECT_FALSE(volume_->Stat(kHintsFile));
}

TEST_F(RestoreTest, ItGoesBelowTheDirectoryThatIsNamed) {
  MakeOldBackup();
  ASSERT_TRUE(IsOk(Restore({.restore_path = "/a/b/"})));
  ExpectVolumeIsWhole("a/b/");
  EXPECT_EQ(volume_->Stat("a/b/db/000010.sst")->lifetime, Lifetime::kLong);
}

TEST_F(RestoreTest, OneFileKeepsItsNameAndIsHeldAgainstTheRecord) {
  Fill();
  ASSERT_TRUE(IsOk(Backup({.path = "db"})));
  StartAfresh();
  ASSERT_TRUE(IsOk(Restore({.source = Dest("CURRENT"), .restore_path = "x"})));
  EXPECT_EQ(Get("x/CURRENT"), Contents()["db/CURRENT"]);
  Damage("000010.sst");
  EXPECT_EQ(CodeOf(Restore({.source = Dest("000010.sst"), .restore_path = "x"})), Code::kCorruption);
}

TEST_F(RestoreTest, ExistingNamesAreRefusedBeforeAnythingChanges) {
  MakeBackup();
  ASSERT_TRUE(IsOk(volume_->MakeDirectory("db", false)));
  Put("db/CURRENT", "mine");
  const auto refused = Restore();
  ASSERT_EQ(CodeOf(refused), Code::kExists);
  EXPECT_THAT(refused.error().text(), HasSubstr("db/CURRENT"));
  EXPECT_THAT(refused.error().text(), HasSubstr("1 in all"));
  EXPECT_THAT(Names(""), ElementsAre("db"));
  EXPECT_EQ(Get("db/CURRENT"), "mine");

  const auto forced = Restore({.force = true});
  ASSERT_TRUE(IsOk(forced));
  ExpectVolumeIsWhole();
  const auto again = Restore({.force = true});
  ASSERT_TRUE(IsOk(again));
  EXPECT_EQ(again->files, 0u);
  EXPECT_EQ(again->already_there, Contents().size());
}

TEST_F(RestoreTest, AFileAndADirectoryOfOneNameAreRefusedEvenWithForce) {
  MakeBackup();
  ASSERT_TRUE(IsOk(volume_->MakeDirectory("empty.sst", false)));
  EXPECT_EQ(CodeOf(Restore({.force = true})), Code::kIsADirectory);
  ASSERT_TRUE(IsOk(volume_->RemoveDirectory("empty.sst")));
  Put("db", "a file");
  EXPECT_EQ(CodeOf(Restore({.force = true})), Code::kNotADirectory);
  EXPECT_EQ(Get("db"), "a file");
}

TEST_F(RestoreTest, DamageIsNamedBeforeAnythingChanges) {
  MakeBackup();
  Damage("db/000011.sst");
  const auto refused = Restore();
  ASSERT_EQ(CodeOf(refused), Code::kCorruption);
  EXPECT_THAT(refused.error().text(), HasSubstr("db/000011.sst is damaged"));
  EXPECT_THAT(Names(""), IsEmpty());

  const auto partial = Restore({.partial = true});
  ASSERT_TRUE(IsOk(partial));
  EXPECT_EQ(partial->left_out, 1u);
  EXPECT_EQ(partial->files, Contents().size() - 1);
  EXPECT_FALSE(volume_->Stat("db/000011.sst"));
}

TEST_F(RestoreTest, MissingAndCutFilesAreNamed) {
  MakeBackup();
  std::filesystem::remove(Dest("db/CURRENT"));
  std::filesystem::resize_file(Dest("db/000010.sst"), 1000);
  const auto refused = Restore();
  ASSERT_EQ(CodeOf(refused), Code::kCorruption);
  EXPECT_THAT(refused.error().text(), HasSubstr("db/000010.sst has 1000 bytes"));
  EXPECT_THAT(refused.error().text(), HasSubstr("1 more"));
  const auto partial = Restore({.partial = true});
  ASSERT_TRUE(IsOk(partial));
  EXPECT_EQ(observer_.notices.size(), 2u);
  EXPECT_EQ(Get("db/sub/deep.sst"), Contents()["db/sub/deep.sst"]);
}

TEST_F(RestoreTest, AnUnfinishedBackupIsRefusedAndPartialTakesWhatIsWhole) {
  Fill();
  std::atomic<bool> stop{false};
  std::atomic<int> opened{0};
  {
    SwitchedPoints::During count(points_, [&](std::string_view name) {
      if (name == "BackupRun::Copy" && ++opened == 4) stop = true;
    });
    ASSERT_FALSE(Backup({.jobs = 1, .stop = &stop}).has_value());
  }
  StartAfresh();
  const auto refused = Restore();
  ASSERT_EQ(CodeOf(refused), Code::kCorruption);
  EXPECT_THAT(refused.error().text(), HasSubstr("unfinished backup of 3 files"));
  EXPECT_EQ(Restore({.partial = true})->files, 3u);
}

TEST_F(RestoreTest, SymbolicLinksAndPipesAreRefusedAndPartialLeavesThemOut) {
  MakeOldBackup();
  std::filesystem::create_symlink("CURRENT", Dest("db/link"));
  ASSERT_EQ(::mkfifo(Dest("db/pipe").c_str(), 0600), 0);
  const auto refused = Restore();
  ASSERT_EQ(CodeOf(refused), Code::kNotSupported);
  EXPECT_THAT(refused.error().text(), HasSubstr("db/link is a symbolic link"));
  EXPECT_THAT(Names(""), IsEmpty());
  ASSERT_TRUE(IsOk(Restore({.partial = true})));
  EXPECT_EQ(observer_.notices.size(), 2u);
  ExpectVolumeIsWhole();
}

TEST_F(RestoreTest, AFailedWriteLeavesWholeFilesAndARestoreThatGoesOn) {
  MakeBackup();
  FaultyDevice* faulty = MountFaulty();
  std::atomic<int> written{0};
  {
    SwitchedPoints::During count(points_, [&](std::string_view name) {
      if (name != "RestoreRun::Write:written" || ++written != 3) return;
      faulty->Inject({.command = FaultyDevice::Command::kRead, .times = FaultyDevice::kForEver});
    });
    const auto failed = Restore({.jobs = 1});
    ASSERT_FALSE(failed.has_value());
    EXPECT_THAT(failed.error().text(), HasSubstr("2 of 8 files are restored"));
  }
  faulty->ClearFaults();
  Remount();
  for (const auto& [path, content] : Contents()) {
    if (volume_->Stat(path)) {
      EXPECT_EQ(Get(path), content) << path;
    }
  }
  const auto summary = Restore();  // without force: this restore created the existing files
  ASSERT_TRUE(IsOk(summary));
  EXPECT_EQ(summary->already_there, 2u);
  EXPECT_EQ(summary->files, Contents().size() - 2);
  ExpectVolumeIsWhole();
}

TEST_F(RestoreTest, AFileThatWasChangedSinceTheInterruptionIsNotTakenForRestored) {
  MakeBackup();
  std::atomic<bool> stop{false};
  std::atomic<int> written{0};
  {
    SwitchedPoints::During count(points_, [&](std::string_view name) {
      if (name == "RestoreRun::Write:written" && ++written == 4) stop = true;
    });
    ASSERT_FALSE(Restore({.jobs = 1, .stop = &stop}).has_value());
  }
  Put("db/000010.sst", std::string(Contents()["db/000010.sst"].size(), 'x'));
  const auto refused = Restore();
  ASSERT_EQ(CodeOf(refused), Code::kExists);
  EXPECT_THAT(refused.error().text(), HasSubstr("db/000010.sst"));
  ASSERT_TRUE(IsOk(Restore({.force = true})));
  ExpectVolumeIsWhole();
}

// Sizes and times may be equal, and without a manifest there is no checksum.
TEST_F(RestoreTest, AFileThatWasMovedSinceTheInterruptionIsNotTakenForAnother) {
  const std::string tree = directory_.File("tree");
  for (const std::string name : {"1.sst", "2.sst"}) {
    PutHost(tree + "/" + name, "content of " + name);
    std::filesystem::last_write_time(tree + "/" + name, std::filesystem::file_time_type());
  }
  std::atomic<bool> stop{false};
  std::atomic<int> written{0};
  {
    SwitchedPoints::During count(points_, [&](std::string_view name) {
      if (name == "RestoreRun::Write:written" && ++written == 2) stop = true;
    });
    ASSERT_FALSE(Restore({.source = tree, .jobs = 1, .stop = &stop}).has_value());
  }
  ASSERT_EQ(Get("1.sst"), "content of 1.sst");
  ASSERT_TRUE(IsOk(volume_->Rename("1.sst", "2.sst")));
  const auto refused = Restore({.source = tree});
  ASSERT_EQ(CodeOf(refused), Code::kExists);
  EXPECT_THAT(refused.error().text(), HasSubstr("2.sst"));
  ASSERT_TRUE(IsOk(Restore({.source = tree, .force = true})));
  EXPECT_EQ(Get("1.sst"), "content of 1.sst");
  EXPECT_EQ(Get("2.sst"), "content of 2.sst");
}

// A path may have 4,095 bytes, and a file none.
TEST_F(RestoreTest, TheRecordOfFilesWithLongPathsIsShort) {
  MakeBackup();
  std::uint64_t record_bytes = 0;
  int written = 0;
  SwitchedPoints::During watch(points_, [&](std::string_view name) {
    if (name != "RestoreRun::Write:written" || ++written < 4) return;
    if (const auto stat = volume_->Stat(kRestoreRecord)) record_bytes = std::max(record_bytes, stat->size);
  });
  std::string deep(200, 'd');
  while (deep.size() < 3'000) deep += "/" + std::string(200, 'd');
  ASSERT_TRUE(IsOk(Restore({.restore_path = deep, .jobs = 1})));
  EXPECT_GT(record_bytes, 0u);
  EXPECT_LT(record_bytes, 100u * static_cast<unsigned>(written) + 5'000);
}

TEST_F(RestoreTest, AFileThatReadsBackOtherwiseGetsNoName) {
  MakeBackup();
  SwitchedPoints::During corrupt(points_, [this](std::string_view name) {
    if (name != "RestoreRun::Write:written") return;
    auto file = volume_->OpenForAppend(RestoreRecord::StagingPath("0", "x.sst"), false);
    if (file) {
      EXPECT_TRUE(IsOk((*file)->Append(AsBytes("!"))));
    }
    if (file) {
      EXPECT_TRUE(IsOk((*file)->Close()));
    }
  });
  EXPECT_EQ(CodeOf(Restore({.jobs = 1})), Code::kCorruption);
  EXPECT_FALSE(volume_->Stat(Contents().begin()->first));
}

TEST_F(RestoreTest, WhatDoesNotFitIsRefusedBeforeAnythingIsWritten) {
  PutHost(Dest("large.sst"), "");
  std::filesystem::resize_file(Dest("large.sst"), 64 << 20);
  const auto refused = Restore();
  ASSERT_EQ(CodeOf(refused), Code::kNoSpace);
  EXPECT_THAT(refused.error().text(), HasSubstr("64.0 MiB are to be written"));
  EXPECT_THAT(Names(""), IsEmpty());
}

// Below the directory of the restore, a path may be longer than in the backup.
TEST_F(RestoreTest, WhatHasNoRoomForItsPathIsNamedBeforeAnythingChanges) {
  const std::string name(200, 'd');
  std::string deep = name;
  while (deep.size() + 1 + name.size() <= kMaxPathBytes) deep += "/" + name;
  Fill();
  ASSERT_TRUE(IsOk(volume_->MakeDirectory(deep, true)));
  Put(deep + "/file", "x");
  ASSERT_TRUE(IsOk(Backup()));
  StartAfresh();
  const auto refused = Restore({.restore_path = std::string(100, 'x')});
  ASSERT_EQ(CodeOf(refused), Code::kInvalidArgument);
  EXPECT_THAT(refused.error().ToString(),
              HasSubstr("its path has 4120 bytes; the limit is 4095, and 1 more like this"));
  EXPECT_TRUE(volume_->List("")->empty());
  EXPECT_EQ(CodeOf(Restore({.restore_path = deep + "/" + name})), Code::kInvalidArgument);
  EXPECT_TRUE(volume_->List("")->empty());
  const auto partial = Restore({.restore_path = std::string(100, 'x'), .partial = true});
  ASSERT_TRUE(IsOk(partial));
  EXPECT_EQ(partial->left_out, 2u);
  EXPECT_EQ(partial->files, Contents().size());
  ASSERT_TRUE(IsOk(Restore({.restore_path = std::string(70, 'y')})));
  EXPECT_EQ(Get(std::string(70, 'y') + "/" + deep + "/file"), "x");
}

TEST_F(RestoreTest, AManifestCannotReachOutOfItsDirectory) {
  MakeBackup();
  PutHost(directory_.File("secret"), "s");
  std::string text = HostText(Dest(std::string(kManifestFile)));
  text.replace(text.find("\"empty.sst\""), 11, "\"../secret\"");
  PutHost(Dest(std::string(kManifestFile)), text);
  EXPECT_EQ(CodeOf(Restore()), Code::kCorruption);
  EXPECT_THAT(Names(""), IsEmpty());
}

}  // namespace
}  // namespace zenfs
