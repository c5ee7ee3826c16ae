// Reclaim on a device that copies by itself: it does the writing, and no copy is believed that was not read back.
#include <fmt/format.h>

#include <map>

#include "testing/bit_rot.h"
#include "testing/empty_zone.h"
#include "testing/faulty_device.h"
#include "testing/random_bytes.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

using enum FaultyDevice::Command;

constexpr std::uint64_t kCopyBytes = 64 << 10;

EmulatorGeometry CopyingGeometry() {
  EmulatorGeometry geometry = SmallGeometry();
  geometry.max_copy_bytes = kCopyBytes;
  return geometry;
}

// Copies the block behind the one that it should.
class LyingDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  Status Copy(DeviceOffset from, DeviceOffset to, std::uint64_t length) override {
    return inner().Copy(from + geometry().block_size, to, length);
  }
};

class DeviceCopy : public testing::Test {
 protected:
  static constexpr int kFiles = 4;
  explicit DeviceCopy(const EmulatorGeometry& geometry = CopyingGeometry(), std::size_t bytes = 250'001)
      : content_(RandomBytes(bytes, 3)), device_(CreateMemoryDevice(geometry)) {
    EXPECT_TRUE(IsOk(FormatVolume(device_, {})));
  }
  ~DeviceCopy() override {
    device_.ClearFaults();
    ExpectAllThere();
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    ExpectSound(device_);
  }
  void Mount(const MountOptions& options = {}) { Mount(device_, options); }
  void Mount(ZonedDevice& device, const MountOptions& options = {}) {
    volume_ = *Volume::Mount(Borrow(device), options);
  }
  void Remount(ZonedDevice& device) {
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    Mount(device);
  }
  // Files, of which the first three fill a zone; the third or fourth one is also in the next zone.
  void WriteFiles() {
    for (int i = 0; i < kFiles; ++i) {
      auto file = volume_->Create(fmt::format("{}.sst", i), Lifetime::kMedium);
      ASSERT_TRUE(IsOk(file));
      ASSERT_TRUE(IsOk((*file)->Append(AsBytes(content_))));
      ASSERT_TRUE(IsOk((*file)->Sync()));
    }
    zone_ = ZoneOf(0);
    ASSERT_EQ(ZoneOf(2), zone_);
    WaitForCommits(*volume_, 1 + kFiles + 1);  // so that a fault hits only the move
    for (const FaultyDevice::Command kind : {kRead, kWrite, kCopy}) before_[kind] = device_.count(kind);
  }
  ZoneId ZoneOf(int file) {
    return device_.geometry().ZoneOf(volume_->Layout(fmt::format("{}.sst", file))->extents.front().place);
  }
  void ExpectAllThere() {
    for (int i = 0; i < kFiles; ++i) {
      const Result<std::string> content = GetFile(*volume_, fmt::format("{}.sst", i));
      ASSERT_TRUE(IsOk(content));
      EXPECT_TRUE(*content == content_) << i;
    }
  }
  // Commands since WriteFiles.
  std::uint64_t Sent(FaultyDevice::Command kind) { return device_.count(kind) - before_[kind]; }

  const std::string content_;
  FaultyDevice device_;
  BitRot rot_{device_};
  LyingDevice lying_{rot_};
  std::shared_ptr<Volume> volume_;
  ZoneId zone_;
  std::map<FaultyDevice::Command, std::uint64_t> before_;
};

TEST_F(DeviceCopy, TheDeviceMovesFilesAndTheHostReadsOnlyTheCopies) {
  Mount();
  WriteFiles();
  ASSERT_TRUE(IsOk(EmptyZone(*volume_, zone_)));
  EXPECT_NE(ZoneOf(0), zone_);
  EXPECT_NE(ZoneOf(1), zone_);
  // The end of a zone divides one of the copies.
  EXPECT_EQ(Sent(kCopy), 3u * 4 + 1 + 1);
  EXPECT_EQ(Sent(kRead), 3u + 1 + 1);
  for (int i = 0; i < kFiles; ++i) {
    const auto layout = volume_->Layout(fmt::format("{}.sst", i));
    ASSERT_TRUE(IsOk(layout));
    for (const Extent& extent : layout->extents) EXPECT_TRUE(extent.crc);
  }
}

TEST_F(DeviceCopy, AMountMayLeaveItToTheHost) {
  Mount({.device_copy = false});
  WriteFiles();
  ASSERT_TRUE(IsOk(EmptyZone(*volume_, zone_)));
  EXPECT_NE(ZoneOf(0), zone_);
  EXPECT_EQ(Sent(kCopy), 0u);
}

// A drive may announce copies and refuse them. Its zones are all right.
TEST_F(DeviceCopy, AfterARefusedCopyTheHostCopiesAndNoZoneIsRetired) {
  Mount();
  WriteFiles();
  device_.Inject({.command = kCopy, .kth = 2, .times = FaultyDevice::kForEver});
  ASSERT_TRUE(IsOk(EmptyZone(*volume_, zone_)));
  EXPECT_NE(ZoneOf(0), zone_);
  EXPECT_NE(ZoneOf(1), zone_);
  EXPECT_EQ(Sent(kCopy), 2u);  // it is not asked again
  EXPECT_EQ(volume_->notices().size(), 0u);
  for (const ZoneStatus& zone : volume_->Zones()) EXPECT_NE(zone.phase, ZonePhase::kRetired) << zone.id.value;
}

TEST_F(DeviceCopy, ACopyThatIsExecutedAndReportedAsFailedIsRepeatedElsewhere) {
  Mount();
  WriteFiles();
  device_.Inject({.command = kCopy, .kth = 2, .when = FaultyDevice::When::kAfter});
  ASSERT_TRUE(IsOk(EmptyZone(*volume_, zone_)));
  EXPECT_NE(ZoneOf(0), zone_);
  EXPECT_NE(ZoneOf(1), zone_);
}

// D9 of docs/internals/failures.md.
TEST_F(DeviceCopy, WrongCopiesAreNotUsed) {
  Mount(lying_);
  WriteFiles();
  ASSERT_TRUE(IsOk(EmptyZone(*volume_, zone_)));
  EXPECT_NE(ZoneOf(0), zone_);
  EXPECT_GT(Sent(kCopy), 0u);
  EXPECT_LE(Sent(kCopy), (content_.size() + kCopyBytes - 1) / kCopyBytes);  // those of the first file
  ExpectAllThere();
  Remount(device_);
}

TEST_F(DeviceCopy, AnUnreadableSourceStaysWhatItIs) {
  Mount();
  WriteFiles();
  device_.Inject({.command = kCopy, .times = FaultyDevice::kForEver});
  device_.Inject({.command = kRead, .times = 100, .zone = zone_});
  EXPECT_FALSE(EmptyZone(*volume_, zone_).ok());
  EXPECT_EQ(ZoneOf(0), zone_);
}

TEST_F(DeviceCopy, ADamagedSourceStaysWhereItIs) {
  Mount();
  WriteFiles();
  rot_.Flip(volume_->Layout("0.sst")->extents.front().place + 4711);
  Remount(lying_);  // the copies are as wrong as their source
  EXPECT_EQ(CodeOf(EmptyZone(*volume_, zone_)), Code::kCorruption);
  EXPECT_EQ(ZoneOf(0), zone_);
  EXPECT_NE(ZoneOf(1), zone_);
  Remount(device_);
}

class DeviceCopyOfLongExtents : public DeviceCopy {
 protected:
  DeviceCopyOfLongExtents()
      : DeviceCopy({.zones = 24, .zone_size = 4 << 20, .max_copy_bytes = kCopyBytes}, 1'800'000) {}
};

// The checksum of an extent is that of all of it, so it is read once before its pieces of 1 MiB are committed.
TEST_F(DeviceCopyOfLongExtents, AreReadBeforeAndTheirCopiesAfter) {
  Mount();
  WriteFiles();
  ASSERT_TRUE(IsOk(EmptyZone(*volume_, zone_)));
  EXPECT_NE(ZoneOf(0), zone_);
  // Of the third file only the front is there, less than a MiB. The end of a zone divides one of the copies.
  EXPECT_EQ(Sent(kRead), 2u * (2 + 2) + 1 + 1);
  EXPECT_EQ(Sent(kCopy), 2u * (16 + 12) + 9);
}

}  // namespace
}  // namespace zenfs
