// What was flushed and not synced, when the device loses it and the host does not.
#include <fmt/format.h>

#include "volume/volume_flush_test_rig.h"

namespace zenfs {
namespace {

// A drive that is unplugged for a moment: its cache is gone, and with it the middle of what was flushed; the host and the
// buffers with the end of it are still there.
TEST_F(VolumeFlushTest, ADeviceThatLostItsCacheMountsWithWhatWasSyncedAndANotice) {
  // How much of it the background has sent to the device is its affair: all of it sometimes, and then nothing is told.
  // Nor when it commits an allocation, which makes all of that stable.
  const std::string many(400'000, 'f');  // more than a buffer holds
  const std::string whole = "synced, " + many + "the end";
  bool told = false;
  for (int i = 0; i < 50 && !told; ++i) {
    const std::string name = fmt::format("{}.log", i);
    Open(name);
    ASSERT_TRUE(IsOk(file_->Append(AsBytes("synced, "))));
    ASSERT_TRUE(IsOk(file_->Sync()));
    ASSERT_TRUE(IsOk(AppendAndFlush(many)));
    ASSERT_TRUE(IsOk(AppendAndFlush("the end")));
    End();
    Use(device_->Image(LossPolicy::LoseAll()));
    ASSERT_TRUE(Mount());
    const std::string found = Get(name);
    EXPECT_TRUE(found.starts_with("synced, ") && whole.starts_with(found)) << found.size() << " bytes";
    for (const std::string& notice : volume_->notices()) {
      told = true;
      EXPECT_LT(found.size(), whole.size()) << notice;
      EXPECT_NE(notice.find(name), std::string::npos) << notice;
      EXPECT_NE(notice.find("the device has lost them"), std::string::npos) << notice;
    }
  }
  EXPECT_TRUE(told);
  EXPECT_TRUE(IsOk(volume_->Unmount()));
  EXPECT_TRUE(Buffers().empty());
}

// The extents of a table were flushed and not committed; the host's memory says where they are, but they are gone.
TEST_F(VolumeFlushTest, ADeviceThatLostFlushedExtentsMountsWithWhatWasSyncedAndANotice) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Open("1.sst");
    ASSERT_TRUE(IsOk(file_->Append(AsBytes(Text(6000)))));
    ASSERT_TRUE(IsOk(file_->Sync()));
    ASSERT_TRUE(IsOk(AppendAndFlush(Text(1'200'000, 1))));
    ASSERT_TRUE(IsOk(AppendAndFlush("the end")));
    End();
    Use(device_->Image(seed == 0 ? LossPolicy::LoseAll() : LossPolicy::Random(seed)));
    ASSERT_TRUE(Mount()) << "seed " << seed;
    const std::string whole = Text(6000) + Text(1'200'000, 1) + "the end";
    const std::string found = Get("1.sst");
    ASSERT_TRUE(found.size() >= 6000 && whole.starts_with(found)) << "seed " << seed << ": " << found.size();
    EXPECT_EQ(volume_->notices().empty(), found.size() == whole.size()) << "seed " << seed;
    ExpectSound();
    ASSERT_TRUE(IsOk(volume_->Unlink("1.sst")));
  }
}

}  // namespace
}  // namespace zenfs
