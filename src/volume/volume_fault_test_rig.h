// A volume on a device that fails on request. The contents of the device outlive the faults and the mounts.
#pragma once

#include <string>
#include <vector>

#include "metrics/metrics_snapshot.h"
#include "testing/faulty_device.h"
#include "volume/volume_test_util.h"

namespace zenfs {

class VolumeFaultTest : public VolumeTest {
 protected:
  using Command = FaultyDevice::Command;
  using When = FaultyDevice::When;
  using Fault = FaultyDevice::Fault;
  static constexpr std::uint64_t kForEver = FaultyDevice::kForEver;

  // Mounts the volume again, through a device that can fail.
  explicit VolumeFaultTest(const EmulatorGeometry& geometry = SmallGeometry()) : VolumeTest(geometry) {
    // The commit of the mount, and that of the ready log zone, which the next mount takes over.
    WaitForCommits(*volume_, 1 + 1);
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    MountFaulty();
  }
  ~VolumeFaultTest() override {
    if (faulty_ != nullptr) faulty_->ClearFaults();
    // After the faults an unmount may fail. The base class then checks the contents of the device.
    if (volume_ != nullptr) IgnoreError(volume_->Unmount());
    volume_.reset();
  }

  [[nodiscard]] Status TryMountFaulty(const std::vector<Fault>& faults = {},
                                      const MountOptions& options = {}) {
    volume_.reset();
    MakeFaultyDevice();
    for (const Fault& fault : faults) faulty_->Inject(fault);
    Result<std::shared_ptr<Volume>> volume = Volume::Mount(Borrow(*faulty_), options);
    if (!volume) {
      faulty_ = nullptr;
      return Fail(volume.error());
    }
    volume_ = *std::move(volume);
    return {};
  }
  void MakeFaultyDevice() {
    faulty_devices_.push_back(std::make_unique<FaultyDevice>(Borrow(*device_)));
    faulty_ = faulty_devices_.back().get();
  }
  void MountFaulty(const std::vector<Fault>& faults = {}, const MountOptions& options = {}) {
    ASSERT_TRUE(IsOk(TryMountFaulty(faults, options)));
  }
  // Call this after a mount. Waits until the log has its first zone and has committed the next ready one, so that a fault
  // hits only the test's own commands.
  void WarmUpLog() {
    Put("warm-up.log", "x");
    WaitForCommits(*volume_, 1 + 1 + 1);  // of the mount, of the file, of the allocation
  }
  // Mounts the contents of the device, as after the death of the process or an unmount that could not write.
  void RemountHealthy() {
    IgnoreError(volume_->Unmount());
    volume_.reset();
    faulty_ = nullptr;
    Mount();
  }

  // The process dies: nothing is unmounted, and the device keeps all completed commands.
  void Die() {
    faulty_->Unplug();
    volume_.reset();
    faulty_ = nullptr;
  }

  std::unique_ptr<FileHandle> Create(const std::string& path) {
    auto file = volume_->Create(path);
    EXPECT_TRUE(IsOk(file));
    return file ? *std::move(file) : nullptr;
  }
  // The place of the first byte of a plain file, or of the first frame of a log.
  DeviceOffset PlaceOf(const std::string& path) {
    const auto layout = volume_->Layout(path);
    EXPECT_TRUE(IsOk(layout));
    return layout->extents.empty() ? layout->frames.at(0).place : layout->extents.front().place;
  }
  ZoneId ZoneOf(const std::string& path) { return device_->geometry().ZoneOf(PlaceOf(path)); }
  // The block of that place.
  FaultyDevice::Bytes BlockOf(const std::string& path) {
    const std::uint32_t block = device_->geometry().block_size;
    const DeviceOffset from(RoundDown(PlaceOf(path).value, block));
    return {from, from + block};
  }
  Status ReadFile(const std::string& path) {
    const Result<std::string> content = GetFile(*volume_, path);
    return content ? Status() : Fail(content.error());
  }
  Status WriteFile(const std::string& path, const std::string& content) {
    return PutFile(*volume_, path, content);
  }
  std::uint64_t ReadRetries() {
    return (*DecodeMetrics(volume_->counters().metrics_page))[Value::kReadRetries];
  }

  FaultyDevice* faulty_ = nullptr;                             // of the last mount; null if that mount failed
  std::vector<std::unique_ptr<FaultyDevice>> faulty_devices_;  // they outlive their mounts
};

}  // namespace zenfs
