// Errors when opening a device that is no zoned device. The conformance suite tests the rest on
// real kernels.
#include "backends/block/block_device.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "backends/block/zone_control.h"
#include "base/unique_fd.h"
#include "testing/temp_directory.h"

namespace zenfs {
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

}  // namespace
}  // namespace zenfs
