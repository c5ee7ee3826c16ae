#include "backends/zonefs/zonefs_mount.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

#include "testing/plain_zone_files.h"
#include "testing/temp_directory.h"

namespace zenfs::zonefs_mount_test {
namespace {

class MountTableTest : public testing::Test {
 protected:
  std::vector<ZonefsMount> Parse(const std::string& text) {
    std::ofstream(directory_.File("mountinfo")) << text;
    return ZonefsMounts(directory_.File("mountinfo"));
  }

 private:
  TempDirectory directory_;
};

constexpr char kTable[] =
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "23 22 0:21 / /proc rw,nosuid - proc proc rw\n"
    "36 22 259:3 / /mnt/z rw,relatime shared:31 master:2 - zonefs /dev/nvme0n1 rw,errors=repair\n"
    "37 22 252:0 / /mnt/my\\040zones rw,relatime - zonefs /dev/nullb0 ro\n"
    "38 22 252:1 / /mnt/seen ro,relatime - zonefs /dev/nullb1 rw\n"
    "39 22 8:1 / /zonefs rw - xfs /dev/zonefs rw\n";

TEST_F(MountTableTest, FindsZonefsMountsAndNoOthers) {
  const auto mounts = Parse(kTable);
  ASSERT_EQ(mounts.size(), 3u);
  EXPECT_EQ(mounts[0].mountpoint, "/mnt/z");
  EXPECT_EQ(mounts[0].source, "/dev/nvme0n1");
  EXPECT_EQ(mounts[0].device, makedev(259, 3));
  EXPECT_FALSE(mounts[0].read_only);
}

TEST_F(MountTableTest, SpacesInPathsAreUnescaped) { EXPECT_EQ(Parse(kTable)[1].mountpoint, "/mnt/my zones"); }

TEST_F(MountTableTest, ReadOnlyIsWhatTheMountOrTheWholeFileSystemIs) {
  const auto mounts = Parse(kTable);
  EXPECT_TRUE(mounts[1].read_only);
  EXPECT_TRUE(mounts[2].read_only);
}

TEST_F(MountTableTest, OtherTextIsNoMount) {
  EXPECT_TRUE(Parse("").empty());
  EXPECT_TRUE(Parse("36 22 259:3 / /mnt/z rw - zonefs\n").empty());
  EXPECT_TRUE(Parse("36 22 259 / /mnt/z rw - zonefs /dev/x rw\n").empty());
  EXPECT_TRUE(Parse("36 22 259:3 / /mnt/z rw\nzonefs\n\n").empty());
  EXPECT_TRUE(ZonefsMounts("/no/such/table").empty());
}

TEST_F(MountTableTest, BackslashesThatEscapeNothingStay) {
  EXPECT_EQ(Parse("1 1 1:1 / /a\\b\\0409\\04 rw - zonefs /dev/x rw\n")[0].mountpoint, "/a\\b 9\\04");
}

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

class ExplicitOpenTest : public testing::Test {
 protected:
  void Write(std::uint32_t zone) { std::ofstream(files.Path(ZoneId(zone))) << "x"; }
  // The count that zonefs reports: 5 active zones and, with explicit-open, the open ones.
  ActiveCount CountOf(bool explicit_open) {
    return
        [this, explicit_open] { return 5u + (explicit_open && !files.OpenForWriting().empty() ? 1u : 0u); };
  }

  TempDirectory directory;
  PlainZoneFiles files{directory.path(), {.zones = 3, .max_open = 2}};
};

TEST_F(ExplicitOpenTest, CountThatMovesWithAnOpenFileTells) {
  EXPECT_EQ(IsExplicitOpen(files, CountOf(true), 6), true);
  EXPECT_EQ(IsExplicitOpen(files, CountOf(false), 6), false);
  EXPECT_EQ(files.OpenForWriting(), "") << "and is closed again";
}

TEST_F(ExplicitOpenTest, FirstEmptyZoneIsTried) {
  Write(0);
  EXPECT_EQ(IsExplicitOpen(files, CountOf(true), 6), true);
  Write(1);
  Write(2);
  EXPECT_EQ(IsExplicitOpen(files, CountOf(true), 6), std::nullopt) << "there is none left";
}

TEST_F(ExplicitOpenTest, WithoutACountNothingIsTouched) {
  EXPECT_EQ(IsExplicitOpen(files, [] { return std::optional<std::uint32_t>(); }, 6), std::nullopt);
}

TEST_F(ExplicitOpenTest, NoZoneTooManyIsOpened) {
  EXPECT_EQ(IsExplicitOpen(files, CountOf(true), 5), std::nullopt);
  EXPECT_EQ(IsExplicitOpen(files, CountOf(true), 0), true) << "no limit";
}

TEST_F(ExplicitOpenTest, LimitThatIsMetIsOneOfExplicitOpen) {
  Write(0);
  Write(1);
  const auto first = files.OpenToWrite(ZoneId(0));
  const auto second = files.OpenToWrite(ZoneId(1));
  EXPECT_EQ(IsExplicitOpen(files, CountOf(false), 6), true);
}

}  // namespace
}  // namespace zenfs::zonefs_mount_test
