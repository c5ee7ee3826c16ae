#include "discovery/known_devices.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/environment.h"
#include "base/unique_fd.h"
#include "testing/sysfs_tree.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(DeviceListTest, PathsAreTakenApartAtColons) {
  EXPECT_THAT(SplitDeviceList("/a.img:/b.img"), ElementsAre("/a.img", "/b.img"));
}

TEST(DeviceListTest, ColonsOfUrisStay) {
  EXPECT_THAT(SplitDeviceList("zenfs://emu:/a.img:emu:/b.img:/c"),
              ElementsAre("zenfs://emu:/a.img", "emu:/b.img", "/c"));
}

TEST(DeviceListTest, EmptyPartsArePassedOver) {
  EXPECT_THAT(SplitDeviceList(""), IsEmpty());
  EXPECT_THAT(SplitDeviceList("::/a::"), ElementsAre("/a"));
}

std::vector<std::string> Names(const ListedDevices& listed) {
  std::vector<std::string> names;
  for (const DeviceUri& uri : listed.devices) names.push_back(uri.kind + ":" + uri.target);
  return names;
}

class DeviceFileTest : public testing::Test {
 protected:
  ListedDevices Read(const std::string& text) {
    std::ofstream(file_, std::ios::binary) << text;
    return ReadDeviceLists({.variable = "", .file = file_});
  }

  TempDirectory directory_;
  const std::string file_ = directory_.File("devices");
};

TEST_F(DeviceFileTest, EachLineIsADevice) {
  const ListedDevices listed = Read(
      "# ours\n\n  /var/tmp/a:b.img  \r\nzenfs://emu:/b.img\ndev:nvme0n1\n\t# "
      "more\nzonefs:/mnt/z\nemu:/last.img");
  EXPECT_THAT(listed.problems, IsEmpty());
  EXPECT_THAT(Names(listed), ElementsAre("emu:/var/tmp/a:b.img", "emu:/b.img", "dev:nvme0n1", "zonefs:/mnt/z",
                                         "emu:/last.img"));
}

TEST_F(DeviceFileTest, LineThatIsNoDeviceIsNamedAndTheOthersCount) {
  const ListedDevices listed = Read("/a.img\ntape:0\nemu:relative.img\n/b.img\nnvme0n1\nemu:/c?ro\n");
  EXPECT_THAT(Names(listed), ElementsAre("emu:/a.img", "emu:/b.img"));
  ASSERT_EQ(listed.problems.size(), 4u);
  EXPECT_THAT(listed.problems[0].text(), AllOf(HasSubstr(file_ + ":2: "), HasSubstr("'tape'")));
  EXPECT_THAT(listed.problems[1].text(), AllOf(HasSubstr(file_ + ":3: "), HasSubstr("absolute")));
  EXPECT_THAT(listed.problems[2].text(), AllOf(HasSubstr(file_ + ":5: "), HasSubstr("dev:NAME")));
  EXPECT_THAT(listed.problems[3].text(), AllOf(HasSubstr(file_ + ":6: "), HasSubstr("no options")));
}

TEST_F(DeviceFileTest, WhatIsNoTextFileIsAProblem) {
  const auto problem = [](const std::string& file) {
    const ListedDevices listed = ReadDeviceLists({.variable = "", .file = file});
    return listed.problems.size() == 1 ? listed.problems[0].ToString() : "";
  };
  EXPECT_THAT(problem(file_), AllOf(HasSubstr(file_), HasSubstr("No such file")));
  EXPECT_THAT(problem(directory_.path()), HasSubstr("directory"));
  std::filesystem::resize_file((std::ofstream(file_), file_), (1 << 20) + 1);
  EXPECT_THAT(problem(file_), HasSubstr("too long"));
  EXPECT_EQ(problem("/dev/null"), "");
}

TEST_F(DeviceFileTest, PathsAreKnownByWhatIsThere) {
  EXPECT_THAT(Names(Read(directory_.path() + "\n/dev/null\n")),
              ElementsAre("zonefs:" + directory_.path(), "emu:/dev/null"));
}

TEST(DeviceVariableTest, PartsThatAreNoDevicesAreProblems) {
  const ListedDevices listed = ReadDeviceLists({.variable = "/a.img:uuid:1234:dev:sda:b.img", .file = ""});
  EXPECT_THAT(Names(listed), ElementsAre("emu:/a.img", "dev:sda", "emu:b.img"));
  ASSERT_EQ(listed.problems.size(), 1u);
  EXPECT_THAT(listed.problems[0].text(),
              AllOf(HasSubstr("ZENFS_DEVICES: uuid:1234"), HasSubstr("by its place")));
}

TEST(DeviceListTest, ADriveIsNamedByItsBlockDeviceNotByItsCommands) {
  const ListedDevices listed = ReadDeviceLists({.variable = "zenfs://nvme:ng0n1:dev:nvme0n1", .file = ""});
  EXPECT_THAT(Names(listed), ElementsAre("dev:nvme0n1"));
  ASSERT_EQ(listed.problems.size(), 1u);
  EXPECT_THAT(listed.problems[0].text(), AllOf(HasSubstr("nvme:ng0n1"), HasSubstr("dev:NAME")));
}

// Sets a variable and restores its old value in the destructor.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const std::string_view old = EnvironmentVariable(name); !old.empty()) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (old_) ::setenv(name_, old_->c_str(), 1);
    if (!old_) ::unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(DeviceListPlacesTest, NearestFileIsTaken) {
  TempDirectory directory;
  for (const char* home : {"config", "home/.config"}) {
    std::filesystem::create_directories(directory.File(home) + "/zenfs");
    std::ofstream(directory.File(home) + "/zenfs/devices") << "/a.img\n";
  }
  const Variable list("ZENFS_DEVICES", "/x.img");
  const Variable home("HOME", directory.File("home"));
  const Variable none("XDG_CONFIG_HOME", "");
  EXPECT_EQ(ListPlaces::OfEnvironment().variable, "/x.img");
  EXPECT_EQ(ListPlaces::OfEnvironment().file, directory.File("home/.config/zenfs/devices"));
  const Variable config("XDG_CONFIG_HOME", directory.File("config"));
  EXPECT_EQ(ListPlaces::OfEnvironment().file, directory.File("config/zenfs/devices"));
  const Variable file("ZENFS_DEVICES_FILE", "/no/such/file");
  EXPECT_EQ(ListPlaces::OfEnvironment().file, "/no/such/file");
}

TEST(DeviceListPlaceTest, WhatIsNoRegularFileIsNotWaitedFor) {
  const UniqueFd terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(terminal.valid() && ::grantpt(terminal.get()) == 0 && ::unlockpt(terminal.get()) == 0);
  char other_end[64];
  ASSERT_EQ(::ptsname_r(terminal.get(), other_end, sizeof other_end), 0);
  for (const std::string path : {"/dev/zero", "/dev/full", static_cast<const char*>(other_end)}) {
    const ListedDevices listed = ReadDeviceLists({.variable = "", .file = path});
    EXPECT_THAT(listed.devices, IsEmpty());
    ASSERT_EQ(listed.problems.size(), 1u);
    EXPECT_EQ(listed.problems[0].ToString(),
              path + ": a list of devices is a regular file, not a device or a pipe");
  }
}

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
