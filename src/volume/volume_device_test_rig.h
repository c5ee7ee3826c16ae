// Shared by tests of a volume on a misbehaving device: a device in memory that can fail commands and give wrong answers.
#pragma once

#include <string>

#include "testing/faulty_device.h"
#include "testing/random_bytes.h"
#include "testing/watched_device.h"
#include "volume/volume_test_util.h"

namespace zenfs {

class VolumeOnADevice : public testing::Test {
 protected:
  using Command = FaultyDevice::Command;
  using When = FaultyDevice::When;

  explicit VolumeOnADevice(const EmulatorGeometry& geometry = SmallGeometry(),
                           const EmulatorOptions& options = {})
      : VolumeOnADevice(CreateMemoryDevice(geometry, options)) {
    EXPECT_TRUE(IsOk(FormatVolume(emulator_, {})));
    Mount();
  }
  ~VolumeOnADevice() override {
    faults_.Release();
    faults_.ClearFaults();
    if (volume_ == nullptr) return;
    EXPECT_TRUE(IsOk(volume_->Unmount()));
  }

  void Mount() {
    auto mounted = Volume::Mount(Borrow(device_), {});
    ASSERT_TRUE(IsOk(mounted));
    volume_ = *std::move(mounted);
  }
  void Remount() {
    ASSERT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    Mount();
  }
  // The process dies: nothing is unmounted, and the device keeps all completed commands.
  void DieAndMount() {
    faults_.Unplug();
    volume_.reset();
    faults_.ClearFaults();
    Mount();
  }
  void ExpectSound() { zenfs::ExpectSound(emulator_, {.read_data = true, .progress = {}}); }

  Status TryPut(const std::string& path, const std::string& content) {
    return PutFile(*volume_, path, content);
  }
  Result<std::string> TryGet(const std::string& path) { return GetFile(*volume_, path); }
  void Put(const std::string& path, const std::string& content) {
    ASSERT_TRUE(IsOk(TryPut(path, content))) << path;
  }
  std::string Get(const std::string& path) {
    const auto content = TryGet(path);
    EXPECT_TRUE(IsOk(content)) << path;
    return content.value_or("<missing>");
  }
  // The zone of the file's first byte, in an extent or a frame.
  ZoneId ZoneOf(const std::string& path) {
    const auto layout = volume_->Layout(path);
    EXPECT_TRUE(IsOk(layout));
    const auto& places = layout->extents.empty() ? layout->frames : layout->extents;
    return emulator_.geometry().ZoneOf(places.front().place);
  }
  static Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }

 private:
  explicit VolumeOnADevice(std::unique_ptr<EmulatorDevice> made)
      : emulator_(*made), faults_(std::move(made)), device_(Borrow(faults_)) {}

 protected:
  EmulatorDevice& emulator_;  // the device itself
  FaultyDevice faults_;       // injects faults
  WatchedDevice device_;      // for the volume
  std::shared_ptr<Volume> volume_;
};

}  // namespace zenfs
