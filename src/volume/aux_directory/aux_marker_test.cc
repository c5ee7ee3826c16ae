#include "volume/aux_directory/aux_directory.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "testing/temp_directory.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

class AuxMarkerTest : public testing::Test {
 protected:
  HostDirectory Directory() const { return *HostDirectory::OpenTrusted(directory_.path()); }
  Status Mark(const Superblock& volume) const {
    ZENFS_ASSIGN_OR_RETURN(AuxMarker marker, AuxMarker::Prepare(Directory(), volume.uuid, volume.aux_secret));
    return marker.Keep();
  }
  // Why `volume` is not permitted; empty if it is.
  std::string Refusal(const Superblock& volume) const {
    const Status status = CheckAuxMarker(Directory(), volume);
    if (status.ok()) return "";
    EXPECT_EQ(status.error().code(), Code::kPermission);
    return status.error().text();
  }
  static Superblock AVolume() { return {.uuid = Uuid::Generate(), .aux_secret = Uuid::Generate()}; }

  TempDirectory directory_;
  const std::string file_ = directory_.File(std::string(kAuxMarker));
  const Superblock volume_ = AVolume();
};

TEST_F(AuxMarkerTest, PermitsTheVolumeThatWasMadeLast) {
  EXPECT_THAT(Refusal(volume_), HasSubstr(file_ + " does not exist"));
  ASSERT_TRUE(Mark(AVolume()).ok());
  EXPECT_THAT(Refusal(volume_), HasSubstr("another file system"));
  ASSERT_TRUE(Mark(volume_).ok());
  EXPECT_EQ(Refusal(volume_), "");
}

TEST_F(AuxMarkerTest, AnImageThatHasOnlyTheUuidOfTheVolumeIsNotPermitted) {
  ASSERT_TRUE(Mark(volume_).ok());
  Superblock copied = volume_;
  copied.aux_secret = Uuid::Generate();
  EXPECT_THAT(Refusal(copied), HasSubstr("another file system"));
  copied.aux_secret = {};
  EXPECT_THAT(Refusal(copied), HasSubstr("older version"));
  std::ofstream(file_) << volume_.uuid.ToString() << '\n';  // as older versions wrote it
  EXPECT_NE(Refusal(volume_), "");
  EXPECT_NE(Refusal(copied), "");
}

TEST_F(AuxMarkerTest, OneThatIsNotKeptLeavesWhatWasThere) {
  ASSERT_TRUE(Mark(volume_).ok());
  {
    ASSERT_TRUE(AuxMarker::Prepare(Directory(), Uuid::Generate(), Uuid::Generate()).has_value());
  }
  EXPECT_EQ(Refusal(volume_), "");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 1);
}

TEST_F(AuxMarkerTest, AFileOfSomebodyElseALinkAndOneThatOthersReadPermitNothing) {
  ASSERT_TRUE(Mark(volume_).ok());
  ASSERT_EQ(::chmod(file_.c_str(), 0640), 0);
  EXPECT_THAT(Refusal(volume_), HasSubstr("mode 0600"));
  ASSERT_EQ(::chmod(file_.c_str(), 0600), 0);
  std::filesystem::rename(file_, directory_.File("elsewhere"));
  std::filesystem::create_symlink(directory_.File("elsewhere"), file_);
  EXPECT_THAT(Refusal(volume_), HasSubstr("can't be read"));
  std::filesystem::rename(directory_.File("elsewhere"), file_);
  EXPECT_EQ(Refusal(volume_), "");
  if (::geteuid() != 0) GTEST_SKIP() << "NOT RUN: another owner's file needs root";
  ASSERT_EQ(::chown(file_.c_str(), 65534, 65534), 0);
  EXPECT_THAT(Refusal(volume_), HasSubstr("another user"));
}

}  // namespace
}  // namespace zenfs
