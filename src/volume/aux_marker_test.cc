#include "volume/aux_marker.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "testing/temp_directory.h"

namespace zenfs {
namespace {

class AuxMarkerTest : public testing::Test {
 protected:
  Status Mark(const Uuid& volume) const {
    ZENFS_ASSIGN_OR_RETURN(AuxMarker marker, AuxMarker::Prepare(directory_.path(), volume));
    return marker.Keep();
  }

  TempDirectory directory_;
  const std::string file_ = directory_.File(std::string(kAuxMarker));
  const Uuid volume_ = Uuid::Generate();
};

TEST_F(AuxMarkerTest, NamesTheVolumeThatWasMadeLast) {
  EXPECT_EQ(MarkedVolume(directory_.path()), std::nullopt);
  ASSERT_TRUE(Mark(Uuid::Generate()).ok());
  ASSERT_TRUE(Mark(volume_).ok());
  EXPECT_EQ(MarkedVolume(directory_.path()), volume_);
}

TEST_F(AuxMarkerTest, OneThatIsNotKeptLeavesWhatWasThere) {
  ASSERT_TRUE(Mark(volume_).ok());
  {
    ASSERT_TRUE(AuxMarker::Prepare(directory_.path(), Uuid::Generate()).has_value());
  }
  EXPECT_EQ(MarkedVolume(directory_.path()), volume_);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 1);
}

TEST_F(AuxMarkerTest, AFileOfSomebodyElseALinkAndOtherTextNameNothing) {
  std::ofstream(file_) << volume_.ToString();  // without the line feed, as a user may write it
  EXPECT_EQ(MarkedVolume(directory_.path()), volume_);
  std::filesystem::rename(file_, directory_.File("elsewhere"));
  std::filesystem::create_symlink(directory_.File("elsewhere"), file_);
  EXPECT_EQ(MarkedVolume(directory_.path()), std::nullopt);
  std::filesystem::remove(file_);
  std::ofstream(file_) << "yes, please";
  EXPECT_EQ(MarkedVolume(directory_.path()), std::nullopt);
  std::ofstream(file_) << volume_.ToString();
  if (::geteuid() != 0) GTEST_SKIP() << "NOT RUN: another owner's file needs root";
  ASSERT_EQ(::chown(file_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(MarkedVolume(directory_.path()), std::nullopt);
}

TEST_F(AuxMarkerTest, ADirectoryIsOwnUnlessOthersMayReplaceWhatIsInIt) {
  const auto stat = [&] {
    std::string name;
    return *HostDirectory::OpenParentOf(directory_.path(), name)->Stat(name);
  };
  EXPECT_TRUE(IsOwnDirectory(stat()));
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0777), 0);
  EXPECT_FALSE(IsOwnDirectory(stat()));
  ASSERT_EQ(::chmod(directory_.path().c_str(), 01777), 0);
  EXPECT_TRUE(IsOwnDirectory(stat()));
  if (::geteuid() != 0) GTEST_SKIP() << "NOT RUN: another owner's directory needs root";
  ASSERT_EQ(::chown(directory_.path().c_str(), 65534, 65534), 0);
  EXPECT_FALSE(IsOwnDirectory(stat()));
  ASSERT_EQ(::chown(directory_.path().c_str(), 0, 0), 0);
}

}  // namespace
}  // namespace zenfs
