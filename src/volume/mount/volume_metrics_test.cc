// The metrics of a volume.
#include <filesystem>
#include <fstream>

#include "metrics/metrics_snapshot.h"
#include "volume/mount/volume_parts.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

class VolumeMetricsTest : public VolumeTest {
 protected:
  MetricsSnapshot Now() {
    const auto snapshot = DecodeMetrics(volume_->counters().metrics_page);
    EXPECT_TRUE(IsOk(snapshot));
    return *snapshot;
  }
  std::unique_ptr<FileHandle> Created(const std::string& path) {
    auto file = volume_->Create(path);
    EXPECT_TRUE(IsOk(file));
    return *std::move(file);
  }
};

TEST_F(VolumeMetricsTest, FramedAndPlainFilesAreToldApart) {
  const MetricsSnapshot before = Now();
  Put("a.sst", std::string(5000, 'a'));
  const auto log = Created("1.log");
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(IsOk(log->Append(AsBytes(std::string(116, 'w')))));
    ASSERT_TRUE(IsOk(log->Flush()));
  }
  ASSERT_TRUE(IsOk(log->Sync()));
  const MetricsSnapshot done = Difference(Now(), before);
  EXPECT_EQ(done[Operation::kWalWrite].count, 200u);
  EXPECT_EQ(done[Operation::kWalWrite].bytes, 200u * 116);
  EXPECT_EQ(done[Operation::kWalFlush].count, 200u);
  EXPECT_GE(done[Operation::kWalFlush].latency.count, 3u);
  EXPECT_LE(done[Operation::kWalFlush].latency.count, 5u) << "sampled";
  EXPECT_EQ(done[Operation::kWalSync].latency.count, 1u);
  EXPECT_EQ(done[Operation::kNonWalWrite].count, 1u);
  EXPECT_EQ(done[Operation::kNonWalWrite].bytes, 5000u);
  EXPECT_EQ(done[Operation::kNonWalSync].count, 1u);
  EXPECT_EQ(done[Operation::kCreate].count, 2u);
  EXPECT_EQ(done[Operation::kClose].count, 1u);
  EXPECT_GE(done[Operation::kMetaSync].count, 2u);
  EXPECT_EQ(Now()[Value::kOpenFiles], 1u);
}

TEST_F(VolumeMetricsTest, BytesAreToldByCause) {
  Put("a.sst", std::string(5000, 'a'));
  Put("2.log", std::string(300, 'w'));
  const MetricsSnapshot now = Now();
  const WriteCounters counters = volume_->counters().written;
  EXPECT_EQ(now[Value::kDataBytes], 8192u);
  EXPECT_EQ(now[Value::kDataPaddingBytes], 8192u - 5000);
  EXPECT_EQ(now[Value::kWalBytes], 300u);
  EXPECT_EQ(now[Value::kDataBytes], counters.plain_data);
  EXPECT_EQ(now[Value::kWalBytes], counters.log_data);
  EXPECT_EQ(now[Value::kWalPaddingBytes], counters.log_padding);
  EXPECT_GT(now[Value::kMetadataBytes], 0u);
  const OperationFigures& writes = now[Operation::kZoneWrite];
  const OperationFigures& appends = now[Operation::kZoneAppend];
  EXPECT_GE(writes.bytes + appends.bytes,
            now[Value::kDataBytes] + now[Value::kWalBytes] + now[Value::kMetadataBytes]);
  EXPECT_GT(now[Operation::kDeviceFlush].count + writes.count, 0u);
}

TEST_F(VolumeMetricsTest, NamesAndReadsAreCounted) {
  WaitForLogReserve();
  Put("a.sst", std::string(5000, 'a'));
  const MetricsSnapshot before = Now();
  EXPECT_EQ(Get("a.sst").size(), 5000u);
  EXPECT_FALSE(volume_->OpenForRead("missing"));
  ASSERT_TRUE(IsOk(volume_->MakeDirectory("d", false)));
  ASSERT_TRUE(IsOk(volume_->Rename("a.sst", "d/b.sst")));
  ASSERT_TRUE(IsOk(volume_->Link("d/b.sst", "c.sst")));
  ASSERT_TRUE(IsOk(volume_->SyncDirectory("d")));
  ASSERT_TRUE(IsOk(volume_->Unlink("c.sst")));
  const MetricsSnapshot done = Difference(Now(), before);
  EXPECT_EQ(done[Operation::kRead].count, 1u);
  EXPECT_EQ(done[Operation::kRead].bytes, 5000u);
  EXPECT_EQ(done[Operation::kOpen].count, 2u);
  EXPECT_EQ(done[Operation::kOpen].errors, 1u);
  EXPECT_EQ(done[Operation::kDirectoryChange].count, 1u);
  EXPECT_EQ(done[Operation::kRename].count, 1u);
  EXPECT_EQ(done[Operation::kLink].count, 1u);
  EXPECT_EQ(done[Operation::kDirectorySync].count, 1u);
  EXPECT_EQ(done[Operation::kDelete].count, 1u);
  EXPECT_EQ(done[Operation::kMetaSync].count, 4u);
  EXPECT_GE(done[Operation::kDeviceRead].bytes, 5000u);
}

TEST_F(VolumeMetricsTest, AMountSaysWhenAndHowOften) {
  const MetricsSnapshot first = Now();
  EXPECT_EQ(first[Value::kEpoch], volume_->counters().epoch);
  EXPECT_LE(first[Value::kMountTime], WallSeconds());
  EXPECT_GT(first[Value::kMountTime] + 3600, WallSeconds());
  Remount();
  EXPECT_EQ(Now()[Value::kEpoch], first[Value::kEpoch] + 1);
}

TEST_F(VolumeMetricsTest, SwitchesOfTheMetadataLogAreTimed) {
  const std::uint64_t switches = Now()[Operation::kLogSwitch].count;
  for (int i = 0; i < 20'000 && Now()[Operation::kLogSwitch].latency.count == switches; ++i) {
    ASSERT_TRUE(IsOk(volume_->MakeDirectory("d", false)));
    ASSERT_TRUE(IsOk(volume_->RemoveDirectory("d")));
  }
  EXPECT_GT(Now()[Operation::kLogSwitch].latency.count, switches);
  EXPECT_GE(Now()[Value::kMetadataBytes], volume_->info().superblock.block_size * 100);
}

}  // namespace
}  // namespace zenfs

namespace zenfs {
namespace {

class MetricsFileTest : public VolumeTest {
 protected:
  MetricsFileTest() {
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    options_.metrics_file = path_;
    Mount(options_);
  }
  ~MetricsFileTest() override { std::filesystem::remove(path_); }

  MetricsSnapshot Kept() {
    AlignedBuffer page(kMetricsPageBytes);
    std::ifstream file(path_, std::ios::binary);
    std::string content(std::istreambuf_iterator<char>(file), {});
    page.Append(AsBytes(content));
    const auto snapshot = DecodeMetrics(page.View());
    EXPECT_TRUE(IsOk(snapshot));
    return snapshot ? *snapshot : MetricsSnapshot();
  }

  const std::string path_ = testing::TempDir() + "zenfs-metrics-file-" + std::to_string(::getpid());
  MountOptions options_;
};

TEST_F(MetricsFileTest, HoldsAllThatTheMountCounted) {
  Put("a.sst", std::string(100'000, 'a'));  // large: the CPU time of short commands is only sampled
  auto log = volume_->Create("1.log");
  ASSERT_TRUE(IsOk(log));
  ASSERT_TRUE(IsOk((*log)->Append(AsBytes(std::string(300, 'w')))));
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  const MetricsSnapshot kept = Kept();
  EXPECT_EQ(kept[Operation::kNonWalWrite].bytes, 100'000u);
  EXPECT_EQ(kept[Value::kDataBytes], 102'400u);
  EXPECT_EQ(kept[Value::kWalBytes], 300u) << "written by Unmount";
  EXPECT_GT(kept[Value::kEmulationCpu], 0u);
}

TEST_F(MetricsFileTest, IsWrittenWhenTheProcessExitsWithoutUnmount) {
  Put("a.sst", std::string(5000, 'a'));
  ASSERT_TRUE(IsOk(volume_->PrepareForExit()));
  EXPECT_EQ(Kept()[Value::kDataBytes], 8192u);
}

TEST_F(MetricsFileTest, MountThatCanNotWriteItFailsAtOnce) {
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  options_.metrics_file = "/nowhere/at/all";
  const auto mounted = Volume::Mount(Borrow(*device_), options_);
  EXPECT_EQ(CodeOf(mounted), Code::kNotFound);
  EXPECT_NE(mounted.error().ToString().find("/nowhere/at/all"), std::string::npos);
  Mount();
}

TEST_F(MetricsFileTest, NothingButAPageIsReplaced) {
  const std::string other = path_ + "-other";
  std::ofstream(other) << "Dear reader";
  EXPECT_EQ(CodeOf(WriteMetricsFile(other, volume_->counters().metrics_page)), Code::kExists);
  EXPECT_EQ(std::filesystem::file_size(other), 11u);
  std::filesystem::remove(other);
}

}  // namespace
}  // namespace zenfs
