// A volume on a device that fails as a test tells it to. What the device holds outlives the faults and the mounts.
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

  // Mounted anew, through a device that can fail.
  explicit VolumeFaultTest(const EmulatorGeometry& geometry = SmallGeometry()) : VolumeTest(geometry) {
    // The mount's, and that of the log zone made ready, which the next mount takes over.
    WaitForCommits(*volume_, 1 + 1);
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    MountFaulty();
  }
  ~VolumeFaultTest() override {
    if (faulty_ != nullptr) faulty_->ClearFaults();
    // What it answers after the faults it had is the test's affair; what is on the device is looked at behind it.
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
  // In a fresh mount: the log takes its first zone, and the commit that makes the reserve whole again is over, so that a
  // fault is the test's alone.
  void WarmUpLog() {
    Put("warm-up.log", "x");
    WaitForCommits(*volume_, 1 + 1 + 1);  // the mount's, the file's, the allocation's
  }
  // As after the death of the process or an unmount that could not write: whatever is on the device is mounted.
  void RemountHealthy() {
    IgnoreError(volume_->Unmount());
    volume_.reset();
    faulty_ = nullptr;
    Mount();
  }

  // The process dies: nothing is unmounted, and what the device has completed is there.
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
  // Where the first byte of a plain file lies, or the first frame of a log.
  DeviceOffset PlaceOf(const std::string& path) {
    const auto layout = volume_->Layout(path);
    EXPECT_TRUE(IsOk(layout));
    return layout->extents.empty() ? layout->frames.at(0).place : layout->extents.front().place;
  }
  ZoneId ZoneOf(const std::string& path) { return device_->geometry().ZoneOf(PlaceOf(path)); }
  // The block that holds it.
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

  FaultyDevice* faulty_ = nullptr;  // the one mounted last; null if that has failed
  std::vector<std::unique_ptr<FaultyDevice>>
      faulty_devices_;  // they outlive their mounts, and whoever looks at them
};

}  // namespace zenfs
