#include "repair/metadata_file.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "repair/repair_test_rig.h"

namespace zenfs {
namespace {

using ::testing::HasSubstr;

class MetadataFileTest : public testing::Test {
 protected:
  MetadataFileTest() {
    EXPECT_TRUE(IsOk(SaveMetadata(rig_.device(), rig_.superblock(), {.highest_sequence = 9}, file_)));
  }

  void FlipByte(std::uint64_t at) const {
    std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(file.get() ^ 4);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }

  RepairRig rig_;
  TempDirectory directory_;
  const std::string file_ = directory_.File("copy.zmeta");
};

TEST_F(MetadataFileTest, HasWhatWasWrittenOfEachZone) {
  const auto copy = VerifyMetadataFile(file_);
  ASSERT_TRUE(IsOk(copy));
  EXPECT_EQ(copy->uuid, rig_.superblock().uuid);
  EXPECT_EQ(copy->highest_sequence, 9u);
  ASSERT_EQ(copy->zones.size(), rig_.superblock().metadata_zones.size());
  std::uint64_t bytes = kMetadataCopyHeadBytes;
  for (const CopiedZone& zone : copy->zones) {
    EXPECT_EQ(zone.bytes, RepairRig::ContentOf(rig_.device(), zone.zone).written);
    bytes += zone.bytes;
  }
  EXPECT_EQ(std::filesystem::file_size(file_), bytes);
}

TEST_F(MetadataFileTest, DamageInTheHeadOrAZoneIsFound) {
  FlipByte(40);
  EXPECT_EQ(CodeOf(VerifyMetadataFile(file_)), Code::kCorruption);
  FlipByte(40);
  ASSERT_TRUE(IsOk(VerifyMetadataFile(file_)));
  FlipByte(kMetadataCopyHeadBytes + 5000);
  const auto damaged = VerifyMetadataFile(file_);
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().text(), HasSubstr("what it has of zone 0 is damaged"));
}

TEST_F(MetadataFileTest, AFileOfAnotherLengthIsRefused) {
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) - 1);
  EXPECT_EQ(CodeOf(VerifyMetadataFile(file_)), Code::kCorruption);
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) + 2);
  EXPECT_EQ(CodeOf(VerifyMetadataFile(file_)), Code::kCorruption);
}

TEST_F(MetadataFileTest, NothingIsReplacedAndNothingLeftBehind) {
  EXPECT_EQ(CodeOf(SaveMetadata(rig_.device(), rig_.superblock(), {}, file_)), Code::kExists);
  ASSERT_TRUE(IsOk(VerifyMetadataFile(file_)));
  EXPECT_EQ(CodeOf(SaveMetadata(rig_.device(), rig_.superblock(), {}, directory_.File("no/such/directory"))),
            Code::kNotFound);
}

TEST_F(MetadataFileTest, ARestoredZoneIsAsItWas) {
  const auto copy = VerifyMetadataFile(file_);
  ASSERT_TRUE(IsOk(copy));
  std::uint64_t offset = kMetadataCopyHeadBytes;
  for (const CopiedZone& zone : copy->zones) {
    const ZoneContent before = RepairRig::ContentOf(rig_.device(), zone.zone);
    ASSERT_TRUE(IsOk(rig_.device().Reset(zone.zone)));
    ASSERT_TRUE(IsOk(RestoreZone(rig_.device(), zone, file_, offset)));
    EXPECT_EQ(RepairRig::ContentOf(rig_.device(), zone.zone), before);
    offset += zone.bytes;
  }
}

}  // namespace
}  // namespace zenfs
