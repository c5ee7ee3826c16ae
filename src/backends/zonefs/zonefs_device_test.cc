#include "backends/zonefs/zonefs_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "testing/temp_directory.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

Error ErrorOf(const std::string& mountpoint) {
  const auto device = OpenZonefs(mountpoint, OpenMode::kExclusive, {});
  return device ? Error(Code::kExists, "opened") : device.error();
}

// Only cases that need no zonefs; the tests on real kernels cover the rest.
TEST(OpenZonefsTest, MissingDirectoryIsNotFoundByName) {
  const TempDirectory directory;
  const Error error = ErrorOf(directory.File("none"));
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_THAT(error.text(), HasSubstr("zonefs:" + directory.File("none")));
}

TEST(OpenZonefsTest, OtherFileSystemsAndFilesAreNoZonefs) {
  const TempDirectory directory;
  std::ofstream(directory.File("file")) << "x";
  for (const std::string& path : {directory.path(), directory.File("file")}) {
    const Error error = ErrorOf(path);
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_THAT(error.text(), HasSubstr(path + ": no zonefs is mounted there"));
    EXPECT_THAT(error.text(), HasSubstr("mount"));
  }
}

}  // namespace
}  // namespace zenfs
