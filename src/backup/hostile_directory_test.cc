// Backup and restore in a directory that somebody else changes: with links, pipes and absurd
// manifests. Nothing outside of the directory is read, changed or removed.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include "backup/hostile_directory_rig.h"

namespace zenfs {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

TEST_F(HostileDirectoryTest, FilesBelowALinkAreNotRemovedWhenTheVolumeHasThemNoMore) {
  for (const bool complete : {true, false}) {
    if (!volume_->Stat("db")) Fill();
    MakeOutside();
    fs::remove_all(Dest());
    ASSERT_TRUE(IsOk(Backup()));
    if (!complete) LoseTheEndLine();
    Divert("db");
    for (const auto& [path, content] : Contents()) {
      if (path.starts_with("db/")) IgnoreError(volume_->Unlink(path));
    }
    IgnoreError(volume_->RemoveDirectory("db/sub"));
    IgnoreError(volume_->RemoveDirectory("db"));
    const auto refused = Backup({.force = complete});
    EXPECT_EQ(CodeOf(refused), Code::kNotADirectory);
    if (!refused) {
      EXPECT_THAT(refused.error().text(), HasSubstr(Dest("db") + " is a symbolic link"));
    }
    ExpectOutsideIsUntouched();
  }
}

TEST_F(HostileDirectoryTest, ADirectoryThatBecomesALinkDuringTheRunTakesNothing) {
  Fill();
  MakeOutside();
  std::atomic<int> opened{0};
  SwitchedPoints::During swap(points_, [&](std::string_view name) {
    if (name == "backup:open" && ++opened == 2) Divert("db");
  });
  const auto failed = Backup({.jobs = 1});
  EXPECT_EQ(CodeOf(failed), Code::kNotADirectory);
  if (!failed) {
    EXPECT_THAT(failed.error().text(), HasSubstr(Dest("db") + " is a symbolic link"));
  }
  ExpectOutsideIsUntouched();
}

TEST_F(HostileDirectoryTest, TheStagingDirectoryIsNotFollowedEither) {
  Fill();
  MakeOutside();
  fs::create_directories(Dest());
  fs::create_directory_symlink(Outside(), Dest(std::string(kBackupStaging)));
  EXPECT_EQ(CodeOf(Backup({.force = true})), Code::kNotADirectory);
  ExpectOutsideIsUntouched();
}

TEST_F(HostileDirectoryTest, AFileThatIsLinkedToOneOutsideIsReplacedAndNotWritten) {
  Fill();
  MakeOutside();
  fs::create_directories(Dest("db"));
  fs::create_directories(Dest(std::string(kBackupStaging)));
  fs::create_symlink(Outside("db/CURRENT"), Dest("db/CURRENT"));
  fs::create_hard_link(Outside("db/000010.sst"), Dest("db/000010.sst"));
  SwitchedPoints::During plant(points_, [&](std::string_view name) {
    const std::string temporary = Dest(std::string(kBackupStaging) + "/0");
    if (name == "backup:open" && !fs::exists(temporary)) fs::create_hard_link(Outside("0"), temporary);
  });
  ASSERT_TRUE(IsOk(Backup({.force = true, .jobs = 1})));
  ExpectBackupIsWhole();
  ExpectOutsideIsUntouched();
}

TEST_F(HostileDirectoryTest, AManifestThatIsALinkOrAPipeIsNotTaken) {
  Fill();
  MakeOutside();
  ASSERT_TRUE(IsOk(Backup()));
  const std::string manifest = Dest(std::string(kManifestFile));
  fs::rename(manifest, Outside("manifest"));
  before_ = OutsideFiles();
  fs::create_symlink(Outside("manifest"), manifest);
  EXPECT_EQ(CodeOf(Backup()), Code::kInvalidArgument);
  EXPECT_FALSE(Restore().has_value());
  fs::remove(manifest);
  ASSERT_EQ(::mkfifo(manifest.c_str(), 0600), 0);
  EXPECT_EQ(CodeOf(Backup()), Code::kInvalidArgument);
  EXPECT_FALSE(Restore().has_value());
  ASSERT_TRUE(IsOk(Backup({.force = true})));
  ExpectBackupIsWhole();
  ExpectOutsideIsUntouched();
}

// Two cases: larger than any manifest, and a line that never ends.
TEST_F(HostileDirectoryTest, AManifestThatClaimsAnySizeCostsLittleMemoryAndIsNamed) {
  Fill();
  ASSERT_TRUE(IsOk(Backup()));
  const std::string manifest = Dest(std::string(kManifestFile));
  const std::string hints = Dest(std::string(kHintsFile));
  rusage before{};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &before), 0);
  fs::resize_file(manifest, std::uint64_t{4} << 30);
  const auto refused = Backup();
  EXPECT_EQ(CodeOf(refused), Code::kCorruption);
  EXPECT_THAT(refused.error().text(), HasSubstr("has 4294967296 bytes; no backup's record"));
  EXPECT_FALSE(Restore().has_value());
  fs::resize_file(manifest, std::uint64_t{1} << 30);
  EXPECT_EQ(CodeOf(Backup()), Code::kCorruption);
  const auto endless = Restore();
  EXPECT_EQ(CodeOf(endless), Code::kCorruption);
  EXPECT_THAT(endless.error().text(), HasSubstr("has more than 65536 bytes"));
  fs::remove(manifest);
  fs::resize_file(hints, std::uint64_t{4} << 30);
  ASSERT_TRUE(IsOk(Restore({.force = true})));  // without the hints
  rusage after{};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &after), 0);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 100'000) << "in KiB";
}

TEST_F(HostileDirectoryTest, WhatIsMadeIsPrivateUnlessAModeIsGiven) {
  Fill();
  const auto mode = [&](const std::string& below) {
    return static_cast<unsigned>(fs::status(Dest(below)).permissions());
  };
  const mode_t before = ::umask(0);
  ASSERT_TRUE(IsOk(Backup()));
  for (const char* const path :
       {"db/CURRENT", "db/000020.log", "zenfs_backup.jsonl", "write_lifetime_hints.dat"}) {
    EXPECT_EQ(mode(path), 0600u) << path;
  }
  for (const char* const path : {"", "db", "db/sub"}) EXPECT_EQ(mode(path), 0700u) << path;
  fs::remove_all(Dest());
  ASSERT_TRUE(IsOk(Backup({.file_mode = 0640})));
  ::umask(before);
  for (const char* const path : {"db/CURRENT", "zenfs_backup.jsonl"}) EXPECT_EQ(mode(path), 0640u) << path;
  for (const char* const path : {"", "db", "db/sub"}) EXPECT_EQ(mode(path), 0750u) << path;
}

TEST_F(HostileDirectoryTest, ADestinationThatIsSwappedDuringTheRunIsNotCalledABackup) {
  Fill();
  MakeOutside();
  std::atomic<int> opened{0};
  SwitchedPoints::During swap(points_, [&](std::string_view name) {
    if (name != "backup:open" || ++opened != 2) return;
    fs::rename(Dest(), Dest() + ".moved");
    fs::create_directory_symlink(Outside(), Dest());
  });
  const auto failed = Backup({.jobs = 1});
  ASSERT_FALSE(failed.has_value());
  EXPECT_THAT(failed.error().text(), HasSubstr("moved"));
  ExpectOutsideIsUntouched();
}

TEST_F(HostileDirectoryTest, FilesThatVanishDuringTheRunAreNotCalledBackedUp) {
  Fill();
  std::atomic<int> opened{0};
  SwitchedPoints::During vanish(points_, [&](std::string_view name) {
    if (name == "backup:open" && ++opened == 3) fs::remove_all(Dest("db"));
    if (name == "backup:open") fs::create_directories(Dest("db/sub"));
  });
  const auto failed = Backup({.jobs = 1});
  ASSERT_FALSE(failed.has_value());
  EXPECT_FALSE(ReadManifest()->complete);
}

TEST_F(HostileDirectoryTest, PipesAndDevicesInPlaceOfFilesAreRefusedByARestoreAndReplacedByABackup) {
  Fill();
  ASSERT_TRUE(IsOk(Backup()));
  fs::remove(Dest("db/CURRENT"));
  fs::remove(Dest("db/000020.log"));
  ASSERT_EQ(::mkfifo(Dest("db/CURRENT").c_str(), 0600), 0);
  const bool device =
      ::mknod(Dest("db/000020.log").c_str(), S_IFCHR | 0600, makedev(1, 5)) == 0;  // endless zeros
  if (!device) {                                                                   // only root can create it
    ASSERT_EQ(::mkfifo(Dest("db/000020.log").c_str(), 0600), 0);
  }
  for (const char* const path : {"db/CURRENT", "db/000020.log"}) {
    const auto refused = Restore({.source = Dest(path), .force = true});
    EXPECT_EQ(CodeOf(refused), Code::kNotSupported);
    EXPECT_THAT(refused.error().text(), HasSubstr(std::string(path) + " is neither a file nor a directory"));
  }
  EXPECT_EQ(CodeOf(Restore({.force = true})), Code::kNotSupported);
  ASSERT_TRUE(IsOk(Restore({.force = true, .partial = true})));
  EXPECT_EQ(observer_.notices.size(), 2u);
  ASSERT_TRUE(IsOk(Backup({.force = true, .verify = true})));
  ExpectBackupIsWhole();
}

TEST_F(HostileDirectoryTest, ARestoreTakesNothingFromBelowALink) {
  Fill();
  ASSERT_TRUE(IsOk(Backup()));
  StartAfresh();
  fs::create_directories(Outside());
  fs::rename(Dest("db"), Outside("db"));  // the same files, so that all checksums match
  fs::create_directory_symlink(Outside("db"), Dest("db"));
  const auto refused = Restore();
  EXPECT_FALSE(refused.has_value());
  if (!refused) {
    EXPECT_THAT(refused.error().text(), HasSubstr(Dest("db") + " is a symbolic link"));
  }
  EXPECT_THAT(Names(""), IsEmpty());
  ASSERT_TRUE(IsOk(Restore({.partial = true})));
  EXPECT_FALSE(volume_->Stat("db/CURRENT"));
  EXPECT_EQ(Get("empty.sst"), "");
}

TEST_F(HostileDirectoryTest, ADirectoryThatBecomesALinkDuringARestoreIsNotRead) {
  Fill();
  MakeOutside();
  ASSERT_TRUE(IsOk(Backup()));
  fs::remove(Dest(std::string(kManifestFile)));
  StartAfresh();
  std::atomic<int> written{0};
  SwitchedPoints::During swap(points_, [&](std::string_view name) {
    if (name == "restore:written" && ++written == 1) Divert("db");
  });
  EXPECT_FALSE(Restore({.jobs = 1}).has_value());
  for (const auto& [path, content] : Contents()) {
    if (volume_->Stat(path)) {
      EXPECT_EQ(Get(path), content) << path;
    }
  }
}

}  // namespace
}  // namespace zenfs
