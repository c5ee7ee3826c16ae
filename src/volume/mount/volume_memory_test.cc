// Memory runs out during a write: the process ends, because no thread may continue with half a change, or wait for a thread
// that will never complete it.
#include <csignal>
#include <new>

#include "volume/volume_device_test_rig.h"

namespace zenfs {
namespace {

class VolumeOutOfMemory : public VolumeOnADevice {
 protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }

  static WatchedDevice::Hooks NoMemoryToWrite() {
    return {.before_write = [](DeviceOffset, std::size_t) -> Status { throw std::bad_alloc(); }};
  }
  void SyncWithoutMemory(const std::string& path) {
    const auto file = volume_->Create(path);
    IgnoreError((*file)->Append(AsBytes("content")));
    const WatchedDevice::Watch watch(device_, NoMemoryToWrite());
    IgnoreError((*file)->Sync());
  }
};

TEST_F(VolumeOutOfMemory, CommitEndsTheProcess) {
  EXPECT_EXIT(
      {
        const WatchedDevice::Watch watch(device_, NoMemoryToWrite());
        IgnoreError(volume_->MakeDirectory("d", false));
      },
      testing::KilledBySignal(SIGABRT), "bad_alloc");
}

TEST_F(VolumeOutOfMemory, SyncOfALogEndsTheProcess) {
  Put("1.log", "synced");
  EXPECT_EXIT(SyncWithoutMemory("2.log"), testing::KilledBySignal(SIGABRT), "bad_alloc");
}

}  // namespace
}  // namespace zenfs
