#include "rocksdb_plugin/mounted_file.h"

#include <gtest/gtest.h>

#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

class OpenMetadataTest : public VolumeTest {
 protected:
  MountedFile File(const std::string& path) {
    Put(path, "bytes");
    auto handle = volume_->OpenForRead(path);
    EXPECT_TRUE(IsOk(handle));
    return {.volume = volume_, .handle = *std::move(handle), .path = path};
  }
};

TEST_F(OpenMetadataTest, LeadsBackToTheFile) {
  const MountedFile file = File("a.sst");
  const std::string metadata = OpenMetadataOf(file);
  EXPECT_EQ(metadata.size(), 24u);
  EXPECT_EQ(FileOfOpenMetadata(*volume_, metadata), file.handle->id());
}

TEST_F(OpenMetadataTest, ThatOfAnotherVolumeOrOfAnotherFileSystemLeadsToNone) {
  std::string metadata = OpenMetadataOf(File("a.sst"));
  metadata[3] = static_cast<char>(metadata[3] + 1);
  EXPECT_EQ(FileOfOpenMetadata(*volume_, metadata), kNoFile);
  EXPECT_EQ(FileOfOpenMetadata(*volume_, ""), kNoFile);
  EXPECT_EQ(FileOfOpenMetadata(*volume_, std::string(8192, 'x')), kNoFile);
}

TEST_F(OpenMetadataTest, ThatWasCutOrGrownLeadsToNone) {
  const std::string metadata = OpenMetadataOf(File("a.sst"));
  for (std::size_t n = 0; n < metadata.size(); ++n) {
    EXPECT_EQ(FileOfOpenMetadata(*volume_, metadata.substr(0, n)), kNoFile) << n;
  }
  EXPECT_EQ(FileOfOpenMetadata(*volume_, metadata + "x"), kNoFile);
}

}  // namespace
}  // namespace zenfs
