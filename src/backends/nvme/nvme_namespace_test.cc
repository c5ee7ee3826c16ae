#include "backends/nvme/nvme_namespace.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "backends/nvme/nvme_device.h"

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
