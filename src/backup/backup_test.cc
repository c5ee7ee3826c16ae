#include "backup/backup.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "backup/backup_test_rig.h"
#include "backup/source_file.h"
#include "base/clock.h"
#include "testing/empty_zone.h"
#include "testing/lower_file_size_limit.h"

namespace zenfs {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(BackupTest, EveryFileIsCopiedWithItsHintAndTime) {
  Fill();
  const auto summary = Backup();
  ASSERT_TRUE(IsOk(summary));
  EXPECT_EQ(summary->files, Contents().size());
  EXPECT_EQ(summary->directories, 3u);
  EXPECT_THAT(observer_.paths, Contains("db/000010.sst"));
  EXPECT_EQ(observer_.last_done, summary->bytes);
  ExpectBackupIsWhole();
  const std::string hints = HostText(Dest(std::string(kHintsFile)));
  EXPECT_THAT(hints, HasSubstr("db/000010.sst\t4\n"));
  EXPECT_THAT(hints, HasSubstr("db/CURRENT\t0\n"));
  struct stat st{};
  ASSERT_EQ(::stat(Dest("db/CURRENT").c_str(), &st), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(st.st_mtime), volume_->Stat("db/CURRENT")->mtime_seconds);
}

TEST_F(BackupTest, OneFileOrDirectoryGoesWithoutWhatIsAboveIt) {
  Fill();
  ASSERT_TRUE(IsOk(Backup({.path = "/db/sub/"})));
  EXPECT_EQ(HostText(Dest("deep.sst")), Contents()["db/sub/deep.sst"]);
  std::filesystem::remove_all(Dest());
  ASSERT_TRUE(IsOk(Backup({.path = "db/CURRENT"})));
  EXPECT_EQ(HostText(Dest("CURRENT")), Contents()["db/CURRENT"]);
  EXPECT_EQ(CodeOf(Backup({.path = "no/such"})), Code::kNotFound);
}

TEST_F(BackupTest, ADirectoryThatHoldsOtherThingsIsLeftAloneWithoutForce) {
  Fill();
  PutHost(Dest("mine"), "precious");
  EXPECT_EQ(CodeOf(Backup()), Code::kExists);
  EXPECT_THAT(*HostDirectory::Open(Dest())->List(""), ElementsAre("mine"));
  ASSERT_TRUE(IsOk(Backup({.force = true})));
  EXPECT_EQ(HostText(Dest("mine")), "precious");
  ExpectBackupIsWhole();
}

TEST_F(BackupTest, ADestinationThatIsAFileOrLiesInOneIsRefused) {
  Fill();
  PutHost(Dest(), "a file");
  EXPECT_EQ(CodeOf(Backup()), Code::kNotADirectory);
  RecordingObserver observer;
  EXPECT_EQ(CodeOf(RunBackup(*volume_, {.destination = Dest("below")}, observer)), Code::kNotADirectory);
  EXPECT_EQ(HostText(Dest()), "a file");
}

TEST_F(BackupTest, AFailedReadLeavesAPartialBackupThatGoesOn) {
  Fill();
  FaultyDevice* const faulty = MountFaulty();
  faulty->Inject({.command = FaultyDevice::Command::kRead, .kth = 5, .times = FaultyDevice::kForEver});
  const auto failed = Backup({.jobs = 1});
  ASSERT_EQ(CodeOf(failed), Code::kIo);
  EXPECT_THAT(failed.error().text(), HasSubstr("incomplete backup"));
  const auto partial = ReadManifest();
  ASSERT_TRUE(IsOk(partial));
  EXPECT_FALSE(partial->complete);
  EXPECT_GT(partial->files.size(), 0u);
  EXPECT_LT(partial->files.size(), Contents().size());

  faulty->ClearFaults();
  const auto summary = Backup();  // without force
  ASSERT_TRUE(IsOk(summary));
  EXPECT_EQ(summary->already_there, partial->files.size());
  EXPECT_EQ(summary->files, Contents().size() - partial->files.size());
  ExpectBackupIsWhole();
}

TEST_F(BackupTest, AFileInAZoneThatWentOfflineIsNotTakenForDeleted) {
  Fill();
  FaultyDevice* const faulty = MountFaulty();
  faulty->Inject({.command = FaultyDevice::Command::kRead, .times = 1000, .code = Code::kNotFound});
  EXPECT_EQ(CodeOf(Backup()), Code::kNotFound);
  EXPECT_FALSE(ReadManifest()->complete);
  faulty->ClearFaults();
}

TEST_F(BackupTest, ACompleteBackupIsBroughtUpToDateWithForceOnly) {
  Fill();
  ASSERT_TRUE(IsOk(Backup()));
  EXPECT_EQ(CodeOf(Backup()), Code::kExists);
  EXPECT_TRUE(ReadManifest()->complete);

  ASSERT_TRUE(IsOk(volume_->Unlink("db/000010.sst")));
  Put("db/CURRENT", "MANIFEST-000005\n");
  Put("db/new.sst", "new");
  const auto summary = Backup({.force = true});
  ASSERT_TRUE(IsOk(summary));
  EXPECT_EQ(summary->files, 2u);
  EXPECT_EQ(summary->already_there, Contents().size() - 2);
  EXPECT_FALSE(std::filesystem::exists(Dest("db/000010.sst")));
  EXPECT_EQ(HostText(Dest("db/CURRENT")), "MANIFEST-000005\n");
  EXPECT_EQ(HostText(Dest("db/new.sst")), "new");
  EXPECT_TRUE(ReadManifest()->complete);
}

// The file is rewritten within the second of its backup, so its mtime says nothing. Also for a log
// that was truncated and appended to.
TEST_F(BackupTest, AFileRewrittenToTheSameSizeWithinTheSecondIsCopiedAgain) {
  const WallClockOverride clock(1'700'000'000);
  for (const char* const path : {"db/000011.sst", "db/000020.log", "db/CURRENT"}) {
    if (!volume_->Stat("db")) Fill();
    const std::string content = RandomBytes(Contents()[path].size(), 77);
    ASSERT_TRUE(IsOk(Backup({.force = true})));
    auto file = volume_->OpenForAppend(path, false);
    ASSERT_TRUE(IsOk(file));
    ASSERT_TRUE(IsOk((*file)->Truncate(0)));
    ASSERT_TRUE(IsOk((*file)->Append(AsBytes(content))));
    ASSERT_TRUE(IsOk((*file)->Close()));
    const auto summary = Backup({.force = true});
    ASSERT_TRUE(IsOk(summary));
    EXPECT_EQ(summary->files, 1u) << path;
    EXPECT_TRUE(HostText(Dest(path)) == content) << path;
  }
}

// Only the layout identifies a file whose extents have no checksums, so an mtime in the second of
// the copy does not count as unchanged.
TEST_F(BackupTest, AFileWithoutChecksumsIsCopiedAgainUnlessItsTimeIsOlderThanTheCopy) {
  WallClockOverride clock(1'700'000'000);
  const std::string content = RandomBytes(100'000, 1);
  Put("table.sst", content);
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  ForgetChecksums(*device_);
  Mount();
  ASSERT_FALSE(ContentMark::Of(*volume_->Layout("table.sst"), content.size()).sum);
  EXPECT_EQ(Backup()->files, 1u);
  EXPECT_EQ(Backup({.force = true})->files, 1u);
  clock.Set(1'700'000'001);
  EXPECT_EQ(Backup({.force = true})->files, 1u);
  EXPECT_EQ(Backup({.force = true})->files, 0u);
  EXPECT_EQ(HostText(Dest("table.sst")), content);
}

TEST_F(BackupTest, AFileThatReclaimMovedIsNotCopiedAgain) {
  Fill();
  ASSERT_TRUE(IsOk(Backup()));
  const ZoneId zone =
      volume_->info().geometry.ZoneOf(volume_->Layout("db/000011.sst")->extents.front().place);
  const Status emptied = EmptyZone(*volume_, zone);
  if (!emptied.ok()) GTEST_SKIP() << "the zone is not full: " << emptied.error().ToString();
  EXPECT_EQ(Backup({.force = true})->files, 0u);
}

// As an earlier version wrote it, without "layout" and "copied".
TEST_F(BackupTest, ALogThatAnEarlierVersionCopiedIsCopiedAgain) {
  Fill();
  ASSERT_TRUE(IsOk(Backup()));
  const std::string path = Dest(std::string(kManifestFile));
  std::string text = HostText(path);
  const std::size_t from = text.find(",\"layout\"");
  ASSERT_NE(from, std::string::npos);
  text.erase(from, text.find('}', from) - from);
  PutHost(path, text);
  EXPECT_EQ(Backup({.force = true})->files, 1u);
  EXPECT_EQ(Backup({.force = true})->files, 0u);
}

TEST_F(BackupTest, VerifyFindsADamagedCopyAndReplacesIt) {
  Fill();
  ASSERT_TRUE(IsOk(Backup()));
  std::string damaged = Contents()["db/000011.sst"];
  damaged[1'000'000] ^= 1;
  PutHost(Dest("db/000011.sst"), damaged);
  const auto unread = Backup({.force = true});
  EXPECT_EQ(unread->files, 0u);
  const auto summary = Backup({.force = true, .verify = true});
  ASSERT_TRUE(IsOk(summary));
  EXPECT_EQ(summary->files, 1u);
  EXPECT_EQ(summary->already_there, Contents().size() - 1);
  EXPECT_THAT(observer_.notices, ElementsAre(HasSubstr("db/000011.sst")));
  ExpectBackupIsWhole();
}

TEST_F(BackupTest, ACopyThatReadsBackOtherwiseIsAnError) {
  Fill();
  SwitchedPoints::During corrupt(points_, [this](std::string_view name) {
    if (name != "BackupRun::Complete:written") return;
    const std::string temporary = Dest(std::string(kBackupStaging) + "/0");
    if (!std::filesystem::exists(temporary)) return;
    std::filesystem::resize_file(temporary, std::filesystem::file_size(temporary) / 2);
    std::filesystem::resize_file(temporary, 2'000'000);
  });
  const auto failed = Backup({.path = "db/000010.sst"});
  EXPECT_EQ(CodeOf(failed), Code::kCorruption);
  EXPECT_FALSE(std::filesystem::exists(Dest("000010.sst")));
  EXPECT_FALSE(ReadManifest()->complete);
}

TEST_F(BackupTest, WhatAWriterDeletesMeanwhileIsLeftOutWithANotice) {
  Fill();
  SwitchedPoints::During writer(points_, [this](std::string_view name) {
    if (name == "BackupRun::Copy") IgnoreError(volume_->Unlink("db/000012.sst"));
  });
  const auto summary = Backup();
  ASSERT_TRUE(IsOk(summary));
  EXPECT_EQ(summary->deleted_meanwhile, 1u);
  EXPECT_THAT(observer_.notices, ElementsAre(HasSubstr("db/000012.sst was deleted meanwhile")));
  EXPECT_EQ(summary->files, Contents().size() - 1);
  EXPECT_EQ(ReadManifest()->files.size(), Contents().size() - 1);
}

TEST_F(BackupTest, WhatAWriterReplacesMeanwhileIsCopiedAsItIsNow) {
  Fill();
  std::atomic<bool> replaced{false};
  SwitchedPoints::During writer(points_, [&](std::string_view name) {
    if (name != "BackupRun::Copy" || replaced.exchange(true)) return;
    Put("db/000099.dbtmp", "MANIFEST-000099\n");
    EXPECT_TRUE(IsOk(volume_->Rename("db/000099.dbtmp", "db/CURRENT")));
  });
  ASSERT_TRUE(IsOk(Backup()));
  EXPECT_EQ(HostText(Dest("db/CURRENT")), "MANIFEST-000099\n");
}

TEST_F(BackupTest, StopLeavesAPartialBackup) {
  Fill();
  std::atomic<bool> stop{false};
  std::atomic<int> opened{0};
  SwitchedPoints::During count(points_, [&](std::string_view name) {
    if (name == "BackupRun::Copy" && ++opened == 3) stop = true;
  });
  const auto stopped = Backup({.jobs = 1, .stop = &stop});
  ASSERT_EQ(CodeOf(stopped), Code::kShutdown);
  EXPECT_THAT(stopped.error().text(), HasSubstr("interrupted"));
  EXPECT_EQ(ReadManifest()->files.size(), 2u);
  stop = false;
  EXPECT_EQ(Backup({.stop = &stop})->already_there, 2u);
  ExpectBackupIsWhole();
}

TEST_F(BackupTest, AHostThatTakesNoMoreBytesLeavesAPartialBackup) {
  Fill();
  const auto failed = [&] {
    const LowerFileSizeLimit small(500'000);
    return Backup({.jobs = 1});
  }();
  ASSERT_FALSE(failed.has_value());
  EXPECT_THAT(failed.error().text(), HasSubstr("incomplete backup"));
  for (const auto& [path, content] : Contents()) {
    if (std::filesystem::exists(Dest(path))) {
      EXPECT_EQ(HostText(Dest(path)), content) << path;
    }
  }
  ASSERT_TRUE(IsOk(Backup()));
  ExpectBackupIsWhole();
}

TEST_F(BackupTest, ACompleteBackupThatCannotBeChangedStaysCompleteAndIsNotCalledIncomplete) {
  Fill();
  ASSERT_TRUE(IsOk(Backup()));
  const auto failed = [&] {
    const LowerFileSizeLimit none(0);
    return Backup({.force = true});
  }();
  ASSERT_FALSE(failed.has_value());
  EXPECT_THAT(failed.error().text(), Not(HasSubstr("incomplete")));
  ExpectBackupIsWhole();
}

TEST_F(BackupTest, TwoBackupsDoNotGoToOneDirectoryAtOnce) {
  Fill();
  bool tried = false;
  SwitchedPoints::During second(points_, [&](std::string_view name) {
    if (name != "BackupRun::Copy" || tried) return;
    tried = true;
    RecordingObserver observer;
    EXPECT_EQ(CodeOf(RunBackup(*volume_, {.destination = Dest()}, observer)), Code::kBusy);
  });
  ASSERT_TRUE(IsOk(Backup({.jobs = 1})));
  EXPECT_TRUE(tried);
}

TEST_F(BackupTest, AFileWithTheNameOfTheRecordCostsThatFileOnly) {
  Fill();
  Put(std::string(kManifestFile), "mine");
  ASSERT_TRUE(IsOk(volume_->MakeDirectory(kBackupStaging, false)));
  Put(std::string(kBackupStaging) + "/file", "mine too");
  const auto done = Backup();
  ASSERT_TRUE(IsOk(done));
  EXPECT_EQ(done->left_out, 3u);
  EXPECT_THAT(observer_.notices, Contains(HasSubstr("not backed up: zenfs_backup.jsonl: ")));
  ExpectBackupIsWhole();
}

TEST_F(BackupTest, PathsBeyondTheLimitAreNamedOnceADirectoryAndCostOnlyThemselves) {
  Fill();
  const std::string name(99, 'd');
  AddDeepTree(60, name);
  std::string deepest = name;
  while (deepest.size() + 1 + name.size() <= kMaxPathBytes) deepest += "/" + name;
  Put(deepest + "/f", "fits");
  for (const bool again : {false, true}) {
    const auto done = Backup({.force = again, .verify = again});
    ASSERT_TRUE(IsOk(done));
    EXPECT_EQ(done->left_out, 1u);
    EXPECT_EQ(done->files, again ? 0u : Contents().size() + 1);
    EXPECT_THAT(observer_.notices,
                ElementsAre(AllOf(HasSubstr(deepest + "/" + name + ": "), HasSubstr("has 4099 bytes"))));
    for (const auto& [path, content] : Contents()) EXPECT_EQ(HostText(Dest(path)), content) << path;
    const auto manifest = ReadManifest();
    ASSERT_TRUE(IsOk(manifest));
    EXPECT_TRUE(manifest->complete);
    EXPECT_TRUE(manifest->files.contains(NodeOf(deepest + "/f")));
    EXPECT_TRUE(manifest->directories.contains(NodeOf(deepest)));
    EXPECT_TRUE(manifest->missing.contains(NodeOf(deepest + "/" + name)));
  }
  // The rest of the tree is within the limit once it is moved, and can be backed up.
  ASSERT_TRUE(IsOk(volume_->Rename(deepest, "rest")));
  const auto done = Backup({.path = "rest", .force = true});
  ASSERT_TRUE(IsOk(done));
  EXPECT_EQ(done->left_out, 0u);
  EXPECT_EQ(done->files, 2u);
}

TEST_F(BackupTest, ADirectoryBelowAPathThatIsTooLongIsNotRestored) {
  PutHost(directory_.path() + "/tree/near", "near");
  int at = ::open((directory_.path() + "/tree").c_str(), O_RDONLY | O_DIRECTORY);
  for (int depth = 0; depth < 22; ++depth) {
    const std::string name(200, 'd');
    ASSERT_EQ(::mkdirat(at, name.c_str(), 0700), 0);
    const int next = ::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY);
    ::close(std::exchange(at, next));
  }
  ::close(at);
  const auto restored = Restore({.source = directory_.path() + "/tree"});
  ASSERT_TRUE(IsOk(restored));
  EXPECT_EQ(restored->unreachable, 1u);
  EXPECT_THAT(observer_.notices, Contains(HasSubstr("too long")));
  EXPECT_EQ(Get("near"), "near");
}

TEST_F(BackupTest, ADamagedRecordIsNamedAndForceBeginsAnew) {
  Fill();
  ASSERT_TRUE(IsOk(Backup()));
  std::string text = HostText(Dest(std::string(kManifestFile)));
  text[text.find("\"file\"")] = '#';
  PutHost(Dest(std::string(kManifestFile)), text);
  const auto refused = Backup();
  EXPECT_EQ(CodeOf(refused), Code::kCorruption);
  EXPECT_THAT(refused.error().text(), HasSubstr("line 5"));
  EXPECT_EQ(Backup({.force = true})->files, Contents().size());
  ExpectBackupIsWhole();
}

}  // namespace
}  // namespace zenfs
