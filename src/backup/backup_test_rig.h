// Shared by the tests of backup and restore: a volume in memory with files in it, a directory on
// the host, and an observer that records its calls.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "backup/backup.h"
#include "backup/backup_destination.h"
#include "backup/restore.h"
#include "backup/volume_tree.h"
#include "testing/faulty_device.h"
#include "testing/random_bytes.h"
#include "testing/switched_points.h"
#include "testing/temp_directory.h"
#include "volume/volume_test_util.h"

namespace zenfs {

struct RecordingObserver : TransferObserver {
  void OnPath(const std::string& path) override { paths.push_back(path); }
  void OnNotice(const std::string& line) override { notices.push_back(line); }
  void OnProgress(std::uint64_t done, std::uint64_t of) override {
    EXPECT_LE(done, of);
    last_done = done;
  }
  std::vector<std::string> paths;
  std::vector<std::string> notices;
  std::uint64_t last_done = 0;
};

inline std::string HostText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void PutHost(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

// Declared before the volume and its threads, which also pass points.
struct BackupPoints {
  SwitchedPoints points_;
};

class BackupTest : protected BackupPoints, public VolumeTest {
 protected:
  // Names and contents of the volume's files. Three of them are larger than a chunk.
  static std::map<std::string, std::string> Contents() {
    std::map<std::string, std::string> out;
    for (int i = 0; i < 3; ++i)
      out["db/00001" + std::to_string(i) + ".sst"] = RandomBytes(ReadAhead::kChunk + 77777 * i, i);
    out["db/000020.log"] = RandomBytes(70'000, 20);
    out["db/CURRENT"] = "MANIFEST-000004\n";
    out["db/sub/deep.sst"] = RandomBytes(4096, 5);
    out["empty.sst"] = "";
    out[std::string("odd \t%\xff name.sst")] = "odd";
    return out;
  }

  void Fill() {
    ASSERT_TRUE(IsOk(volume_->MakeDirectory("db/sub", true)));
    ASSERT_TRUE(IsOk(volume_->MakeDirectory("empty directory", true)));
    for (const auto& [path, content] : Contents()) {
      const bool table = path.ends_with(".sst");
      auto file = volume_->Create(path, table ? Lifetime::kLong : Lifetime::kNotSet);
      ASSERT_TRUE(IsOk(file));
      ASSERT_TRUE(IsOk((*file)->Append(AsBytes(content))));
      ASSERT_TRUE(IsOk((*file)->Sync()));
      ASSERT_TRUE(IsOk((*file)->Close()));
    }
  }

  // All commands go through the returned device, which the volume owns.
  FaultyDevice* MountFaulty(std::chrono::seconds space_wait = std::chrono::seconds(1)) {
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    auto device = std::make_unique<FaultyDevice>(Borrow(*device_));
    FaultyDevice* const faulty = device.get();
    MountOptions options;
    options.space_wait = space_wait;
    auto volume = Volume::Mount(std::move(device), options);
    EXPECT_TRUE(IsOk(volume));
    volume_ = *std::move(volume);
    return faulty;
  }

  // Replaces the volume by an empty one.
  void StartAfresh() {
    ASSERT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    ASSERT_TRUE(IsOk(FormatVolume(*device_, {.force = true})));
    Mount();
  }

  Result<BackupSummary> Backup(BackupOptions options = {}) {
    options.destination = Dest();
    observer_ = {};
    return RunBackup(*volume_, options, observer_);
  }
  Result<RestoreSummary> Restore(RestoreOptions options = {}) {
    if (options.source.empty()) options.source = Dest();
    observer_ = {};
    return RunRestore(*volume_, options, observer_);
  }
  std::string Dest(const std::string& below = "") const {
    return directory_.path() + "/backup" + (below.empty() ? "" : "/" + below);
  }

  // The names are in paths_.
  Result<Manifest> ReadManifest() {
    paths_ = {};
    return zenfs::ReadManifest(*HostDirectory::Open(Dest()), paths_);
  }
  PathNode NodeOf(std::string_view path) const { return paths_.Find(path).value_or(kTopNode); }

  void ExpectBackupIsWhole() {
    for (const auto& [path, content] : Contents()) EXPECT_EQ(HostText(Dest(path)), content) << path;
    EXPECT_TRUE(std::filesystem::is_directory(Dest("empty directory")));
    EXPECT_FALSE(std::filesystem::exists(Dest(std::string(kBackupStaging))));
    const auto manifest = ReadManifest();
    ASSERT_TRUE(IsOk(manifest));
    EXPECT_TRUE(manifest->complete);
    EXPECT_EQ(manifest->files.size(), Contents().size());
  }
  void ExpectVolumeIsWhole(const std::string& below = "") {
    for (const auto& [path, content] : Contents()) EXPECT_EQ(Get(below + path), content) << path;
    EXPECT_TRUE(IsOk(volume_->List(below + "empty directory")));
    EXPECT_FALSE(volume_->Stat(kRestoreStaging));
    EXPECT_FALSE(volume_->Stat(kRestoreRecord));
  }

  TempDirectory directory_;
  RecordingObserver observer_;
  PathTree paths_;
};

}  // namespace zenfs
