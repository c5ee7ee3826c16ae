// Backup and restore beside a program that replaces directories and files by links, pipes and other
// files at any moment. Each runs for a second; for a minute in all with ZENFS_FULL=1.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "backup/hostile_directory_rig.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/mutex.h"
#include "base/thread.h"

namespace zenfs {
namespace {

namespace fs = std::filesystem;

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
