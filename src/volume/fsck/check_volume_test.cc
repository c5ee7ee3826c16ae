#include "volume/fsck/check_volume.h"

#include <gmock/gmock.h>

#include "testing/bit_rot.h"
#include "testing/direct_commit.h"
#include "volume/fsck/live_volume_test_rig.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

// Checks of a volume that is written during the check.
class CheckLiveTest : public LiveVolumeTest {
 protected:
  Result<CheckReport> CheckWhile(int times) {
    return ReplaceWhile("CheckVolume:reported", times,
                        [&] { return CheckVolume(*device_, {.read_data = true, .progress = {}}); });
  }
};

TEST_F(CheckLiveTest, WhatChangesDuringACheckIsCheckedAgain) {
  ReplaceAll(0);
  const auto report = CheckWhile(2);
  ASSERT_TRUE(IsOk(report));
  EXPECT_TRUE(report->clean()) << report->findings.front().text;
  EXPECT_EQ(report->files, 12u);
}

TEST_F(CheckLiveTest, AVolumeThatIsNeverStillIsRefusedInOneLine) {
  ReplaceAll(0);
  const auto report = CheckWhile(1000);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), Code::kBusy);
  EXPECT_THAT(report.error().text(), HasSubstr("the volume is being written"));
}

TEST_F(CheckLiveTest, ACleanLookAtAVolumeThatIsWrittenSaysSo) {
  Put("a.sst", "x");
  const During during(*this, [&](std::string_view name) {
    if (name == "CheckVolume:reported") Put("b.sst", "y");
  });
  const auto report = CheckVolume(*device_, {});
  ASSERT_TRUE(IsOk(report));
  EXPECT_TRUE(report->clean());
  EXPECT_THAT(report->findings.back().text, HasSubstr("written during the check"));
}

using CheckPathsTest = VolumeTest;

TEST_F(CheckPathsTest, PathsBeyondTheLimitAreOneWarning) {
  const std::string name(99, 'd');
  AddDeepTree(50, name);  // 40 directories are within the limit
  const auto report = CheckVolume(*device_, {});
  ASSERT_TRUE(IsOk(report));
  EXPECT_TRUE(report->clean());
  std::vector<std::string> warnings;
  for (const Finding& finding : report->findings) {
    if (finding.severity == Severity::kWarning) warnings.push_back(finding.text);
  }
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings.front(),
              HasSubstr("11 names have a path of more than 4095 bytes, the longest has 5004: /" +
                        name.substr(0, 59) + "...; list"));
  ASSERT_TRUE(IsOk(volume_->RemoveTree(name)));
  const auto after = CheckVolume(*device_, {});
  ASSERT_TRUE(IsOk(after));
  for (const Finding& finding : after->findings) {
    EXPECT_NE(finding.severity, Severity::kWarning) << finding.text;
  }
}

using CheckDataTest = VolumeTest;

TEST_F(CheckDataTest, BytesThatDoNotMatchTheirChecksumAreFoundIfDataIsRead) {
  Put("table.sst", std::string(10'000, 't'));
  Put("other.sst", std::string(10'000, 'o'));
  const DeviceOffset place = volume_->Layout("table.sst")->extents.front().place;
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  BitRot rot(*device_);
  rot.Flip(place + 9'999);
  const auto report = CheckVolume(rot, {.read_data = true, .progress = {}});
  ASSERT_TRUE(IsOk(report));
  const Finding* const error = FirstError(report->findings);
  ASSERT_NE(error, nullptr);
  EXPECT_THAT(error->text,
              HasSubstr("/table.sst): bytes 0 to 10000 do not match their checksum; they are in zone"));
  EXPECT_EQ(std::ranges::count(report->findings, Severity::kError, &Finding::severity), 1);
  rot.Heal();
  rot.Flip(place + 10'000);  // padding
  EXPECT_TRUE(CheckVolume(rot, {.read_data = true, .progress = {}})->clean());
}

// If each damaged extent were compared with all extents of its file, this would take minutes.
TEST(CheckManyTest, ADamagedExtentCostsNoLookAtAllExtentsOfItsFile) {
  constexpr std::uint64_t kExtents = 200'000;
  const auto device = CreateMemoryDevice({.zones = 24, .zone_size = 16 << 20});
  ASSERT_TRUE(IsOk(FormatVolume(*device, {})));
  const DeviceOffset place = device->geometry().ZoneStart(ZoneId(20));
  ASSERT_TRUE(IsOk(device->Finish(ZoneId(20))));  // full of zeros
  ASSERT_TRUE(IsOk(CommitDirectly(*device, [&](const State& state) {
    const FileId id(state.next_id());
    std::vector<Extent> extents;
    for (std::uint64_t i = 0; i < kExtents; ++i)
      extents.push_back({.file_offset = i, .place = place, .length = 1, .crc = 5});
    return std::vector<Edit>{RaiseCounters{id.value + 1, 0}, CreateFile{.id = id},
                             LinkFile{kRootDirectory, "a", id},
                             SetExtents{.id = id, .extents = std::move(extents), .size = kExtents}};
  })));
  std::uint64_t done = 0;
  const auto report = CheckVolume(
      *device, {.read_data = true, .progress = [&](std::uint64_t bytes, std::uint64_t) { done = bytes; }});
  ASSERT_TRUE(IsOk(report));
  EXPECT_EQ(done, kExtents);
  const std::uint64_t errors = Findings::kKeptAtMost + report->findings.omitted(Severity::kError);
  EXPECT_EQ(errors, kExtents + (kExtents - 1)) << "each does not match its checksum, and overlaps another";
}

using CheckZonesTest = VolumeTest;

TEST_F(CheckZonesTest, NoResetIsPromisedForAReadOnlyZone) {
  ASSERT_TRUE(IsOk(volume_->Unmount()));  // so that no commit of the log's thread adds a note to the check
  const ZoneId zone(30);
  const AlignedBuffer block = [] {
    AlignedBuffer buffer(4096);
    buffer.Resize(buffer.capacity());
    return buffer;
  }();
  ASSERT_TRUE(IsOk(device_->Write(device_->geometry().ZoneStart(zone), block.View())));
  ASSERT_TRUE(IsOk(device_->SetCondition(zone, ZoneCondition::kReadOnly)));
  const auto report = CheckVolume(*device_, {});
  ASSERT_TRUE(IsOk(report));
  ASSERT_EQ(report->findings.size(), 1u);
  EXPECT_EQ(report->findings.front().text,
            "zone 30 is read-only and holds no data of a file; its space is lost");
}

}  // namespace
}  // namespace zenfs
