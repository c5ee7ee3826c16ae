// Shared by the tests of read-only mounts: a writer, and a reader beside it.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "testing/faulty_device.h"
#include "testing/random_bytes.h"
#include "testing/switched_points.h"
#include "volume/volume_test_util.h"

namespace zenfs {

// A writer, and a reader that uses another device object for the same zones.
class ReaderTest : protected SwitchedPoints, public VolumeTest {
 protected:
  ReaderTest() {
    auto device = std::make_unique<FaultyDevice>(MakeReadOnlyView(*device_));
    reader_device_ = device.get();
    auto reader = Volume::Mount(std::move(device), {.read_only = true});
    EXPECT_TRUE(IsOk(reader));
    reader_ = *std::move(reader);
  }
  ~ReaderTest() override {
    for (const auto command : {FaultyDevice::Command::kWrite, FaultyDevice::Command::kReset,
                               FaultyDevice::Command::kFinish, FaultyDevice::Command::kFlush}) {
      EXPECT_EQ(reader_device_->count(command), 0u);
    }
    reader_.reset();
  }

  std::unique_ptr<FileHandle> Open(const std::string& path) {
    auto file = reader_->OpenForRead(path);
    EXPECT_TRUE(IsOk(file)) << path;
    return file ? *std::move(file) : nullptr;
  }
  std::string Read(const std::string& path) {
    const auto file = Open(path);
    return file == nullptr ? "<missing>" : ReadAll(*file);
  }
  // Reads all of `file`. Calls `meanwhile` once, between the lookup of the layout and the read.
  Result<std::string> ReadWhile(const FileHandle& file, std::size_t bytes,
                                const std::function<void()>& meanwhile) {
    std::string content(bytes, '\0');
    bool done = false;
    const During during(*this, [&](std::string_view name) {
      // Only this thread reads, so the point is reached here only.
      if (name == "ReaderHandle::Read:planned" && !std::exchange(done, true)) meanwhile();
    });
    ZENFS_ASSIGN_OR_RETURN(const std::size_t n, file.Read(0, std::as_writable_bytes(std::span(content))));
    EXPECT_TRUE(done);
    content.resize(n);
    return content;
  }
  // Writes more than the device holds, so that all zones without live data are reset and written again.
  void OverwriteFreeZones() {
    for (int i = 0; i < 60; ++i) Put("filler.sst", RandomBytes(700'000, 100 + static_cast<std::uint64_t>(i)));
    for (int i = 0; i < 60; ++i) Put("filler.log", RandomBytes(400'000, 200 + static_cast<std::uint64_t>(i)));
    ASSERT_TRUE(IsOk(volume_->Unlink("filler.sst")));
    ASSERT_TRUE(IsOk(volume_->Unlink("filler.log")));
  }
  void SwitchTheLog() {
    const std::uint64_t before = volume_->counters().metalog.switches;
    for (int i = 0; volume_->counters().metalog.switches < before + 3; ++i) {
      ASSERT_LT(i, 20'000);
      Put("tmp", "x");
      ASSERT_TRUE(IsOk(volume_->Rename("tmp", "CURRENT")));
    }
  }

  FaultyDevice* reader_device_;
  std::shared_ptr<Volume> reader_;
};

}  // namespace zenfs
