#include "repair/metadata_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "repair/repair.h"
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

  Result<MetadataCopy> Verify() const {
    ZENFS_ASSIGN_OR_RETURN(const HostFile file, OpenMetadataFile(file_));
    return VerifyMetadataFile(file);
  }

  RepairRig rig_;
  TempDirectory directory_;
  const std::string file_ = directory_.File("copy.zmeta");
};

TEST_F(MetadataFileTest, ContainsTheWrittenPartOfEachZone) {
  const auto copy = Verify();
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
  EXPECT_EQ(CodeOf(Verify()), Code::kCorruption);
  FlipByte(40);
  ASSERT_TRUE(IsOk(Verify()));
  FlipByte(kMetadataCopyHeadBytes + 5000);
  const auto damaged = Verify();
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().text(), HasSubstr("its copy of zone 0 is damaged"));
}

TEST_F(MetadataFileTest, AFileOfAnotherLengthIsRefused) {
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) - 1);
  EXPECT_EQ(CodeOf(Verify()), Code::kCorruption);
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) + 2);
  EXPECT_EQ(CodeOf(Verify()), Code::kCorruption);
}

TEST_F(MetadataFileTest, AnExistingFileIsKeptAndAFailureLeavesNoFile) {
  EXPECT_EQ(CodeOf(SaveMetadata(rig_.device(), rig_.superblock(), {}, file_)), Code::kExists);
  ASSERT_TRUE(IsOk(Verify()));
  EXPECT_EQ(CodeOf(SaveMetadata(rig_.device(), rig_.superblock(), {}, directory_.File("no/such/directory"))),
            Code::kNotFound);
}

TEST_F(MetadataFileTest, OnlyItsOwnerMayReadIt) {
  EXPECT_EQ(std::filesystem::status(file_).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(MetadataFileTest, ALinkOrAPipeIsNeitherReadNorReplaced) {
  const std::string link = directory_.File("link");
  std::filesystem::create_symlink(file_, link);
  EXPECT_EQ(CodeOf(OpenMetadataFile(link)), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(UndoRepair(rig_.device(), link)), Code::kInvalidArgument);
  const std::string dangling = directory_.File("dangling");
  std::filesystem::create_symlink(directory_.File("new"), dangling);
  EXPECT_EQ(CodeOf(SaveMetadata(rig_.device(), rig_.superblock(), {}, dangling)), Code::kExists);
  EXPECT_FALSE(std::filesystem::exists(directory_.File("new")));
  const std::string pipe = directory_.File("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(CodeOf(UndoRepair(rig_.device(), pipe)), Code::kInvalidArgument);
}

TEST_F(MetadataFileTest, AFileThatChangesAfterItsVerificationIsAnError) {
  const auto copy = Verify();
  ASSERT_TRUE(IsOk(copy));
  const auto file = OpenMetadataFile(file_);
  ASSERT_TRUE(IsOk(file));
  FlipByte(kMetadataCopyHeadBytes + 5000);
  const Status restored = RestoreZone(rig_.device(), copy->zones.front(), *file, kMetadataCopyHeadBytes);
  ASSERT_EQ(CodeOf(restored), Code::kCorruption);
  EXPECT_THAT(restored.error().text(), HasSubstr("was changed"));
}

TEST_F(MetadataFileTest, ARestoredZoneHasItsOldBytes) {
  const auto copy = Verify();
  ASSERT_TRUE(IsOk(copy));
  std::uint64_t offset = kMetadataCopyHeadBytes;
  for (const CopiedZone& zone : copy->zones) {
    const ZoneBytes before = RepairRig::ContentOf(rig_.device(), zone.zone);
    ASSERT_TRUE(IsOk(rig_.device().Reset(zone.zone)));
    ASSERT_TRUE(IsOk(RestoreZone(rig_.device(), zone, *OpenMetadataFile(file_), offset)));
    EXPECT_EQ(RepairRig::ContentOf(rig_.device(), zone.zone), before);
    offset += zone.bytes;
  }
}

}  // namespace
}  // namespace zenfs
