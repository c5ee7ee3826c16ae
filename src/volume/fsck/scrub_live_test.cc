// Scrubs of a volume that is written during the scrub.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "testing/bit_rot.h"
#include "testing/switched_points.h"
#include "volume/fsck/scrub.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

class ScrubLiveTest : protected SwitchedPoints, public VolumeTest {
 protected:
  // Deletes all files and rewrites the zones, so that no extent is where the scrub expects it.
  void ReplaceAll(int round) {
    for (const std::string& name : Names("")) ASSERT_TRUE(IsOk(volume_->Unlink(name)));
    for (int i = 0; i < 40; ++i) {
      Put("filler.sst", std::string(700'000, 'f'));
      Put("filler.log", std::string(300'000, 'g'));
    }
    for (int i = 0; i < 5; ++i) {
      Put(std::to_string(round * 10 + i) + ".sst", std::string(900'000, 'a'));
      Put(std::to_string(round * 10 + i) + ".log", std::string(100'000, 'b'));
    }
    Remount();
  }
  Result<ScrubReport> ScrubWhile(ZonedDevice& device, std::string_view point, int times) {
    int round = 0;
    const During during(*this, [&](std::string_view name) {
      if (name == point && round < times) ReplaceAll(++round);
    });
    return ScrubVolume(device, {});
  }
};

TEST_F(ScrubLiveTest, WhatIsReplacedWhileTheLogsAreReadIsNotDamage) {
  ReplaceAll(0);
  const auto report = ScrubWhile(*device_, "ScrubVolume:reported", 2);
  ASSERT_TRUE(IsOk(report));
  EXPECT_TRUE(report->clean()) << report->findings.front().text;
}

TEST_F(ScrubLiveTest, WhatIsReplacedWhileFilesAreReadIsNotDamage) {
  ReplaceAll(0);
  const auto report = ScrubWhile(*device_, "FileScrub:read", 3);
  ASSERT_TRUE(IsOk(report));
  EXPECT_TRUE(report->clean()) << report->findings.front().text;
}

TEST_F(ScrubLiveTest, DamageIsFoundBesideAWriterThatCommitsAllTheTime) {
  Put("sound.sst", std::string(100'000, 'a'));
  Put("damaged.sst", std::string(100'000, 'a'));
  BitRot rot(*device_);
  rot.Flip(volume_->Layout("damaged.sst")->extents.front().place + 5000);
  int round = 0;
  const During during(*this, [&](std::string_view name) {
    if (name != "ScrubVolume:reported" && name != "FileScrub:read") return;
    Put(fmt::format("{}.sst", round % 3), std::string(10'000, 'n'));
    Put(fmt::format("{}.log", round++ % 3), std::string(10'000, 'n'));
  });
  const auto report = ScrubVolume(rot, {});
  ASSERT_TRUE(IsOk(report));
  ASSERT_EQ(report->findings.size(), 1u);
  EXPECT_EQ(report->findings.front().paths, std::vector<std::string>{"/damaged.sst"});
}

}  // namespace
}  // namespace zenfs
