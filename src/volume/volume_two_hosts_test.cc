// Two hosts that mount one device, which nothing keeps them from (docs/device-assumptions.md, 9).
#include "volume/volume_device_test_rig.h"

namespace zenfs {
namespace {

// 9: it is not guarded against, and destroys the volume; it is told, and nobody hangs.
TEST_F(VolumeOnADevice, TwoHostsThatWriteAreToldAndNeitherHangs) {
  Put("1.sst", Noise(30'000, 1));
  int errors = 0;
  {
    const auto second = Volume::Mount(Borrow(emulator_), {});
    ASSERT_TRUE(IsOk(second)) << "another host knows nothing of this one";
    for (int i = 0; i < 40; ++i) {
      for (Volume* const host : {volume_.get(), second->get()}) {
        const std::string name = std::to_string(i) + (i % 2 == 0 ? ".log" : ".sst");
        const auto file = host->Create(name);
        if (!file || !(*file)->Append(AsBytes(Noise(5'000, i))) || !(*file)->Sync() || !(*file)->Close())
          ++errors;
        if (i % 8 == 7 && !host->Unlink(std::to_string(i - 7) + ".log")) ++errors;
      }
    }
    if (!(*second)->Unmount()) ++errors;
  }
  EXPECT_GT(errors, 0);
  IgnoreError(volume_->Unmount());
  volume_.reset();
  // Whatever is left can be looked at.
  IgnoreError(CheckVolume(emulator_, {.read_data = true, .progress = {}}));
}

}  // namespace
}  // namespace zenfs
