// Which append buffers a mount accepts: by their owner, and by the key on the device.
#include <unistd.h>

#include "buffers/buffer_area_test_rig.h"

namespace zenfs {
namespace {

using OrphanedBuffersTrustTest = BufferAreaTest;

TEST(BufferAreaPlaceTest, OnlyThePathOfAppendBuffersIsAPlace) {
  const std::string name = BufferAreaNamePrefix("file:1:2") + "0123456789abcdef";
  ASSERT_TRUE(IsBufferAreaName(name));
  for (const std::string directory : {"/dev/shm", "/run/user/1000", "/a b"}) {
    const auto place = BufferAreaPlace::Parse("boot " + directory + "/" + name);
    ASSERT_TRUE(place) << directory;
    EXPECT_EQ(place->path, directory + "/" + name);
    EXPECT_EQ(place->ToText(), "boot " + directory + "/" + name);
  }
  for (const std::string& path : std::vector<std::string>{
           "/etc/passwd", "/dev/shm/../../etc/" + name, "/dev/shm//" + name, "dev/shm/" + name,
           "/dev/shm/./" + name, "/dev/shm/" + name + "/x", "/dev/shm/" + name + "0", "/dev/shm/x" + name,
           "/dev/shm/zenfs-0123456789ABCDEF-0123456789abcdef",
           "/dev/shm/zenfs-0123456789abcdef_0123456789abcdef", "/", "", "/dev/shm/" + name + "\n"}) {
    EXPECT_FALSE(BufferAreaPlace::Parse("boot " + path)) << path;
  }
  EXPECT_FALSE(BufferAreaPlace::Parse(" /dev/shm/" + name));
  EXPECT_FALSE(BufferAreaPlace::Parse("/dev/shm/" + name));
}

TEST_F(OrphanedBuffersTrustTest, EachMountHasItsOwnKey) {
  const SetBufferPlace first = area_->PlaceEdit();
  EXPECT_EQ(first.key.size(), kBufferKeyBytes);
  EXPECT_EQ(first.maker, geteuid());
  EXPECT_NE(Make(8)->PlaceEdit().key, first.key);
}

TEST_F(OrphanedBuffersTrustTest, BuffersWithAWrongKeyAreRefused) {
  KeepPlace();
  Die(Buffer(1, 0, "forged"));
  ForgeKey('k');
  const auto left = OpenOrphanedBuffers(Whose());
  ASSERT_EQ(CodeOf(left), Code::kCorruption);
  EXPECT_NE(left.error().text().find("key"), std::string::npos) << left.error().text();
  EXPECT_NE(Look(Whose()).problem(), "");
  EXPECT_TRUE(Look(Whose()).pieces().empty());
}

TEST_F(OrphanedBuffersTrustTest, BuffersOfAProgramWithoutKeysAreFound) {
  KeepPlace();
  Die(Buffer(1, 0, "old"));
  ForgeKey('\0');
  WhoseBuffers whose = Whose();
  EXPECT_EQ(CodeOf(OpenOrphanedBuffers(whose)), Code::kCorruption);
  whose.key.clear();
  const auto left = OpenOrphanedBuffers(whose);
  ASSERT_TRUE(left) << left.error().ToString();
  ASSERT_EQ(left->pieces.size(), 1u);
  EXPECT_EQ(AsText(left->pieces[0].bytes), "old");
}

TEST_F(OrphanedBuffersTrustTest, AnotherUsersFileIsANoticeUnlessThatUserIsTrusted) {
  if (geteuid() != 0) GTEST_SKIP() << "this test needs root, to give a file to another user";
  KeepPlace();
  Die(Buffer(1, 0, "abc"));
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(chown(path_().c_str(), kNobody, kNobody), 0);
  WhoseBuffers whose = Whose();
  auto left = OpenOrphanedBuffers(whose);
  ASSERT_TRUE(left) << left.error().ToString();
  EXPECT_TRUE(left->pieces.empty());
  EXPECT_NE(left->notice.find("belongs to user 65534"), std::string::npos) << left->notice;
  EXPECT_NE(Look(whose).problem(), "");

  whose.owners = {kNobody};
  left = OpenOrphanedBuffers(whose);
  ASSERT_TRUE(left) << left.error().ToString();
  EXPECT_EQ(left->pieces.size(), 1u);
}

// Without a record of the maker, the file may belong to another user, such as a database's user.
TEST_F(OrphanedBuffersTrustTest, AnotherUsersFileWithoutAKeyIsRefusedWithAWayToKeepIt) {
  if (geteuid() != 0) GTEST_SKIP() << "this test needs root, to give a file to another user";
  KeepPlace();
  Die(Buffer(1, 0, "abc"));
  ForgeKey('\0');
  ASSERT_EQ(chown(path_().c_str(), 65534, 65534), 0);
  WhoseBuffers whose = Whose();
  whose.key.clear();
  const auto left = OpenOrphanedBuffers(whose);
  ASSERT_EQ(CodeOf(left), Code::kPermission);
  EXPECT_NE(left.error().text().find("chown"), std::string::npos) << left.error().text();
}

TEST_F(OrphanedBuffersTrustTest, ASweepLeavesFilesOfOtherUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "this test needs root, to give a file to another user";
  const std::string foreign = Make(8)->path();
  ASSERT_EQ(chown(foreign.c_str(), 65534, 65534), 0);
  SweepOrphanedBuffers(directory_, "file:1:2", area_->path(), {});
  EXPECT_TRUE(std::filesystem::exists(foreign));
  SweepOrphanedBuffers(directory_, "file:1:2", area_->path(), {65534});
  EXPECT_FALSE(std::filesystem::exists(foreign));
}

}  // namespace
}  // namespace zenfs
