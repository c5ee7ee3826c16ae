#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <fstream>

#include "backends/zonefs/zonefs_device.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

class MountTableTest : public testing::Test {
 protected:
  std::vector<ZonefsMount> Parse(const std::string& text) {
    std::ofstream(directory_.File("mountinfo")) << text;
    return ZonefsMounts(directory_.File("mountinfo"));
  }

 private:
  TempDirectory directory_;
};

constexpr char kTable[] =
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "23 22 0:21 / /proc rw,nosuid - proc proc rw\n"
    "36 22 259:3 / /mnt/z rw,relatime shared:31 master:2 - zonefs /dev/nvme0n1 rw,errors=repair\n"
    "37 22 252:0 / /mnt/my\\040zones rw,relatime - zonefs /dev/nullb0 ro\n"
    "38 22 252:1 / /mnt/seen ro,relatime - zonefs /dev/nullb1 rw\n"
    "39 22 8:1 / /zonefs rw - xfs /dev/zonefs rw\n";

TEST_F(MountTableTest, FindsZonefsMountsAndNoOthers) {
  const auto mounts = Parse(kTable);
  ASSERT_EQ(mounts.size(), 3u);
  EXPECT_EQ(mounts[0].mountpoint, "/mnt/z");
  EXPECT_EQ(mounts[0].source, "/dev/nvme0n1");
  EXPECT_EQ(mounts[0].device, makedev(259, 3));
  EXPECT_FALSE(mounts[0].read_only);
}

TEST_F(MountTableTest, SpacesInPathsAreUnescaped) { EXPECT_EQ(Parse(kTable)[1].mountpoint, "/mnt/my zones"); }

TEST_F(MountTableTest, ReadOnlyIsWhatTheMountOrTheWholeFileSystemIs) {
  const auto mounts = Parse(kTable);
  EXPECT_TRUE(mounts[1].read_only);
  EXPECT_TRUE(mounts[2].read_only);
}

TEST_F(MountTableTest, OtherTextIsNoMount) {
  EXPECT_TRUE(Parse("").empty());
  EXPECT_TRUE(Parse("36 22 259:3 / /mnt/z rw - zonefs\n").empty());
  EXPECT_TRUE(Parse("36 22 259 / /mnt/z rw - zonefs /dev/x rw\n").empty());
  EXPECT_TRUE(Parse("36 22 259:3 / /mnt/z rw\nzonefs\n\n").empty());
  EXPECT_TRUE(ZonefsMounts("/no/such/table").empty());
}

TEST_F(MountTableTest, BackslashesThatEscapeNothingStay) {
  EXPECT_EQ(Parse("1 1 1:1 / /a\\b\\0409\\04 rw - zonefs /dev/x rw\n")[0].mountpoint, "/a\\b 9\\04");
}

}  // namespace
}  // namespace zenfs
