#include "backends/block/device_users.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testing/temp_directory.h"

namespace zenfs {
namespace {

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

}  // namespace
}  // namespace zenfs
