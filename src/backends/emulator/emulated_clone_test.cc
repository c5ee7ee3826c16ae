#include "backends/emulator/emulated_clone.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "testing/device_data.h"
#include "testing/lower_file_size_limit.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kBlock = 4096;

class EmulatedCloneTest : public testing::Test {
 protected:
  void SetUp() override {
    const EmulatorGeometry geometry{.zones = 8, .zone_size = 4u << 20, .conventional = 1};
    ASSERT_TRUE(CreateEmulatedFile(from, geometry, false).ok());
    const auto device = Open(from);
    ASSERT_TRUE(device->Write(device->geometry().ZoneStart(ZoneId(0)) + 5 * kBlock, data.View()).ok());
    ASSERT_TRUE(device->Write(device->geometry().ZoneStart(ZoneId(3)), data.View()).ok());
    ASSERT_TRUE(device->Finish(ZoneId(6)).ok());
  }
  static std::unique_ptr<EmulatorDevice> Open(const std::string& path) {
    auto device = OpenEmulatedFile(path, OpenMode::kExclusive);
    EXPECT_TRUE(device) << device.error().ToString();
    return device ? std::move(*device) : nullptr;
  }
  Status Clone(bool overwrite = false) {
    ZENFS_ASSIGN_OR_RETURN(const auto clone, EmulatedClone::Begin(from, to, overwrite));
    return clone->Finish();
  }
  Error ErrorOfCloning(bool overwrite = false) {
    const Status status = Clone(overwrite);
    return status.ok() ? Error(Code::kZoneFull, "it was cloned") : status.error();
  }
  std::size_t FilesInDirectory() const {
    return std::distance(std::filesystem::directory_iterator(directory.path()), {});
  }

  TempDirectory directory;
  std::string from = directory.File("from.img");
  std::string to = directory.File("to.img");
  AlignedBuffer data = Pattern(64 * kBlock, 7);
};

// It belongs to who clones it, so its times would decide how long that user waits.
TEST_F(EmulatedCloneTest, DoesNotTakeTheTimesOfAnotherUsersDevice) {
  const EmulatorGeometry geometry{.zones = 8, .zone_size = 4u << 20};
  ASSERT_TRUE(CreateEmulatedFile(from, geometry, true, Timing::kZn540).ok());
  ASSERT_TRUE(Clone().ok());
  EXPECT_EQ(ReadEmulatedFileInfo(to)->timing, Timing::kZn540);
  if (::chown(from.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "needs root";
  const auto clone = EmulatedClone::Begin(from, to, true);
  ASSERT_TRUE(clone.has_value());
  EXPECT_EQ((*clone)->dropped_timing(), Timing::kZn540);
  ASSERT_TRUE((*clone)->Finish().ok());
  EXPECT_EQ(ReadEmulatedFileInfo(to)->timing, Timing::kNone);
}

TEST_F(EmulatedCloneTest, HoldsTheSameInAnotherDevice) {
  ASSERT_TRUE(Clone().ok());
  const auto one = Open(from);
  const auto other = Open(to);
  const auto zones = one->Report(ZoneId(0), 8);
  const auto cloned = other->Report(ZoneId(0), 8);
  ASSERT_TRUE(zones && cloned);
  for (std::size_t i = 0; i < zones->size(); ++i) {
    EXPECT_EQ((*cloned)[i].condition, (*zones)[i].condition) << i;
    EXPECT_EQ((*cloned)[i].WrittenBytes(), (*zones)[i].WrittenBytes()) << i;
  }
  for (const DeviceOffset at :
       {other->geometry().ZoneStart(ZoneId(0)) + 5 * kBlock, other->geometry().ZoneStart(ZoneId(3))}) {
    const auto read = ReadBack(*other, at, data.size());
    ASSERT_TRUE(read) << read.error().ToString();
    EXPECT_TRUE(SameBytes(read->View(), data.View()));
  }
  EXPECT_NE(ReadEmulatedFileInfo(to)->uuid, ReadEmulatedFileInfo(from)->uuid);
}

TEST_F(EmulatedCloneTest, StaysSparse) {
  ASSERT_TRUE(Clone().ok());
  const auto info = ReadEmulatedFileInfo(to);
  EXPECT_EQ(info->file_bytes, ReadEmulatedFileInfo(from)->file_bytes);
  EXPECT_LT(info->allocated_bytes, 2u << 20);
}

TEST_F(EmulatedCloneTest, OriginalInUseByAWriterIsRefused) {
  const auto writer = Open(from);
  const Error error = ErrorOfCloning();
  EXPECT_EQ(error.code(), Code::kBusy);
  EXPECT_THAT(error.text(), HasSubstr("in use by this process"));
  EXPECT_EQ(FilesInDirectory(), 1u);
}

TEST_F(EmulatedCloneTest, WriterIsKeptAwayUntilTheCloneIsDone) {
  auto clone = EmulatedClone::Begin(from, to, false);
  ASSERT_TRUE(clone);
  const auto writer = OpenEmulatedFile(from, OpenMode::kExclusive);
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code(), Code::kBusy);
  clone->reset();
  EXPECT_NE(Open(from), nullptr);
}

TEST_F(EmulatedCloneTest, AbandonedCloneLeavesNoFile) {
  ASSERT_TRUE(EmulatedClone::Begin(from, to, false));
  EXPECT_EQ(FilesInDirectory(), 1u);
}

TEST_F(EmulatedCloneTest, ExistingDeviceIsReplacedOnlyOnRequestAndWhenFree) {
  ASSERT_TRUE(CreateEmulatedFile(to, {.zones = 4, .zone_size = 4u << 20}, false).ok());
  EXPECT_EQ(ErrorOfCloning().code(), Code::kExists);
  {
    const auto holder = Open(to);
    EXPECT_EQ(ErrorOfCloning(/*overwrite=*/true).code(), Code::kBusy);
  }
  EXPECT_EQ(ReadEmulatedFileInfo(to)->geometry.zones, 4u);
  ASSERT_TRUE(Clone(/*overwrite=*/true).ok());
  EXPECT_EQ(ReadEmulatedFileInfo(to)->geometry.zones, 8u);
  EXPECT_EQ(FilesInDirectory(), 2u);
}

TEST_F(EmulatedCloneTest, OtherFilesAreNeverReplaced) {
  std::ofstream(to) << "somebody's thesis";
  EXPECT_EQ(ErrorOfCloning(/*overwrite=*/true).code(), Code::kInvalidArgument);
  EXPECT_EQ(std::filesystem::file_size(to), 17u);
  std::filesystem::remove(to);
  std::filesystem::create_hard_link(from, to);
  EXPECT_THAT(ErrorOfCloning(/*overwrite=*/true).text(), HasSubstr("is the device to clone"));
}

TEST_F(EmulatedCloneTest, FileMadeMeanwhileIsKept) {
  auto clone = EmulatedClone::Begin(from, to, false);
  ASSERT_TRUE(clone);
  std::ofstream(to) << "quicker";
  EXPECT_EQ((*clone)->Finish().error().code(), Code::kExists);
  clone->reset();
  EXPECT_EQ(std::filesystem::file_size(to), 7u);
  EXPECT_EQ(FilesInDirectory(), 2u);
}

// A limit on the file size simulates a host without space.
TEST_F(EmulatedCloneTest, CloneOnAFullHostFailsAndLeavesNoFile) {
  const LowerFileSizeLimit limit(1 << 20);
  const Error error = ErrorOfCloning();
  EXPECT_THAT(error.text(), HasSubstr(to));
  EXPECT_EQ(FilesInDirectory(), 1u);
}

}  // namespace
}  // namespace zenfs
