// Two hosts that mount one device, which nothing prevents (docs/internals/device-assumptions.md, 9).
#include "volume/volume_device_test_rig.h"

namespace zenfs {
namespace {

// The work of a host that assumes it is alone. The result is undefined.
void Work(Volume& host, int round) {
  const auto file = host.Create(std::to_string(round) + (round % 2 == 0 ? ".log" : ".sst"));
  if (!file || !(*file)->Append(AsBytes(RandomBytes(5'000, round))).ok() || !(*file)->Sync().ok()) return;
  IgnoreError((*file)->Close());
  if (round % 8 == 7) IgnoreError(host.Unlink(std::to_string(round - 7) + ".log"));
}

// 9: nothing prevents this, and it may destroy the volume. Neither host hangs, and a volume that passes a check is sound.
TEST_F(VolumeOnADevice, TwoHostsThatWriteDoNotHangAndWhatIsLeftCanBeLookedAt) {
  Put("1.sst", RandomBytes(30'000, 1));
  {
    auto second = Volume::Mount(Borrow(emulator_), {});
    // The first host may have committed the allocation of a log zone in between.
    for (int tries = 0; !second && tries < 100; ++tries) second = Volume::Mount(Borrow(emulator_), {});
    ASSERT_TRUE(IsOk(second)) << "a host does not see the mount of another host";
    for (int round = 0; round < 40; ++round) {
      Work(*volume_, round);
      Work(**second, round);
    }
    IgnoreError((*second)->Unmount());
  }
  IgnoreError(volume_->Unmount());
  volume_.reset();
  const auto report = CheckVolume(emulator_, {.read_data = true, .progress = {}});
  if (!report || !report->clean()) return;
  Mount();
  const auto entries = volume_->List("");
  ASSERT_TRUE(IsOk(entries));
  for (const DirectoryEntry& entry : *entries) EXPECT_TRUE(TryGet(entry.name)) << entry.name;
}

}  // namespace
}  // namespace zenfs
