// Errors when opening a device that is no zoned device, and who uses one.
#include "backends/block/open_block_device.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "backends/block/block_device.h"
#include "backends/block/zone_control.h"
#include "base/unique_fd.h"
#include "testing/temp_directory.h"

namespace zenfs::open_block_device_test {
namespace {

Error OpenErrorOf(const std::string& node) {
  auto device = OpenBlockDevice(node, OpenMode::kReadOnly, {});
  EXPECT_FALSE(device);
  return device ? Error(Code::kIo, "opened") : device.error();
}

TEST(BlockDeviceTest, MissingDeviceIsNotFoundAndSaysWhereToLook) {
  const Error error = OpenErrorOf("no-such-disk");
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_EQ(error.text(),
            "/dev/no-such-disk: there is no such device; `zenfs devices` lists those there are");
}

TEST(BlockDeviceTest, OtherNodesAreNotBlockDevices) {
  EXPECT_EQ(OpenErrorOf("null").code(), Code::kInvalidArgument);
  TempDirectory directory;
  EXPECT_EQ(OpenErrorOf(directory.path()).code(), Code::kInvalidArgument);
}

TEST(BlockDeviceTest, NamesAndPathsAndLinksLeadToOneNode) {
  EXPECT_EQ(BlockNodePath("null"), "/dev/null");
  EXPECT_EQ(BlockNodePath("/dev/null"), "/dev/null");
  TempDirectory directory;
  std::filesystem::create_symlink("/dev/null", directory.File("link"));
  EXPECT_EQ(BlockNodePath(directory.File("link")), "/dev/null");
  EXPECT_EQ(BlockNodePath("no-such-disk"), "/dev/no-such-disk");
}

TEST(BlockDeviceTest, LibzbdIsNotUsedWithLargeDescriptors) {
  std::vector<UniqueFd> open;
  while (open.empty() || open.back().get() < 800) {
    open.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!open.back().valid()) GTEST_SKIP() << "this process may not have 800 files open";
  }
  errno = 0;
  EXPECT_EQ(OpenByLibzbd("/dev/null", O_RDONLY), nullptr);
  EXPECT_EQ(errno, ENOTSUP) << "another error is that of an attempt";
}

namespace fs = std::filesystem;

class DeviceUsersTest : public testing::Test {
 protected:
  void Put(const std::string& path, const std::string& text) {
    const fs::path file = directory_.File(path);
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string Users() { return DescribeDeviceUsers({.name = "sdb"}, directory_.path()); }

  TempDirectory directory_;
};

TEST_F(DeviceUsersTest, NobodyIsNamedWhereNobodyIsSeen) {
  EXPECT_EQ(Users(), "");
  Put("proc/self/mounts", "/dev/sda / ext4 rw 0 0\n");
  EXPECT_EQ(Users(), "");
}

TEST_F(DeviceUsersTest, MountIsNamed) {
  Put("proc/self/mounts", "/dev/sda / ext4 rw 0 0\n/dev/sdb /mnt/zones zonefs rw 0 0\n");
  EXPECT_EQ(Users(), "mounted at /mnt/zones");
}

TEST_F(DeviceUsersTest, MapperAboveIsNamed) {
  EXPECT_EQ(DescribeDeviceUsers({.name = "sdb", .holders = {"dm-3"}}, directory_.path()), "part of dm-3");
}

TEST_F(DeviceUsersTest, ProcessThatHasItOpenIsNamed) {
  Put("proc/77/comm", "other\n");
  fs::create_directories(directory_.File("proc/77/fd"));
  Put("proc/1234/comm", "db_bench\n");
  fs::create_directories(directory_.File("proc/1234/fd"));
  fs::create_symlink("/dev/sdb", directory_.File("proc/1234/fd/5"));
  EXPECT_EQ(Users(), "open in process 1234 (db_bench)");
}

TEST_F(DeviceUsersTest, AWriterIsToldApartFromReaders) {
  for (const char* const pid : {"77", "1234"}) {
    Put(std::string("proc/") + pid + "/comm", "db_bench\n");
    fs::create_directories(directory_.File(std::string("proc/") + pid + "/fd"));
    fs::create_symlink("/dev/sdb", directory_.File(std::string("proc/") + pid + "/fd/5"));
  }
  Put("proc/77/fdinfo/5", "pos:\t0\nflags:\t0140000\nmnt_id:\t5\n");
  EXPECT_EQ(DescribeDeviceWriter({.name = "sdb"}, directory_.path()), "");
  Put("proc/1234/fdinfo/5", "pos:\t0\nflags:\t0140002\nmnt_id:\t5\n");
  EXPECT_EQ(DescribeDeviceWriter({.name = "sdb"}, directory_.path()), "process 1234 (db_bench)");
  EXPECT_EQ(DescribeDeviceWriter({.name = "sdc"}, directory_.path()), "");
}

}  // namespace
}  // namespace zenfs::open_block_device_test
