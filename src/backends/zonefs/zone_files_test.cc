#include "backends/zonefs/zone_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "testing/forked_child.h"
#include "testing/temp_directory.h"
#include "testing/unprivileged.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

TEST(ZoneAccessTest, MissingPermissionBitsShowAFailedZone) {
  EXPECT_EQ(AccessOfMode(0100640, 0640), ZoneAccess::kWritable);
  EXPECT_EQ(AccessOfMode(0100440, 0640), ZoneAccess::kReadOnly);
  EXPECT_EQ(AccessOfMode(0100000, 0640), ZoneAccess::kOffline);
  EXPECT_EQ(AccessOfMode(0100400, 0600), ZoneAccess::kReadOnly);
}

TEST(ZoneAccessTest, BitsThatNoZoneHasShowNoFailure) {
  EXPECT_EQ(AccessOfMode(0100440, 0440), ZoneAccess::kWritable);
  EXPECT_EQ(AccessOfMode(0100000, 0), ZoneAccess::kWritable);
  EXPECT_EQ(AccessOfMode(0100000, 0440), ZoneAccess::kOffline);
}

// A directory of plain files on a file system of the host, not on zonefs.
class ZoneDirectoryTest : public testing::Test {
 protected:
  ZoneDirectoryTest() {
    std::filesystem::permissions(directory.path(), std::filesystem::perms(0755));
    for (const char* name : {"0", "1", "2"}) Make(name);
  }
  void Make(const std::string& name, mode_t mode = 0640) {
    std::ofstream(directory.File(name)) << std::string(8192, 'x');
    ::chmod(directory.File(name).c_str(), mode);
  }
  Result<std::unique_ptr<ZoneDirectory>> Open() { return ZoneDirectory::Open(directory.path()); }

  TempDirectory directory;
};

TEST_F(ZoneDirectoryTest, FilesAreTheZones) {
  for (int i = 3; i < 12; ++i) Make(std::to_string(i));
  const auto zones = Open();
  ASSERT_TRUE(zones) << zones.error().ToString();
  EXPECT_EQ((*zones)->count(), 12u);
  EXPECT_EQ((*zones)->granted(), 0640u);
  EXPECT_EQ((*zones)->Look(ZoneId(11))->size, 8192u);
  EXPECT_EQ((*zones)->Path(ZoneId(7)), directory.File("7"));
}

TEST_F(ZoneDirectoryTest, GapsAndStrangersAreRefused) {
  Make("4");
  EXPECT_THAT(Open().error().text(), HasSubstr("zones are missing"));
  std::filesystem::rename(directory.File("4"), directory.File("3.old"));
  EXPECT_THAT(Open().error().text(), HasSubstr("'3.old'"));
  EXPECT_EQ(Open().error().code(), Code::kInvalidArgument);
}

TEST_F(ZoneDirectoryTest, EmptyDirectoryHasNoZones) {
  const TempDirectory empty;
  EXPECT_EQ(ZoneDirectory::Open(empty.path()).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(ZoneDirectory::Open(empty.File("seq")).error().code(), Code::kNotFound);
}

TEST_F(ZoneDirectoryTest, ModesTellDeadZones) {
  const auto zones = Open().value();
  Make("1", 0440);
  Make("2", 0);
  EXPECT_EQ(zones->Look(ZoneId(0))->access, ZoneAccess::kWritable);
  EXPECT_EQ(zones->Look(ZoneId(1))->access, ZoneAccess::kReadOnly);
  EXPECT_EQ(zones->Look(ZoneId(2))->access, ZoneAccess::kOffline);
}

TEST_F(ZoneDirectoryTest, TruncateNeedsNoDescriptorAndNoPath) {
  const auto zones = Open().value();
  ASSERT_TRUE(zones->Truncate(ZoneId(1), 0).ok());
  EXPECT_EQ(zones->Look(ZoneId(1))->size, 0u);
  std::filesystem::create_directory(directory.File("moved"));
  const TempDirectory elsewhere;
  std::filesystem::rename(directory.File("1"), directory.File("moved/1"));
  EXPECT_EQ(zones->Truncate(ZoneId(1), 4096).error().code(), Code::kNotFound);
  EXPECT_EQ(std::filesystem::file_size(directory.File("moved/1")), 0u);
}

TEST_F(ZoneDirectoryTest, OneHolderAtATime) {
  auto first = Open().value();
  const auto second = Open().value();
  ASSERT_TRUE(first->Lock().ok());
  const Status busy = second->Lock();
  ASSERT_FALSE(busy.ok());
  EXPECT_EQ(busy.error().code(), Code::kBusy);
  EXPECT_THAT(busy.error().text(), HasSubstr(directory.path()));
  first.reset();
  EXPECT_TRUE(second->Lock().ok());
}

TEST_F(ZoneDirectoryTest, MissingPermissionIsAnErrorWithTheFileAndTheRemedy) {
  const Unprivileged nobody_else;
  const auto zones = Open();
  ASSERT_TRUE(zones) << zones.error().ToString();
  const Status refused = (*zones)->CheckPermission(true);
  if (refused.ok()) GTEST_SKIP() << "the files are this user's own";
  EXPECT_EQ(refused.error().code(), Code::kPermission);
  EXPECT_THAT(refused.error().text(), HasSubstr(directory.File("0")));
  EXPECT_THAT(refused.error().ToString(), HasSubstr("mkzonefs -o"));
}

TEST_F(ZoneDirectoryTest, DeadZonesDoNotCountAsLackOfPermission) {
  Make("0", 0440);
  const auto zones = Open().value();
  EXPECT_TRUE(zones->CheckPermission(true).ok());
}

TEST_F(ZoneDirectoryTest, LockEndsWithItsHolderAlthoughAForkedChildLives) {
  auto zones = Open().value();
  ASSERT_TRUE(zones->Lock().ok());
  const ForkedChild child;
  zones.reset();
  EXPECT_TRUE(Open().value()->Lock().ok());
  EXPECT_TRUE(child.alive());
}

}  // namespace
}  // namespace zenfs
