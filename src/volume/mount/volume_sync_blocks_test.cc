// Small syncs on a device with random write areas: what a mount finds after a crash, and readers beside a writer.
#include <gmock/gmock.h>

#include "base/sync_point.h"
#include "device/forwarding_device.h"
#include "device/read_only_view.h"
#include "metrics/metrics_snapshot.h"
#include "volume/mount/volume_flush_test_rig.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

// The device as another way to it shows it: dev: without commands reports no random write area, zonefs does not read behind a
// write pointer either.
class HidingDevice final : public ForwardingDevice {
 public:
  HidingDevice(ZonedDevice& device, bool hides_unwritten)
      : ForwardingDevice(device), geometry_(device.geometry()) {
    geometry_.random_area_bytes = geometry_.random_area_unit = geometry_.random_area_zones = 0;
    geometry_.hides_unwritten = hides_unwritten;
  }
  const Geometry& geometry() const override { return geometry_; }
  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override {
    auto report = ForwardingDevice::Report(first, count);
    if (report) std::ranges::for_each(*report, [](ZoneInfo& zone) { zone.random_area = false; });
    return report;
  }

 private:
  Geometry geometry_;
};

class SyncBlocksTest : public VolumeFlushTest {
 protected:
  void SetUp() override { MakeVolume(14); }
  void MakeVolume(std::uint32_t max_active) {
    std::filesystem::create_directory(directory_);
    EmulatorGeometry geometry = FlushGeometry();
    geometry.max_active = geometry.max_open = max_active;
    geometry.random_area = 64 << 10;
    geometry.random_unit = 16 << 10;
    geometry.random_zones = 2;
    Use(std::make_unique<CrashDevice>(geometry));
    ASSERT_TRUE(IsOk(FormatVolume(*device_, {})));
    ASSERT_TRUE(Mount());
  }
  // Appends and syncs `count` records to the open file.
  void Sync(int count, std::size_t bytes = 100) {
    for (int i = 0; i < count; ++i) {
      const std::string record = Text(bytes, static_cast<unsigned>(content_.size()));
      ASSERT_TRUE(IsOk(file_->Append(AsBytes(record))));
      content_ += record;
      ASSERT_TRUE(IsOk(file_->Sync()));
    }
  }
  std::uint64_t SyncBlocksWritten() const {
    return (*DecodeMetrics(volume_->counters().metrics_page))[Value::kWalSyncBlocks];
  }
  // The first notice that is not about the append buffers, which are gone with the power.
  std::string Damage() {
    for (const std::string& notice : volume_->notices()) {
      if (!notice.starts_with("the last mount did not end cleanly and its append buffers")) return notice;
    }
    return "";
  }
  std::size_t ZonesWithAnArea() {
    const auto report = ReportAll(*device_);
    return static_cast<std::size_t>(std::ranges::count_if(*report, &ZoneInfo::random_area));
  }

  std::string content_;
};

TEST_F(SyncBlocksTest, SyncedRecordsSurviveAPowerLossInTheirBlock) {
  Open("1.log");
  Sync(10);
  EXPECT_GE(SyncBlocksWritten(), 10U);
  EXPECT_EQ(volume_->counters().written.log_padding, 0U) << "nothing went to a log zone";
  LosePower(LossPolicy::LoseAll());
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Damage(), "");
  EXPECT_EQ(Get("1.log"), content_);
  EXPECT_EQ(ZonesWithAnArea(), 0U) << "the sync zone of the dead mount was reset";
  Open("1.log");
  Sync(50);
  LosePower(LossPolicy::LoseAll());
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1.log"), content_);
}

// The sync zone is only taken while the headroom is whole. So the next mount finds a zone for the frames of its blocks.
TEST_F(SyncBlocksTest, AFullVolumeMountsAfterEachPowerLoss) {
  space_wait_ = std::chrono::seconds(1);
  LosePower(LossPolicy::KeepAll());
  ASSERT_TRUE(Mount());
  std::string expected[4];
  for (int round = 0; round < 12; ++round) {
    std::vector<std::unique_ptr<FileHandle>> logs;
    const auto append = [&] {
      for (std::size_t i = 0; i < 4; ++i) {
        const std::string record = Text(100, static_cast<unsigned>(expected[i].size() + i));
        if (logs[i]->Append(AsBytes(record)).ok() && logs[i]->Sync().ok()) expected[i] += record;
      }
    };
    for (int i = 0; i < 4; ++i) {
      Open(std::to_string(i) + ".log");
      logs.push_back(std::move(file_));
    }
    append();
    for (const std::string name : {"filler.sst", "filler.log"}) {
      Open(name);
      const std::string block(64 << 10, 'f');
      while (file_->Append(AsBytes(block)).ok() && file_->Sync().ok()) {
      }
      file_.reset();
    }
    append();
    device_->StopAfter(Commands());
    logs.clear();
    LosePower(LossPolicy::LoseAll());
    ASSERT_TRUE(Mount()) << "round " << round;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_TRUE(Get(std::to_string(i) + ".log").starts_with(expected[i]))
          << "round " << round << ", log " << i;
    }
    for (std::size_t i = 0; i < 4; ++i) expected[i] = Get(std::to_string(i) + ".log");
  }
  EXPECT_FALSE(expected[0].empty());
}

// A device may make any zone full at any time. Then the frames are ordinary ones, below the write pointer.
TEST_F(SyncBlocksTest, RecordsAreThereAfterTheDeviceMadeTheirZoneFull) {
  Open("1.log");
  Sync(10);
  LosePower(LossPolicy::LoseAll());
  const auto report = ReportAll(*device_);
  const auto zone = std::ranges::find_if(*report, &ZoneInfo::random_area);
  ASSERT_NE(zone, report->end());
  ASSERT_TRUE(IsOk(device_->Finish(zone->id)));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Mount());
    EXPECT_EQ(Get("1.log"), content_);
    EXPECT_EQ(Damage(), "");
    LosePower(LossPolicy::LoseAll());
  }
}

TEST_F(SyncBlocksTest, ADeviceThatTellsNoAreasHasAllSyncedRecords) {
  Open("1.log");
  Sync(10);
  LosePower(LossPolicy::LoseAll());
  HidingDevice hiding(*device_, /*hides_unwritten=*/false);
  {
    const auto reader = Volume::Mount(MakeReadOnlyView(hiding), {.read_only = true});
    ASSERT_TRUE(IsOk(reader));
    EXPECT_EQ(*GetFile(**reader, "1.log"), content_);
  }
  {
    const auto mounted = Volume::Mount(Borrow(hiding), Options());
    ASSERT_TRUE(IsOk(mounted));
    EXPECT_EQ(*GetFile(**mounted, "1.log"), content_);
  }
  EXPECT_EQ(ZonesWithAnArea(), 0U) << "or the kernel's writes would go there";
}

TEST_F(SyncBlocksTest, ADeviceThatCannotReadSyncBlocksIsRefused) {
  Open("1.log");
  Sync(10);
  LosePower(LossPolicy::LoseAll());
  HidingDevice hiding(*device_, /*hides_unwritten=*/true);
  const auto refused = Volume::Mount(Borrow(hiding), Options());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kNotSupported);
  EXPECT_THAT(refused.error().ToString(), HasSubstr("mount the volume once by nvme: or dev:"));
  EXPECT_FALSE(Volume::Mount(MakeReadOnlyView(hiding), {.read_only = true}));
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1.log"), content_);
}

TEST_F(SyncBlocksTest, NothingIsLostByAMountThatIsCutOffAtAnyCommand) {
  Open("1.log");
  Sync(45);  // a full block in the log, and a block that is not full
  LosePower(LossPolicy::LoseAll());
  const std::unique_ptr<CrashDevice> found = device_->Image(LossPolicy::KeepAll());
  for (std::uint64_t cut = 0;; ++cut) {
    Use(found->Image(LossPolicy::KeepAll()));
    device_->StopAfter(cut);
    const bool mounted = Volume::Mount(Borrow(*device_), Options()).has_value();
    for (const LossPolicy loss :
         {LossPolicy::KeepAll(), LossPolicy::LoseAll(), LossPolicy::Random(cut + 1)}) {
      Use(device_->Image(loss));
      ASSERT_TRUE(Mount()) << "cut at command " << cut;
      ASSERT_EQ(Get("1.log"), content_) << "cut at command " << cut;
      ASSERT_EQ(Damage(), "");
      End();
    }
    if (mounted) break;
    ASSERT_LT(cut, 200U);
  }
}

TEST_F(SyncBlocksTest, ACleanUnmountLeavesNothingInABlock) {
  Open("1.log");
  Sync(10);
  file_.reset();
  volume_.reset();
  mounted_ = Fail(Code::kShutdown, "unmounted");
  ExpectSound();
  EXPECT_EQ(ZonesWithAnArea(), 0U);
  HidingDevice hiding(*device_, /*hides_unwritten=*/true);
  EXPECT_TRUE(IsOk(Volume::Mount(Borrow(hiding), {.read_only = true}))) << "no zone is marked any more";
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1.log"), content_);
  EXPECT_EQ(ZonesWithAnArea(), 0U);
  ExpectSound();
}

TEST_F(SyncBlocksTest, AReaderBesideTheWriterSeesEachSync) {
  Open("1.log");
  const auto reader = Volume::Mount(MakeReadOnlyView(*device_), {.read_only = true});
  ASSERT_TRUE(IsOk(reader));
  for (int i = 0; i < 50; ++i) {
    Sync(1);
    EXPECT_EQ(*GetFile(**reader, "1.log"), content_) << i;
  }
}

TEST_F(SyncBlocksTest, AReaderNeverTakesABlockThatWasReplaced) {
  Open("1.log");
  Sync(3);
  const auto reader = Volume::Mount(MakeReadOnlyView(*device_), {.read_only = true});
  ASSERT_TRUE(IsOk(reader));
  const std::string before = content_;
  bool done = false;
  const SyncPoint::Scope scope([&](std::string_view name) {
    // The block that the reader has looked up gets another frame: two full blocks later.
    if (name == "ReaderHandle::Read:planned" && !std::exchange(done, true)) Sync(90);
  });
  const auto file = (*reader)->OpenForRead("1.log");
  ASSERT_TRUE(IsOk(file));
  std::string read(before.size(), '\0');
  const auto got = (*file)->Read(0, std::as_writable_bytes(std::span(read)));
  ASSERT_TRUE(IsOk(got));
  EXPECT_TRUE(done);
  EXPECT_EQ(*got, before.size());
  EXPECT_EQ(read, before);
}

TEST_F(SyncBlocksTest, WithTheOptionOffEachSyncTakesABlock) {
  file_.reset();
  volume_.reset();
  mounted_ = Fail(Code::kShutdown, "unmounted");
  MountOptions options = *ParseMountOptions({{"sync_blocks", "0"}});
  options.flush_directory = directory_;
  mounted_ = Volume::Mount(Borrow(*device_), options);
  ASSERT_TRUE(IsOk(mounted_));
  volume_ = *mounted_;
  Open("1.log");
  Sync(10);
  EXPECT_EQ(SyncBlocksWritten(), 0U);
  EXPECT_EQ(volume_->counters().written.log_data, 1000U);
}

TEST_F(SyncBlocksTest, WithFewActiveZonesThereIsNone) {
  file_.reset();
  volume_.reset();
  mounted_ = Fail(Code::kShutdown, "unmounted");
  MakeVolume(6);
  Open("1.log");
  Sync(10);
  EXPECT_EQ(SyncBlocksWritten(), 0U);
}

TEST_F(SyncBlocksTest, ADeletedLogGivesItsBlocksToTheNext) {
  for (int i = 0; i < 20; ++i) {  // the area has room for 8
    const std::string path = std::to_string(i) + ".log";
    content_.clear();
    Open(path);
    Sync(4);
    EXPECT_EQ(Get(path), content_);
    file_.reset();
    ASSERT_TRUE(IsOk(volume_->Unlink(path)));
  }
  EXPECT_EQ(SyncBlocksWritten(), 80U);
}

}  // namespace
}  // namespace zenfs
