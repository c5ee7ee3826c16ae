// Flushed and unsynced bytes that the device loses and the host still has.
#include <fmt/format.h>

#include "volume/mount/volume_flush_test_rig.h"

namespace zenfs {
namespace {

// A drive is unplugged for a moment. Its cache is lost, and with it the middle of the flushed bytes; the host still has the
// buffers with the last ones.
TEST_F(VolumeFlushTest, ADeviceThatLostItsCacheMountsWithWhatWasSyncedAndANotice) {
  // The background threads may have written all bytes, or may have committed an allocation, which makes the written bytes
  // durable. Then nothing is lost, and there is no notice.
  const std::string many(400'000, 'f');  // more than one buffer
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
      EXPECT_NE(notice.find("the device has lost bytes"), std::string::npos) << notice;
    }
  }
  EXPECT_TRUE(told);
  EXPECT_TRUE(IsOk(volume_->Unmount()));
  EXPECT_TRUE(Buffers().empty());
}

// The extents of a table were flushed and not committed. The host's memory has their places, but the device has lost them.
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
