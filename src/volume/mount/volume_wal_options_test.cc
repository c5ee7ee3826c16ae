// The options of a mount for its log: `wal` and `wal_buffer_kib`.
#include "device/forwarding_device.h"
#include "format/frame.h"
#include "metrics/metrics_snapshot.h"
#include "volume/mount/volume_flush_test_rig.h"

namespace zenfs {
namespace {

class WalOptionsTest : public VolumeFlushTest {
 protected:
  // Mounts anew with options as in a URI.
  void MountWith(const std::vector<std::pair<std::string, std::string>>& pairs) {
    volume_.reset();
    mounted_ = Fail(Code::kShutdown, "not mounted");
    Result<MountOptions> options = ParseMountOptions(pairs);
    ASSERT_TRUE(IsOk(options));
    options->flush_directory = directory_;
    mounted_ = Volume::Mount(Borrow(*device_), *options);
    ASSERT_TRUE(IsOk(mounted_));
    volume_ = *mounted_;
  }
  std::uint64_t Sent() const { return volume_->counters().written.log_data; }
  std::uint64_t Appends() const {
    return (*DecodeMetrics(volume_->counters().metrics_page))[Operation::kZoneAppend].count;
  }
  std::uint64_t Padding() const { return volume_->counters().written.log_padding; }
};

TEST_F(WalOptionsTest, BlockingSendsABufferWhenItIsFullAndNotBefore) {
  MountWith({{"wal", "blocking"}, {"wal_buffer_kib", "8"}});
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("commits the file")));
  ASSERT_TRUE(IsOk(file_->Sync()));
  const std::uint64_t sent = Sent();
  const std::uint64_t padding = Padding();
  const std::uint64_t room = (8 << 10) - kFrameHeaderBytes;
  std::string expected = "commits the file";
  const auto append = [&](std::size_t bytes) {
    const std::string text = Text(bytes, static_cast<unsigned>(expected.size()));
    ASSERT_TRUE(IsOk(AppendAndFlush(text)));
    expected += text;
  };
  for (std::uint64_t left = room; left != 0;) {
    const std::size_t bytes = std::min<std::uint64_t>(left, 100);
    append(bytes);
    left -= bytes;
  }
  EXPECT_EQ(Sent(), sent) << "the buffer is only just full";
  append(1);
  EXPECT_EQ(Sent(), sent + room);
  EXPECT_EQ(Padding(), padding + kFrameHeaderBytes) << "a full buffer is whole blocks";
  append(3 * room);
  EXPECT_EQ(Sent(), sent + 4 * room);
  Die();
  ASSERT_TRUE(Mount()) << "with other options";
  EXPECT_EQ(Get("1.log"), expected);
}

TEST_F(WalOptionsTest, ABufferCanBeLargerThanByDefault) {
  MountWith({{"wal", "auto"}, {"wal_buffer_kib", "512"}});
  Open("1.log");
  const std::string text = Text(200 << 10);  // less than half of it, so the drain does not send it either
  ASSERT_TRUE(IsOk(AppendAndFlush(text)));
  EXPECT_EQ(Sent(), 0U);
  Die();
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1.log"), text);
}

TEST_F(WalOptionsTest, AppendSendsEachFrameByZoneAppendAndWriteNone) {
  for (const char* way : {"append", "write"}) {
    MountWith({{"wal", way}, {"wal_depth", "3"}});
    Open("1.log");
    ASSERT_TRUE(IsOk(file_->Append(AsBytes("one"))));
    ASSERT_TRUE(IsOk(file_->Sync()));  // takes a zone
    const std::uint64_t appends = Appends();
    ASSERT_TRUE(IsOk(file_->Append(AsBytes("two"))));
    ASSERT_TRUE(IsOk(file_->Sync()));
    EXPECT_EQ(Appends() - appends, std::string_view(way) == "append" ? 1U : 0U) << way;
    file_.reset();
    ASSERT_TRUE(IsOk(volume_->Unlink("1.log")));
  }
}

class DeviceWithoutAppend final : public ForwardingDevice {
 public:
  explicit DeviceWithoutAppend(std::unique_ptr<ZonedDevice> device)
      : ForwardingDevice(std::move(device)), geometry_(inner().geometry()) {
    geometry_.max_append_bytes = 0;
  }
  const Geometry& geometry() const override { return geometry_; }

 private:
  Geometry geometry_;
};

TEST_F(WalOptionsTest, AppendIsRefusedInOneLineWhereTheDeviceHasNone) {
  volume_.reset();
  mounted_ = Fail(Code::kShutdown, "not mounted");
  MountOptions options;
  options.wal = WalSending::kAppend;
  const auto refused = Volume::Mount(std::make_unique<DeviceWithoutAppend>(Borrow(*device_)), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
  EXPECT_NE(refused.error().text().find("option wal:append"), std::string::npos) << refused.error().text();
  EXPECT_NE(refused.error().text().find("use wal:auto"), std::string::npos) << refused.error().text();
  options.wal = WalSending::kAuto;
  EXPECT_TRUE(IsOk(Volume::Mount(std::make_unique<DeviceWithoutAppend>(Borrow(*device_)), options)));
}

TEST_F(WalOptionsTest, TheDefaultBufferIsAPartOfAZone) {
  const MountOptions none;
  EXPECT_EQ(WalBufferBytes(none, 1 << 20), 256U << 10) << "the least";
  EXPECT_EQ(WalBufferBytes(none, 16 << 20), 1U << 20);
  EXPECT_EQ(WalBufferBytes(none, std::uint64_t{2} << 30), 2U << 20) << "the most";
  EXPECT_EQ(WalBufferBytes({.wal_buffer_bytes = 4096}, 16 << 20), 4096U);
}

TEST_F(WalOptionsTest, WrongValuesAreRefusedWithTheReason) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  for (const Pairs& pairs : {Pairs{{"wal", "sometimes"}}, Pairs{{"wal", ""}}, Pairs{{"wal_buffer_kib", "3"}},
                             Pairs{{"wal_buffer_kib", "8193"}}, Pairs{{"wal_buffer_kib", "big"}},
                             Pairs{{"wal_depth", "0"}}, Pairs{{"wal_depth", "65"}}}) {
    const auto options = ParseMountOptions(pairs);
    ASSERT_FALSE(options) << pairs.front().second;
    EXPECT_EQ(options.error().code(), Code::kInvalidArgument);
    EXPECT_NE(options.error().text().find(pairs.front().first), std::string::npos) << options.error().text();
  }
  EXPECT_EQ(ParseMountOptions({{"wal_buffer_kib", "5"}})->wal_buffer_bytes, 8U << 10) << "whole blocks";
}

}  // namespace
}  // namespace zenfs
