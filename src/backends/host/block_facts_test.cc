#include "backends/host/block_facts.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <filesystem>

#include "testing/sysfs_tree.h"

namespace zenfs {
namespace {

namespace fs = std::filesystem;

// A directory tree like /sys, with the kernel's symbolic links.
class BlockFactsTest : public testing::Test {
 protected:
  void Put(const std::string& path, const std::string& text) { tree_.Put(path, text); }
  std::string Disk(const std::string& name, const std::string& number) { return tree_.AddDisk(name, number); }
  void Link(const std::string& to, const std::string& from) { tree_.Link(to, from); }
  void MakeZnsDrive() {
    const std::string d = Disk("nvme0n1", "259:3");
    Put(d + "/size", "2097152");
    Put(d + "/wwid", "uuid.0b2c");
    Put(d + "/device/model", "QEMU NVMe Ctrl            ");
    Put(d + "/queue/zoned", "host-managed");
    Put(d + "/queue/chunk_sectors", "32768");
    Put(d + "/queue/nr_zones", "64");
    Put(d + "/queue/max_open_zones", "14");
    Put(d + "/queue/max_active_zones", "16");
    Put(d + "/queue/zone_write_granularity", "4096");
    Put(d + "/queue/write_cache", "write through");
    Put(d + "/queue/scheduler", "none [mq-deadline] kyber");
    Put(d + "/queue/max_sectors_kb", "512");
    Put(d + "/queue/max_segments", "33");
  }
  const std::string& sysfs() const { return tree_.path(); }

  SysfsTree tree_;
};

TEST_F(BlockFactsTest, MappedDiskWithoutLimitsHasThoseOfTheDisksBelow) {
  MakeZnsDrive();
  const std::string d = Disk("dm-0", "253:0");
  Put(d + "/queue/zoned", "host-managed");
  Put(d + "/queue/max_open_zones", "0");
  Put(d + "/queue/max_active_zones", "0");
  Link("devices/nvme0n1", d + "/slaves/nvme0n1");
  auto facts = ReadBlockFacts("dm-0", sysfs());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->max_open, 14u);
  EXPECT_EQ(facts->max_active, 16u);
  Put(d + "/queue/max_open_zones", "5");
  EXPECT_EQ(ReadBlockFacts("dm-0", sysfs())->max_open, 5u);
}

TEST_F(BlockFactsTest, MultipathHeadWithoutLimitsHasThoseOfItsPaths) {
  Put("devices/subsys4/subsysnqn", "nqn.test");
  for (const auto& [name, open, active] :
       {std::tuple("subsys4/nvme4n1", "0", "0"), std::tuple("ctl/nvme4/nvme4c4n1", "3", "4"),
        std::tuple("ctl/nvme4/nvme4c4n11", "1", "1")}) {
    const std::string queue = std::string("devices/") + name + "/queue/";
    Put(queue + "zoned", "host-managed");
    Put(queue + "max_open_zones", open);
    Put(queue + "max_active_zones", active);
  }
  Link("devices/ctl/nvme4", "devices/subsys4/nvme4");
  Link("devices/subsys4/nvme4n1", "class/block/nvme4n1");
  const auto facts = ReadBlockFacts("nvme4n1", sysfs());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->max_open, 3u);
  EXPECT_EQ(facts->max_active, 4u);
}

TEST_F(BlockFactsTest, ZonedDriveIsReadInBytes) {
  MakeZnsDrive();
  const auto facts = ReadBlockFacts(makedev(259, 3), sysfs());
  ASSERT_TRUE(facts) << facts.error().ToString();
  EXPECT_EQ(facts->name, "nvme0n1");
  EXPECT_EQ(facts->disk, "nvme0n1");
  EXPECT_FALSE(facts->partition);
  EXPECT_EQ(facts->model, ZonedModel::kHostManaged);
  EXPECT_EQ(facts->hardware, "QEMU NVMe Ctrl");
  EXPECT_EQ(facts->size, 1u << 30);
  EXPECT_EQ(facts->zone_size, 16u << 20);
  EXPECT_EQ(facts->zone_count, 64u);
  EXPECT_EQ(facts->max_open, 14u);
  EXPECT_EQ(facts->max_active, 16u);
  EXPECT_EQ(facts->write_granularity, 4096u);
  EXPECT_FALSE(facts->volatile_cache);
  EXPECT_EQ(facts->scheduler, "mq-deadline");
  EXPECT_EQ(facts->schedulers, (std::vector<std::string>{"none", "mq-deadline", "kyber"}));
  EXPECT_EQ(facts->longest_command, 33u * 4096) << "the segments end before the size does";
  EXPECT_EQ(facts->identity, "uuid.0b2c");
}

TEST_F(BlockFactsTest, NameAndNumberLeadToTheSameDevice) {
  MakeZnsDrive();
  EXPECT_EQ(ReadBlockFacts("nvme0n1", sysfs())->identity, ReadBlockFacts(makedev(259, 3), sysfs())->identity);
}

TEST_F(BlockFactsTest, UnknownDeviceIsNotFoundByName) {
  MakeZnsDrive();
  const auto facts = ReadBlockFacts(makedev(7, 9), sysfs());
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code(), Code::kNotFound);
  EXPECT_NE(facts.error().text().find("7:9"), std::string::npos);
}

TEST_F(BlockFactsTest, PartitionNamesItsDisk) {
  const std::string d = Disk("sdb", "8:16");
  Put(d + "/queue/zoned", "host-managed");
  Put(d + "/sdb1/partition", "1");
  Link(d + "/sdb1", "dev/block/8:17");
  const auto facts = ReadBlockFacts(makedev(8, 17), sysfs());
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->partition);
  EXPECT_EQ(facts->name, "sdb1");
  EXPECT_EQ(facts->disk, "sdb");
}

TEST_F(BlockFactsTest, RegularAndHostAwareDisksAreToldApart) {
  Put(Disk("sda", "8:0") + "/queue/zoned", "none");
  Put(Disk("sdc", "8:32") + "/queue/zoned", "host-aware");
  EXPECT_EQ(ReadBlockFacts("sda", sysfs())->model, ZonedModel::kNotZoned);
  EXPECT_EQ(ReadBlockFacts("sdc", sysfs())->model, ZonedModel::kHostAware);
  EXPECT_EQ(ReadBlockFacts("sda", sysfs())->zone_size, 0u);
}

TEST_F(BlockFactsTest, OldKernelsAndSmrDisksWriteWholePhysicalBlocks) {
  const std::string d = Disk("sdd", "8:48");
  Put(d + "/queue/zoned", "host-managed");
  Put(d + "/queue/physical_block_size", "4096");
  Put(d + "/queue/logical_block_size", "512");
  EXPECT_EQ(ReadBlockFacts("sdd", sysfs())->write_granularity, 4096u);
}

TEST_F(BlockFactsTest, MissingLimitsAreNoLimitsAndAnUnknownCacheIsVolatile) {
  Put(Disk("sdd", "8:48") + "/queue/zoned", "host-managed");
  const auto facts = ReadBlockFacts("sdd", sysfs());
  EXPECT_EQ(facts->max_open, 0u);
  EXPECT_EQ(facts->max_active, 0u);
  EXPECT_TRUE(facts->volatile_cache);
  EXPECT_FALSE(facts->scheduler);
}

TEST_F(BlockFactsTest, WithoutAWideNameTheSequenceOfDisksTellsThemApart) {
  const std::string d = Disk("nullb0", "252:0");
  Put(d + "/diskseq", "17");
  EXPECT_EQ(ReadBlockFacts("nullb0", sysfs())->identity, "nullb0#17");
  fs::remove(fs::path(sysfs()) / d / "diskseq");
  EXPECT_EQ(ReadBlockFacts("nullb0", sysfs())->identity, "252:0");
}

TEST_F(BlockFactsTest, ZonedDisksAreListedByName) {
  Put(Disk("sdb", "8:16") + "/queue/zoned", "host-managed");
  Put(Disk("sda", "8:0") + "/queue/zoned", "none");
  MakeZnsDrive();
  std::vector<std::string> names;
  for (const BlockFacts& facts : ZonedBlockDevices(sysfs())) names.push_back(facts.name);
  EXPECT_EQ(names, (std::vector<std::string>{"nvme0n1", "sdb"}));
  EXPECT_TRUE(ZonedBlockDevices("/no/such/sysfs").empty());
}

TEST_F(BlockFactsTest, HiddenPathsAreNotListedAndHoldersAreNamed) {
  const std::string path = Disk("nvme0c0n1", "0:0");
  Put(path + "/queue/zoned", "host-managed");
  Put(path + "/hidden", "1");
  MakeZnsDrive();
  Put("devices/nvme0n1/holders/dm-1/dev", "253:1");
  Put("devices/nvme0n1/holders/dm-0/dev", "253:0");
  const auto devices = ZonedBlockDevices(sysfs());
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices.front().name, "nvme0n1");
  EXPECT_EQ(devices.front().holders, (std::vector<std::string>{"dm-0", "dm-1"}));
}

TEST(KernelReleaseTest, ZoneWritePluggingCameWith610) {
  EXPECT_TRUE(KernelPlugsZoneWrites("6.10.0"));
  EXPECT_TRUE(KernelPlugsZoneWrites("6.12.117+deb12-amd64"));
  EXPECT_TRUE(KernelPlugsZoneWrites("7.0.1"));
  EXPECT_FALSE(KernelPlugsZoneWrites("6.1.0-56-amd64"));
  EXPECT_FALSE(KernelPlugsZoneWrites("6.9.12"));
  EXPECT_FALSE(KernelPlugsZoneWrites("5.19.0"));
  EXPECT_FALSE(KernelPlugsZoneWrites("unknown"));
  EXPECT_FALSE(KernelRelease().empty());
}

}  // namespace
}  // namespace zenfs
