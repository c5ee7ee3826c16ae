// Many small files: the metadata takes zones from the data, and gives them back.
#include <fmt/format.h>

#include "volume/volume_device_test_rig.h"

namespace zenfs::volume_many_files_test {
namespace {

EmulatorGeometry TinyZones() {
  return EmulatorGeometry{.zones = 160,
                          .zone_size = 128 << 10,
                          .zone_capacity = 128 << 10,
                          .max_open = 14,
                          .max_active = 14,
                          .block_size = 4096};
}

class VolumeManyFiles : public VolumeOnADevice {
 protected:
  static constexpr int kFiles = 1500;  // those zones of metadata that mkfs sets aside hold 265

  VolumeManyFiles() : VolumeOnADevice(TinyZones()) {}

  static std::string Name(int i) { return fmt::format("/many/{:06}.sst", i); }
  void PutMany() {
    ASSERT_TRUE(IsOk(volume_->MakeDirectory("/many", false)));
    for (int i = 0; i < kFiles; ++i) ASSERT_TRUE(IsOk(TryPut(Name(i), fmt::format("content {}", i)))) << i;
  }
  void ExpectMany() {
    for (int i = 0; i < kFiles; ++i) ASSERT_EQ(Get(Name(i)), fmt::format("content {}", i));
  }
  std::uint64_t MetadataBytes() { return volume_->Space().metadata; }
};

TEST_F(VolumeManyFiles, FitAsLongAsZonesAreEmptyAndSurviveARemountAndACrash) {
  const std::uint64_t at_first = MetadataBytes();
  PutMany();
  EXPECT_GT(MetadataBytes(), 2 * at_first);
  ExpectMany();
  Remount();
  ExpectMany();
  EXPECT_GT(MetadataBytes(), 2 * at_first);
  Put("/one more", "after the remount");
  DieAndMount();
  ExpectMany();
  EXPECT_EQ(Get("/one more"), "after the remount");
  ExpectSound();
}

TEST_F(VolumeManyFiles, GiveTheirRoomBackOnceTheyAreDeleted) {
  const std::uint64_t at_first = MetadataBytes();
  const std::uint64_t free_at_first = volume_->Space().free;
  PutMany();
  for (int i = 0; i < kFiles; ++i) ASSERT_TRUE(IsOk(volume_->Unlink(Name(i))));
  // Zones come back with the log switches.
  for (int i = 0; i < 2000 && MetadataBytes() != at_first; ++i) Put("/CURRENT", fmt::format("{}", i));
  EXPECT_EQ(MetadataBytes(), at_first);
  Remount();
  EXPECT_EQ(MetadataBytes(), at_first);
  IgnoreError(volume_->Unlink("/CURRENT"));
  const std::uint64_t zone = TinyZones().zone_size;
  EXPECT_GE(volume_->Space().free + volume_->Space().garbage + 2 * zone, free_at_first);
  ExpectSound();
}

TEST_F(VolumeManyFiles, TellThatNoZoneIsEmptyAndCanBeDeletedOnAFullDevice) {
  const std::string large(256 << 10, 'x');
  int large_files = 0;
  while (TryPut(fmt::format("/large{}", large_files), large).ok()) ++large_files;
  ASSERT_TRUE(IsOk(volume_->MakeDirectory("/many", false)));
  Status last;
  int count = 0;
  for (; last.ok() && count < kFiles; ++count) last = TryPut(Name(count), "x");
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.error().code(), Code::kNoSpace);
  for (int i = 0; i < large_files; ++i) ASSERT_TRUE(IsOk(volume_->Unlink(fmt::format("/large{}", i))));
  for (int i = count; i < kFiles; ++i) ASSERT_TRUE(IsOk(TryPut(Name(i), "x"))) << i;
  Remount();
  EXPECT_EQ(Get(Name(kFiles - 1)), "x");
  ExpectSound();
}

}  // namespace
}  // namespace zenfs::volume_many_files_test
