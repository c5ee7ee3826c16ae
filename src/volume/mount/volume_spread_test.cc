// Files over several zones (zone/spread.h) in a volume.
#include <set>

#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

class VolumeSpreadTest : public VolumeTest {
 protected:
  VolumeSpreadTest() : VolumeTest({.zones = 64, .zone_size = 1 << 20, .max_open = 32, .max_active = 32}) {
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    Mount(*ParseMountOptions({{"spread", "4"}}));
  }
  static std::string Content(std::size_t bytes, char first) {
    std::string content(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i) content[i] = static_cast<char>(first + i / 4096 % 50);
    return content;
  }
  std::set<std::uint32_t> ZonesOf(const std::string& path) {
    const FileLayout layout = *volume_->Layout(path);  // a temporary would not live as long as the loop
    std::set<std::uint32_t> zones;
    for (const Extent& extent : layout.extents) zones.insert(device_->geometry().ZoneOf(extent.place).value);
    return zones;
  }
};

TEST_F(VolumeSpreadTest, AFileOverFourZonesIsReadAsItWasWrittenAlsoAfterAMount) {
  Put("a.sst", Content(1'300'000, 'a'));
  Put("b.sst", Content(2'000'001, 'A'));
  EXPECT_GE(ZonesOf("a.sst").size(), 4U);
  std::set<std::uint32_t> all = ZonesOf("a.sst");
  all.merge(ZonesOf("b.sst"));
  EXPECT_LE(all.size(), 8U) << "files of one lifetime share zones";
  for (int mounts = 0; mounts < 2; ++mounts) {
    EXPECT_EQ(Get("a.sst"), Content(1'300'000, 'a'));
    EXPECT_EQ(Get("b.sst"), Content(2'000'001, 'A'));
    Remount();
  }
}

TEST_F(VolumeSpreadTest, ItIsUnmountedWithAFileOpenThatIsBeingWritten) {
  auto file = volume_->Create("a.sst");
  ASSERT_TRUE(IsOk(file));
  ASSERT_TRUE(IsOk((*file)->Append(AsBytes(Content(3 << 20, 'a')))));
  EXPECT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  file->reset();
  Mount();
}

TEST_F(VolumeSpreadTest, ACheckFindsNothingAfterFilesWereDeletedAndTheirZonesUsedAgain) {
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < 10; ++i)
      Put(std::to_string(i) + ".sst", Content(2'500'000, static_cast<char>('a' + i)));
    for (int i = 0; i < 10; i += 2) EXPECT_TRUE(IsOk(volume_->Unlink(std::to_string(i) + ".sst")));
    for (int i = 1; i < 10; i += 2)
      EXPECT_EQ(Get(std::to_string(i) + ".sst"), Content(2'500'000, static_cast<char>('a' + i)));
    for (int i = 1; i < 10; i += 2) EXPECT_TRUE(IsOk(volume_->Unlink(std::to_string(i) + ".sst")));
  }
}

TEST_F(VolumeSpreadTest, TheOptionIsBounded) {
  EXPECT_EQ(ParseMountOptions({{"spread", "64"}})->spread, 64U);
  EXPECT_EQ(CodeOf(ParseMountOptions({{"spread", "0"}})), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(ParseMountOptions({{"spread", "65"}})), Code::kInvalidArgument);
}

}  // namespace
}  // namespace zenfs
