// Shared by the tests of the volume: a small device in memory that outlives its mounts, and short functions for files.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/emulator/emulator.h"
#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "device/read_only_view.h"
#include "metalog/metalog.h"
#include "metalog/probe.h"
#include "testing/borrowed_device.h"
#include "testing/deep_tree.h"
#include "volume/fsck/check_volume.h"
#include "volume/mkfs.h"
#include "volume/volume.h"

namespace zenfs {

inline EmulatorGeometry SmallGeometry() {
  return {.zones = 40, .zone_size = 1 << 20, .zone_capacity = 768 << 10, .max_open = 14, .max_active = 14};
}

// `result` is a Status or a Result.
template <typename Outcome>
testing::AssertionResult IsOk(const Outcome& result) {
  if (result.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << CodeName(result.error().code()) << ": " << result.error().ToString();
}

template <typename Outcome>
Code CodeOf(const Outcome& result) {
  EXPECT_FALSE(result.ok()) << "succeeded";
  return result.ok() ? Code::kIo : result.error().code();
}

// Waits until the background work of a mount is complete, which is when its commits are made: a log zone, for example, is
// allocated in the pool before its allocation is committed. `count` is the number of all commits since the mount.
inline void WaitForCommits(const Volume& volume, std::uint64_t count) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(30));
  while (volume.counters().metalog.commits < count && !deadline.Passed()) {
    SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
  }
  ASSERT_EQ(volume.counters().metalog.commits, count);
}

// The metadata zones that a commit is written to. Makes two commits.
inline std::vector<ZoneId> ZonesOfTheLog(Volume& volume, ZonedDevice& device) {
  std::vector<ZoneId> zones = volume.info().superblock.metadata_zones;
  std::map<ZoneId, std::uint64_t> before;
  for (const ZoneId zone : zones) before[zone] = device.ReportZone(zone)->WrittenBytes();
  EXPECT_TRUE(IsOk(volume.MakeDirectory("zones of the log", false)));
  std::erase_if(zones, [&](ZoneId zone) { return device.ReportZone(zone)->WrittenBytes() == before[zone]; });
  EXPECT_TRUE(IsOk(volume.RemoveDirectory("zones of the log")));
  return zones;
}

// Writes a new file, syncs and closes it.
inline Status PutFile(Volume& volume, const std::string& path, std::string_view content) {
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> file, volume.Create(path));
  ZENFS_RETURN_IF_ERROR(file->Append(AsBytes(content)));
  ZENFS_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

inline Result<std::string> ContentOf(const FileHandle& file) {
  std::string content(file.size(), '\0');
  ZENFS_ASSIGN_OR_RETURN(const std::size_t n, file.Read(0, std::as_writable_bytes(std::span(content))));
  EXPECT_EQ(n, content.size());
  return content;
}

inline Result<std::string> GetFile(Volume& volume, const std::string& path) {
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> file, volume.OpenForRead(path));
  return ContentOf(*file);
}

// Expects a check without errors; notes and warnings are allowed.
inline void ExpectSound(ZonedDevice& device, const CheckOptions& options = {}) {
  const Result<CheckReport> report = CheckVolume(device, options);
  ASSERT_TRUE(IsOk(report));
  for (const Finding& finding : report->findings) {
    EXPECT_NE(finding.severity, Severity::kError) << finding.text;
  }
}

// Removes the checksums of all extents from the metadata, as in a volume of an earlier ZenFS. `device` is not mounted.
inline void ForgetChecksums(ZonedDevice& device) {
  const auto superblock = ProbeSuperblock(device);
  ASSERT_TRUE(IsOk(superblock));
  const auto log = Metalog::Open(device, *superblock);
  ASSERT_TRUE(IsOk(log));
  std::vector<Edit> edits;
  for (const auto& [id, record] : (*log)->recovered().files()) {
    SetExtents edit{id, 0, record->extents, record->size, record->mtime_seconds};
    for (Extent& extent : edit.extents) extent.crc.reset();
    if (!edit.extents.empty()) edits.push_back(std::move(edit));
  }
  ASSERT_TRUE(IsOk((*log)->Commit(std::move(edits))));
  (*log)->Stop();
}

// Waits for what another thread does; false after half a minute.
inline bool Await(const std::function<bool()>& condition) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(30));
  while (!condition()) {
    if (deadline.Passed()) return false;
    SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
  }
  return true;
}

class VolumeTest : public testing::Test {
 protected:
  explicit VolumeTest(const EmulatorGeometry& geometry = SmallGeometry(), const EmulatorOptions& options = {})
      : device_(CreateMemoryDevice(geometry, options)) {
    EXPECT_TRUE(IsOk(FormatVolume(*device_, {})));
    Mount();
  }
  ~VolumeTest() override {
    if (volume_ != nullptr) {
      EXPECT_TRUE(IsOk(volume_->Unmount()));
    }
    ExpectSound();
  }

  void Mount(const MountOptions& options = {}) {
    Result<std::shared_ptr<Volume>> volume = Volume::Mount(Borrow(*device_), options);
    ASSERT_TRUE(IsOk(volume));
    volume_ = *std::move(volume);
    EXPECT_TRUE(volume_->notices().empty());
  }
  void Remount() {
    ASSERT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    Mount();
  }

  // Leaves the volume mounted, with a tree that is deeper than a path can lead.
  void AddDeepTree(std::uint64_t depth, const std::string& name = "d", std::uint64_t more = 0) {
    ASSERT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    ASSERT_TRUE(IsOk(MakeDeepTree(*device_, depth, name, more)));
    Mount();
  }

  void ExpectSound() { zenfs::ExpectSound(*device_); }

  void Put(const std::string& path, const std::string& content) {
    ASSERT_TRUE(IsOk(PutFile(*volume_, path, content))) << path;
  }
  static std::string ReadAll(const FileHandle& file) {
    const Result<std::string> content = ContentOf(file);
    EXPECT_TRUE(IsOk(content));
    return content.value_or("<unreadable>");
  }
  std::string Get(const std::string& path) {
    const Result<std::string> content = GetFile(*volume_, path);
    EXPECT_TRUE(IsOk(content)) << path;
    return content.value_or("<missing>");
  }
  std::vector<std::string> Names(const std::string& path) {
    std::vector<std::string> names;
    const auto list = volume_->List(path);
    EXPECT_TRUE(IsOk(list));
    for (const DirectoryEntry& entry : *list) names.push_back(entry.name);
    return names;
  }

  // Waits until the log has its first zone and a ready zone, and both allocations are committed, so that no background
  // commit disturbs the test.
  void WaitForLogReserve() {
    Put("warm-up.log", "x");
    WaitForCommits(*volume_, 1 + 1 + 2);  // of the mount, of the file, of both allocations
  }

  std::unique_ptr<EmulatorDevice> device_;
  std::shared_ptr<Volume> volume_;
};

}  // namespace zenfs
