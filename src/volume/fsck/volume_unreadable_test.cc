// Check and scrub of a device that can't be read at all any more: a zonefs still reports its zones when the disk below it is
// gone. This is not damage of the volume, and is reported as one error.
#include <gmock/gmock.h>

#include "metalog/probe.h"
#include "volume/fsck/check_volume.h"
#include "volume/fsck/scrub.h"
#include "volume/volume_fault_test_rig.h"

namespace zenfs {
namespace {

constexpr FaultyDevice::Fault kNothingCanBeRead{.command = FaultyDevice::Command::kRead,
                                                .times = FaultyDevice::kForEver};

class UnreadableDeviceTest : public VolumeFaultTest {
 protected:
  UnreadableDeviceTest() {
    for (const char* name : {"1.sst", "2.sst", "3.sst"}) Put(name, std::string(300 << 10, name[0]));
    Put("1.log", "a log");
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    MakeFaultyDevice();
  }
  // For calls by check and scrub: the device disappears during them.
  std::function<void(std::uint64_t, std::uint64_t)> GoneInTheMiddle() {
    return [this](std::uint64_t done, std::uint64_t of) {
      if (done > of / 2) faulty_->Inject(kNothingCanBeRead);
    };
  }
  static void ExpectNotThere(const auto& looked) {
    ASSERT_FALSE(looked) << "a report of " << looked->findings.size() << " findings";
    EXPECT_EQ(looked.error().code(), Code::kIo);
    EXPECT_THAT(looked.error().text(), testing::HasSubstr("is the device still there?"));
  }
};

TEST_F(UnreadableDeviceTest, CheckEndsWithOneError) {
  faulty_->Inject(kNothingCanBeRead);
  ExpectNotThere(CheckVolume(*faulty_, {}));
}

TEST_F(UnreadableDeviceTest, ScrubEndsWithOneError) {
  faulty_->Inject(kNothingCanBeRead);
  ExpectNotThere(ScrubVolume(*faulty_, {}));
}

TEST_F(UnreadableDeviceTest, CheckThatIsReadingDataEndsWithOneError) {
  ExpectNotThere(CheckVolume(*faulty_, {.read_data = true, .progress = GoneInTheMiddle()}));
}

TEST_F(UnreadableDeviceTest, ScrubThatIsReadingDataEndsWithOneError) {
  ExpectNotThere(ScrubVolume(*faulty_, {.progress = GoneInTheMiddle()}));
}

TEST_F(UnreadableDeviceTest, EveryCopyOfTheSuperblockUnreadableIsDamageAsLongAsOtherZonesCanBeRead) {
  const auto superblock = ProbeSuperblock(*device_);
  ASSERT_TRUE(IsOk(superblock));
  for (const ZoneId zone : superblock->metadata_zones) {
    faulty_->Inject({.command = Command::kRead, .times = kForEver, .zone = zone});
  }
  const auto report = CheckVolume(*faulty_, {});
  ASSERT_TRUE(IsOk(report));
  EXPECT_FALSE(report->clean());
}

TEST_F(UnreadableDeviceTest, AReadThatFailsOnceIsNoDamage) {
  for (const std::uint64_t kth : {1, 2, 3, 5, 8, 13}) {
    faulty_->ClearFaults();
    faulty_->Inject({.command = Command::kRead, .kth = kth});
    const auto scrubbed = ScrubVolume(*faulty_, {});
    ASSERT_TRUE(IsOk(scrubbed)) << kth;
    EXPECT_TRUE(scrubbed->clean()) << kth << ": " << scrubbed->findings.front().text;
    faulty_->ClearFaults();
    faulty_->Inject({.command = Command::kRead, .kth = kth});
    const auto checked = CheckVolume(*faulty_, {.read_data = true, .progress = {}});
    ASSERT_TRUE(IsOk(checked)) << kth;
    EXPECT_TRUE(checked->clean()) << kth << ": " << checked->findings.front().text;
  }
}

}  // namespace
}  // namespace zenfs
