#include "backends/nvme/nvme_namespace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "backends/nvme/nvme_device.h"
#include "base/unique_fd.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

TEST(NvmeNamespaceTest, NodesOfANamespaceHaveTheSameNumbers) {
  EXPECT_EQ(CharacterNodeOf("nvme0n1"), "ng0n1");
  EXPECT_EQ(BlockNodeOf("ng12n34"), "nvme12n34");
}

TEST(NvmeNamespaceTest, OtherNodesAreNotThoseOfANamespace) {
  for (const char* name :
       {"", "sda", "nvme", "nvme0", "nvme0n", "nvmen1", "nvme0n1p1", "nvme0c0n1", "ng0n1"}) {
    EXPECT_EQ(CharacterNodeOf(name), "") << name;
  }
  for (const char* name : {"", "ng", "ng0", "ngn1", "nvme0n1", "ng0n1x"})
    EXPECT_EQ(BlockNodeOf(name), "") << name;
}

TEST(NvmeNamespaceTest, ANodeThatIsNoNamespaceIsRefused) {
  const auto opened = OpenNamespace("/dev/null", O_RDONLY);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(OpenNamespace("/dev/no-such-node", O_RDONLY).error().code(), Code::kNotFound);
}

TEST(NvmeNamespaceTest, APipeOrAFileIsNotOpened) {
  const TempDirectory directory;
  const std::string pipe = directory.File("ng0n1");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const UniqueFd opens(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(inotify_add_watch(opens.get(), pipe.c_str(), IN_OPEN), 0);
  // To open a pipe for both does not wait; for reading it would.
  EXPECT_EQ(OpenNamespace(pipe, O_RDWR).error().code(), Code::kInvalidArgument);
  std::array<char, 4096> event{};
  EXPECT_LT(read(opens.get(), event.data(), event.size()), 0);
  EXPECT_EQ(errno, EAGAIN);
}

TEST(NvmeDeviceTest, NamesThatAreNoCharacterDeviceAreRefused) {
  const auto opened = OpenNvmeDevice("null", OpenMode::kReadOnly, {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::kInvalidArgument);
}

TEST(NvmeDeviceTest, AMissingDeviceIsNotFoundAndSaysWhereToLook) {
  const auto opened = OpenNvmeDevice("ng987n1", OpenMode::kReadOnly, {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::kNotFound);
  EXPECT_NE(opened.error().text().find("zenfs devices"), std::string::npos);
}

}  // namespace
}  // namespace zenfs
