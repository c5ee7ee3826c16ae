#include "backends/nvme/nvme_device.h"

#include <gtest/gtest.h>

#include <string>

namespace zenfs {
namespace {

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
