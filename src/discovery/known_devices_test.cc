#include "discovery/known_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/sysfs_tree.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kMounts[] =
    "22 1 0:5 / /proc rw - proc proc rw\n"
    "30 22 259:1 / /mnt/z1 ro,relatime shared:5 - zonefs /dev/fake1n1 ro,errors=remount-ro\n"
    "31 22 259:1 / /mnt/again rw,relatime shared:5 - zonefs /dev/fake1n1 rw,errors=remount-ro\n";

// Disks with names that no device in /dev has.
class KnownDevicesTest : public testing::Test {
 protected:
  KnownDevicesTest() {
    places_.sysfs = sysfs_.path();
    places_.mountinfo = directory_.File("mountinfo");
    std::ofstream(places_.mountinfo).close();
  }

  void Mount(const std::string& mountinfo) { std::ofstream(places_.mountinfo) << mountinfo; }

  std::vector<std::string> Names(const std::vector<DeviceUri>& asked = {}) const {
    std::vector<std::string> names;
    for (const KnownDevice& device : FindDevices(places_, asked).devices) names.push_back(device.Name());
    return names;
  }

  SysfsTree sysfs_;
  TempDirectory directory_;
  SearchPlaces places_;
};

TEST_F(KnownDevicesTest, NothingIsKnownWhereThereIsNothing) { EXPECT_THAT(Names(), IsEmpty()); }

TEST_F(KnownDevicesTest, DisksMountsAndListedDevicesComeInThisOrder) {
  sysfs_.AddZonedDisk("fake1n1", "259:1", "Drive");
  sysfs_.AddZonedDisk("fake0n1", "259:0", "Drive");
  Mount(kMounts);
  places_.lists.variable = "/no/such/a.img";
  EXPECT_THAT(
      Names({{.kind = "emu", .target = "/asked.img", .options = {}}}),
      ElementsAre("emu:/asked.img", "dev:fake0n1", "dev:fake1n1", "zonefs:/mnt/again", "emu:/no/such/a.img"));
}

TEST_F(KnownDevicesTest, EachDeviceIsThereOnce) {
  sysfs_.AddZonedDisk("fake0n1", "259:0", "Drive");
  places_.lists.variable = "/a/../b.img:emu:/b.img:dev:/dev/fake0n1:dev:fake0n1";
  EXPECT_THAT(Names({{.kind = "emu", .target = "/b.img", .options = {}}}),
              ElementsAre("emu:/b.img", "dev:fake0n1"));
}

TEST_F(KnownDevicesTest, BlockDevicesSayWhatHasThem) {
  const std::string disk = sysfs_.AddZonedDisk("fake0n1", "259:0", "Drive");
  sysfs_.Put(disk + "/holders/dm-3/dev", "253:3");
  sysfs_.AddZonedDisk("fake1n1", "259:1", "Drive");
  sysfs_.AddZonedDisk("fake2n1", "259:2", "Drive");
  Mount(kMounts);
  const std::vector<KnownDevice> devices = FindDevices(places_).devices;
  ASSERT_EQ(devices.size(), 4u);
  EXPECT_EQ(devices[0].used_by, "dm-3");
  EXPECT_EQ(devices[1].used_by, "the zonefs at /mnt/z1");
  EXPECT_EQ(devices[2].used_by, "");
  EXPECT_EQ(devices[3].used_by, "") << "the zonefs itself may be used";
}

TEST_F(KnownDevicesTest, FactsAreThoseOfTheDiskBelow) {
  sysfs_.AddZonedDisk("fake1n1", "259:1", "Drive 7");
  Mount(kMounts);
  for (const KnownDevice& device : FindDevices(places_).devices) {
    ASSERT_TRUE(device.block) << device.Name();
    EXPECT_EQ(device.block->hardware, "Drive 7");
  }
}

TEST_F(KnownDevicesTest, DirectoryOfAZonefsBoundElsewhereIsNoDevice) {
  sysfs_.AddZonedDisk("fake1n1", "259:1", "Drive");
  Mount("29 22 259:1 /seq /zones rw,relatime - zonefs /dev/fake1n1 rw\n");
  EXPECT_THAT(Names(), ElementsAre("dev:fake1n1"));
  EXPECT_EQ(FindDevices(places_).devices[0].used_by, "the zonefs at /zones");
  Mount("29 22 259:1 /seq /zones rw,relatime - zonefs /dev/fake1n1 rw\n" + std::string(kMounts));
  EXPECT_THAT(Names(), ElementsAre("dev:fake1n1", "zonefs:/mnt/again"));
}

TEST_F(KnownDevicesTest, FlagsNameTheDeviceForTheCommand) {
  const auto flag = [](std::string kind, std::string target) {
    return KnownDevice{.uri = {.kind = std::move(kind), .target = std::move(target), .options = {}},
                       .block = {},
                       .used_by = {}}
        .Flag();
  };
  EXPECT_EQ(flag("dev", "nvme0n1"), "--zbd=nvme0n1");
  EXPECT_EQ(flag("zonefs", "/mnt/z"), "--zonefs=/mnt/z");
  EXPECT_EQ(flag("emu", "a.img"), "--emu=a.img");
}

TEST_F(KnownDevicesTest, ProblemsOfListsComeAlong) {
  places_.lists.variable = "uuid:1:/a.img";
  EXPECT_EQ(FindDevices(places_).problems.size(), 1u);
  EXPECT_THAT(Names(), ElementsAre("emu:/a.img"));
}

}  // namespace
}  // namespace zenfs
