// What the volume's tests share: a small device in memory that outlives its mounts, and short words for
// files.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "backends/emulator/emulator.h"
#include "base/aligned_buffer.h"
#include "device/read_only_view.h"
#include "testing/borrowed_device.h"
#include "volume/check_volume.h"
#include "volume/format_volume.h"
#include "volume/volume.h"

namespace zenfs {

inline EmulatorGeometry SmallGeometry() {
  return {.zones = 40, .zone_size = 1 << 20, .zone_capacity = 768 << 10, .max_open = 14, .max_active = 14};
}

// Of a Status or a Result.
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

// What a mount starts in the background is over when its commits are made: a log zone, say, is lent before its
// reservation is committed, so the commits are what to wait for. `count` is all of them since the mount.
inline void WaitForCommits(const Volume& volume, std::uint64_t count) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(30));
  while (volume.metalog_stats().commits < count && !deadline.Passed()) {
    SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
  }
  ASSERT_EQ(volume.metalog_stats().commits, count);
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

  void ExpectSound() {
    const Result<CheckReport> report = CheckVolume(*device_, {});
    ASSERT_TRUE(IsOk(report));
    for (const Finding& finding : report->findings) {
      EXPECT_NE(finding.severity, Severity::kError) << finding.text;
    }
  }

  void Put(const std::string& path, const std::string& content) {
    auto file = volume_->Create(path);
    ASSERT_TRUE(IsOk(file));
    ASSERT_TRUE(IsOk((*file)->Append(AsBytes(content))));
    ASSERT_TRUE(IsOk((*file)->Sync()));
    ASSERT_TRUE(IsOk((*file)->Close()));
  }
  static std::string ReadAll(const FileHandle& file) {
    std::string content(file.size(), '\0');
    const auto n = file.Read(0, std::as_writable_bytes(std::span(content)));
    EXPECT_TRUE(IsOk(n));
    EXPECT_EQ(n ? *n : 0, content.size());
    return content;
  }
  std::string Get(const std::string& path) {
    auto file = volume_->OpenForRead(path);
    EXPECT_TRUE(IsOk(file)) << path;
    return file ? ReadAll(**file) : "<missing>";
  }
  std::vector<std::string> Names(const std::string& path) {
    std::vector<std::string> names;
    const auto list = volume_->List(path);
    EXPECT_TRUE(IsOk(list));
    for (const DirectoryEntry& entry : *list) names.push_back(entry.name);
    return names;
  }

  // Until the log has its first zone and the one it keeps ready, and their reservations are committed, so that
  // none is committed beside the test.
  void WaitForLogReserve() {
    Put("warm-up.log", "x");
    WaitForCommits(*volume_, 1 + 1 + 2);  // the mount's, the file's, the reservations'
  }

  std::unique_ptr<EmulatorDevice> device_;
  std::shared_ptr<Volume> volume_;
};

}  // namespace zenfs
