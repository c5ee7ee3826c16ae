// Files over several zones (zone/spread.h) in a volume.
#include <set>

#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

class VolumeSpreadTest : public VolumeTest {
 protected:
  VolumeSpreadTest() : VolumeTest({.zones = 64, .zone_size = 1 << 20, .max_open = 32, .max_active = 32}) {
    MountSpread("4");
  }
  void MountSpread(const std::string& zones) {
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    Mount(*ParseMountOptions({{"spread", zones}}));
  }
  // Log zones that are written and not full.
  std::size_t LogZonesInUse() const {
    std::size_t zones = 0;
    for (const ZoneStatus& zone : volume_->Zones()) {
      if (zone.phase != ZonePhase::kLog) continue;
      const std::uint64_t written = device_->ReportZone(zone.id)->WrittenBytes();
      zones += written != 0 && written < zone.capacity ? 1 : 0;
    }
    return zones;
  }
  static std::string Content(std::size_t bytes, char first) {
    std::string content(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i) content[i] = static_cast<char>(first + i / 4096 % 50);
    return content;
  }
  std::set<std::uint32_t> ZonesOf(const std::string& path) {
    std::set<std::uint32_t> zones;
    for (const Extent& extent : volume_->Layout(path)->extents)
      zones.insert(device_->geometry().ZoneOf(extent.place).value);
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

TEST_F(VolumeSpreadTest, LogsAreWrittenToSeveralZonesAndReadAfterAMount) {
  MountSpread("8");
  std::string content;
  for (int mounts = 0; mounts < 3; ++mounts) {
    auto log = *volume_->OpenForAppend("1.log", true);
    for (int i = 0; i < 20; ++i) {
      const std::string record =
          Content(static_cast<std::size_t>(1 + i * 7919 % 60'000), static_cast<char>('a' + i));
      ASSERT_TRUE(IsOk(log->Append(AsBytes(record))));
      ASSERT_TRUE(IsOk(i % 3 == 0 ? log->Sync() : log->Flush()));
      content += record;
    }
    ASSERT_TRUE(IsOk(log->Close()));
    log.reset();
    EXPECT_EQ(LogZonesInUse(), 4U);
    MountSpread("8");
    EXPECT_EQ(Get("1.log"), content);
  }
}

// The dead frames in zones that the log would write on are garbage like any other.
TEST_F(VolumeSpreadTest, DataGetsTheRoomOfDeadLogs) {
  const auto filled = [&](const std::string& spread) {
    MountSpread(spread);
    auto log = *volume_->Create("1.log");
    for (int i = 0; i < 24; ++i) {
      EXPECT_TRUE(IsOk(log->Append(AsBytes(Content(50'000, 'a')))));
      EXPECT_TRUE(IsOk(log->Sync()));
    }
    log.reset();
    EXPECT_EQ(LogZonesInUse(), spread == "1" ? 1U : 4U);
    EXPECT_TRUE(IsOk(volume_->Unlink("1.log")));
    int files = 0;
    while (PutFile(*volume_, std::to_string(files) + ".sst", Content(100'000, 'a')).ok()) ++files;
    for (int i = 0; i <= files; ++i) IgnoreError(volume_->Unlink(std::to_string(i) + ".sst"));
    return files;
  };
  const int plain = filled("1");
  const int spread = filled("8");
  EXPECT_GE(spread, plain - 10) << "100 KB each: a zone of a MiB more than without";
}

TEST_F(VolumeSpreadTest, TheOptionIsBounded) {
  EXPECT_EQ(ParseMountOptions({{"spread", "64"}})->spread, 64U);
  EXPECT_EQ(CodeOf(ParseMountOptions({{"spread", "0"}})), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(ParseMountOptions({{"spread", "65"}})), Code::kInvalidArgument);
}

}  // namespace
}  // namespace zenfs
