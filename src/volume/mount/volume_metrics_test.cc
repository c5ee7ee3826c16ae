// The metrics of a volume.
#include "metrics/metrics_snapshot.h"
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
