#include "backends/zonefs/zonefs_limits.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testing/temp_directory.h"

namespace zenfs {
namespace {

class ZonefsLimitsTest : public testing::Test {
 protected:
  void Put(const std::string& file, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(sysfs()) / "fs/zonefs/nullb0" / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  const std::string& sysfs() const { return directory_.path(); }

  TempDirectory directory_;
};

TEST_F(ZonefsLimitsTest, AreThoseThatZonefsTells) {
  Put("max_wro_seq_files", "6");
  Put("max_active_seq_files", "8");
  BlockFacts facts;
  facts.model = ZonedModel::kHostManaged;
  facts.max_open = 99;
  const ZonefsLimits limits = ReadZonefsLimits("nullb0", &facts, sysfs());
  EXPECT_TRUE(limits.known);
  EXPECT_EQ(limits.max_open, 6u);
  EXPECT_EQ(limits.max_active, 8u);
}

TEST_F(ZonefsLimitsTest, ZeroIsNoLimit) {
  Put("max_wro_seq_files", "0");
  Put("max_active_seq_files", "0");
  const ZonefsLimits limits = ReadZonefsLimits("nullb0", nullptr, sysfs());
  EXPECT_TRUE(limits.known);
  EXPECT_EQ(limits.max_open, 0u);
  EXPECT_EQ(limits.max_active, 0u);
}

TEST_F(ZonefsLimitsTest, LimitsThatOnlyTheDisksBelowHaveCount) {
  Put("max_wro_seq_files", "0");
  Put("max_active_seq_files", "0");
  BlockFacts head;
  head.model = ZonedModel::kHostManaged;
  head.max_open = 4;
  head.max_active = 5;
  const ZonefsLimits limits = ReadZonefsLimits("nullb0", &head, sysfs());
  EXPECT_EQ(limits.max_open, 4u);
  EXPECT_EQ(limits.max_active, 5u);
  EXPECT_FALSE(limits.kept_by_zonefs);
}

TEST_F(ZonefsLimitsTest, KernelsBefore519AreAskedForTheDevices) {
  BlockFacts facts;
  facts.model = ZonedModel::kHostManaged;
  facts.max_open = 4;
  facts.max_active = 5;
  const ZonefsLimits limits = ReadZonefsLimits("nullb0", &facts, sysfs());
  EXPECT_TRUE(limits.known);
  EXPECT_EQ(limits.max_open, 4u);
  EXPECT_EQ(limits.max_active, 5u);
}

TEST_F(ZonefsLimitsTest, WithoutAnythingToReadTheDefaultHoldsForBoth) {
  const ZonefsLimits limits = ReadZonefsLimits("nullb0", nullptr, sysfs());
  EXPECT_FALSE(limits.known);
  EXPECT_EQ(limits.max_open, ZonefsLimits::kDefault);
  EXPECT_EQ(limits.max_active, ZonefsLimits::kDefault);
}

TEST_F(ZonefsLimitsTest, ActiveFilesAreReadEachTime) {
  EXPECT_EQ(ActiveZoneFiles("nullb0", sysfs()), std::nullopt);
  Put("nr_active_seq_files", "2");
  EXPECT_EQ(ActiveZoneFiles("nullb0", sysfs()), 2u);
  Put("nr_active_seq_files", "3");
  EXPECT_EQ(ActiveZoneFiles("nullb0", sysfs()), 3u);
}

}  // namespace
}  // namespace zenfs
