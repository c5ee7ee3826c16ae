// Backup and restore in a directory that somebody else changes: with links, pipes and absurd
// manifests. Nothing outside of the directory is read, changed or removed.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "backup/backup_test_rig.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/environment.h"
#include "base/mutex.h"
#include "base/thread.h"

namespace zenfs {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

// Files of the same names outside of the directory must stay unchanged.
class HostileDirectoryTest : public BackupTest {
 protected:
  // Creates the volume's files with other contents, and the files that a backup creates for itself.
  void MakeOutside() {
    for (const auto& [path, content] : Contents()) PutHost(Outside(path), "outside " + path);
    PutHost(Outside("0"), "outside 0");
    PutHost(Outside("manifest"), "outside manifest");
    before_ = OutsideFiles();
  }
  std::string Outside(const std::string& below = "") const { return directory_.File("outside/" + below); }
  std::map<std::string, std::string> OutsideFiles() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(Outside())) {
      found[entry.path().string()] = entry.is_regular_file() ? Short(HostText(entry.path())) : "a directory";
    }
    return found;
  }
  // Shortens a text for a readable failure.
  static std::string Short(const std::string& text) {
    if (text.size() < 100) return text;
    return std::to_string(text.size()) + " bytes with CRC " + std::to_string(Crc32c(AsBytes(text)));
  }
  void ExpectOutsideIsUntouched() const { EXPECT_EQ(OutsideFiles(), before_); }
  // Replaces `below` by a link to the entry of the same name outside.
  void Divert(const std::string& below) {
    std::filesystem::remove_all(Dest(below));
    std::filesystem::create_symlink(Outside(below), Dest(below));
  }
  void LoseTheEndLine() {
    const std::string path = Dest(std::string(kManifestFile));
    std::string text = HostText(path);
    text.erase(text.rfind("{\"type\":\"end\""));
    PutHost(path, text);
  }

  std::map<std::string, std::string> before_;
};

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
    if (name == "BackupRun::Copy" && ++opened == 2) Divert("db");
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
    if (name == "BackupRun::Copy" && !fs::exists(temporary)) fs::create_hard_link(Outside("0"), temporary);
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
    if (name != "BackupRun::Copy" || ++opened != 2) return;
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
    if (name == "BackupRun::Copy" && ++opened == 3) fs::remove_all(Dest("db"));
    if (name == "BackupRun::Copy") fs::create_directories(Dest("db/sub"));
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
    if (name == "RestoreRun::Write:written" && ++written == 1) Divert("db");
  });
  EXPECT_FALSE(Restore({.jobs = 1}).has_value());
  for (const auto& [path, content] : Contents()) {
    if (volume_->Stat(path)) {
      EXPECT_EQ(Get(path), content) << path;
    }
  }
}

// --- beside a program that replaces directories and files by links, pipes and other files at any moment ---

// Each test runs for a second; for a minute in all with ZENFS_FULL=1.
std::chrono::milliseconds HowLong() {
  const std::string_view full = EnvironmentVariable("ZENFS_FULL");
  return std::chrono::seconds(full.starts_with('1') ? 30 : 1);
}

// Swaps entries of `top` until it is destroyed; the last swap may stay.
class Swapper {
 public:
  struct Options {
    std::string top;
    std::string outside;
    std::vector<std::string> names;
    bool hard_links = false;
    std::uint64_t seed = 0;
  };

  explicit Swapper(Options options) : options_(std::move(options)), random_(options_.seed) {
    thread_ = Thread("swapper", [this] { Run(); });
  }
  ~Swapper() {
    {
      MutexLock lock(mutex_);
      stop_ = true;
      changed_.NotifyAll();
    }
    thread_.Join();
  }
  Swapper(const Swapper&) = delete;
  Swapper& operator=(const Swapper&) = delete;

  std::uint64_t swaps() const { return swaps_; }

 private:
  // Mostly leaves things as they are, so that runs reach every place before a swap.
  void Run() EXCLUDES(mutex_) {
    while (Pause(10'000)) {
      for (std::uint64_t i = 1 + random_.Below(3); i != 0; --i) Swap();
      if (!Pause(300)) return;
      PutBack();
    }
  }

  // Pauses for a random time of up to `most` microseconds. Returns false if the thread must end.
  bool Pause(std::uint64_t most) EXCLUDES(mutex_) {
    const Deadline end = Deadline::After(std::chrono::microseconds(random_.Below(most)));
    MutexLock lock(mutex_);
    while (!stop_ && changed_.WaitUntil(mutex_, end)) {
    }
    return !stop_;
  }

  // Never change anything through one of its own links.
  bool MayTouch(const std::string& name) const {
    std::error_code error;
    for (fs::path at = fs::path(name).parent_path(); !at.empty(); at = at.parent_path()) {
      if (!fs::is_directory(fs::symlink_status(fs::path(options_.top) / at, error))) return false;
    }
    return true;
  }

  void Swap() {
    const std::string name = options_.names[random_.Below(options_.names.size())];
    if (!MayTouch(name)) return;
    const std::string path = options_.top + "/" + name;
    const std::string target = options_.outside + "/" + name;
    std::error_code error;
    if (!away_.insert(name).second) return;
    ::rename(path.c_str(), AwayPath(name).c_str());  // fails if there was nothing
    ++swaps_;
    switch (random_.Below(options_.hard_links ? 6 : 5)) {
      case 0:
      case 1: fs::create_symlink(target, path, error); break;
      case 2: fs::create_symlink(options_.outside, path, error); break;
      case 3: ::mkfifo(path.c_str(), 0600); break;
      case 4: fs::create_directory(path, error); break;
      default: fs::create_hard_link(target, path, error); break;
    }
  }

  void PutBack() {
    while (!away_.empty()) {
      const std::string name = *away_.begin();
      away_.erase(away_.begin());
      if (!MayTouch(name)) continue;
      const std::string path = options_.top + "/" + name;
      std::error_code error;
      fs::remove_all(path, error);  // a link is removed, not followed
      ::rename(AwayPath(name).c_str(), path.c_str());
    }
  }

  std::string AwayPath(std::string name) const {
    std::ranges::replace(name, '/', '-');
    return options_.top + "/away-" + name;
  }

  const Options options_;
  Random random_;
  std::set<std::string> away_;  // names that are swapped
  std::atomic<std::uint64_t> swaps_{0};
  Mutex mutex_;  // leaf
  CondVar changed_;
  bool stop_ GUARDED_BY(mutex_) = false;
  Thread thread_;
};

class DirectoryRaceTest : public HostileDirectoryTest {
 protected:
  Swapper::Options Swaps(bool hard_links) const {
    const std::string staging(kBackupStaging);
    return {.top = Dest(),
            .outside = directory_.File("outside"),
            .names = {"db", "db/sub", "db/sub/deep.sst", "db/CURRENT", "db/000010.sst", "db/000020.log",
                      "empty.sst", "empty directory", staging, staging + "/0", staging + "/1",
                      staging + "/manifest", std::string(kManifestFile), std::string(kHintsFile)},
            .hard_links = hard_links,
            .seed = RandomSeed()};
  }
};

TEST_F(DirectoryRaceTest, ABackupChangesNothingOutside) {
  Fill();
  MakeOutside();
  ASSERT_TRUE(IsOk(Backup()));
  std::uint64_t runs = 0;
  std::uint64_t succeeded = 0;
  {
    const Swapper::Options options = Swaps(true);
    SCOPED_TRACE("seed " + std::to_string(options.seed));
    const Swapper swapper(options);
    const Deadline end = Deadline::After(HowLong());
    for (; !end.Passed(); ++runs) {
      // Each run has a file to copy, one to remove, and some to keep.
      Put("db/CURRENT", "MANIFEST-" + std::to_string(runs));
      if (runs % 2 == 0) Put("db/sub/deep.sst", std::to_string(runs));
      if (runs % 2 == 1) IgnoreError(volume_->Unlink("db/sub/deep.sst"));
      if (Backup({.force = true, .verify = runs % 4 == 0})) ++succeeded;
    }
    EXPECT_GT(swapper.swaps(), 0u);
    ExpectOutsideIsUntouched();
  }
  RecordProperty("runs", std::to_string(runs));
  RecordProperty("succeeded", std::to_string(succeeded));
  EXPECT_GT(runs, 0u);
  // Without interference the run succeeds.
  fs::remove_all(Dest());
  for (const char* const path : {"db/CURRENT", "db/sub/deep.sst"}) Put(path, Contents()[path]);
  ASSERT_TRUE(IsOk(Backup()));
  ExpectBackupIsWhole();
}

TEST_F(DirectoryRaceTest, ARestoreTakesInNothingFromOutside) {
  Fill();
  MakeOutside();
  ASSERT_TRUE(IsOk(Backup()));
  StartAfresh();
  std::uint64_t runs = 0;
  std::uint64_t succeeded = 0;
  for (const bool manifest : {true, false}) {
    if (!manifest) fs::remove(Dest(std::string(kManifestFile)));
    const Swapper::Options options = Swaps(false);
    SCOPED_TRACE("seed " + std::to_string(options.seed));
    const Swapper swapper(options);
    const Deadline end = Deadline::After(HowLong() / 2);
    for (; !end.Passed(); ++runs) {
      if (Restore({.force = true, .partial = runs % 2 == 0})) ++succeeded;
      if (runs % 4 == 0) IgnoreError(volume_->Unlink("db/000010.sst"));
      for (const auto& [path, content] : Contents()) {
        if (const auto stat = volume_->Stat(path); stat && !stat->is_directory) {
          ASSERT_EQ(Get(path), content) << path;
        }
      }
    }
    ExpectOutsideIsUntouched();
  }
  RecordProperty("runs", std::to_string(runs));
  RecordProperty("succeeded", std::to_string(succeeded));
  EXPECT_GT(runs, 0u);
}

}  // namespace
}  // namespace zenfs
