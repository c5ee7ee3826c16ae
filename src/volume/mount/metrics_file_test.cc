#include <filesystem>
#include <fstream>

#include "metrics/metrics_snapshot.h"
#include "volume/mount/volume_parts.h"
#include "volume/volume_test_util.h"

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
