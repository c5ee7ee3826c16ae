#include "repair/metadata_file.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/free_bytes.h"
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

  // Fills an empty metadata zone with zeros, but for `tail` at its end. Returns the zone.
  ZoneId WriteZeros(std::string_view tail = {}) {
    const auto& zones = rig_.superblock().metadata_zones;
    const auto empty = std::ranges::find_if(
        zones, [&](ZoneId zone) { return rig_.device().ReportZone(zone)->WrittenBytes() == 0; });
    EXPECT_NE(empty, zones.end());
    AlignedBuffer zeros(rig_.device().ReportZone(*empty)->capacity);
    zeros.Resize(zeros.capacity());
    std::ranges::fill(zeros.Span(), std::byte{0});
    std::ranges::copy(AsBytes(tail), zeros.Span().last(tail.size()).begin());
    EXPECT_TRUE(IsOk(rig_.device().Write(rig_.device().geometry().ZoneStart(*empty), zeros.View())));
    return *empty;
  }

  static std::uint64_t RoomOf(const std::string& path) {
    struct stat st{};
    EXPECT_EQ(::stat(path.c_str(), &st), 0);
    constexpr std::uint64_t kUnit = 512;  // of st_blocks
    return static_cast<std::uint64_t>(st.st_blocks) * kUnit;
  }

  Status Save(const std::string& path) { return SaveMetadata(rig_.device(), rig_.superblock(), {}, path); }

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

TEST_F(MetadataFileTest, ZerosOfAZoneTakeNoRoomInTheCopy) {
  const std::uint64_t length = std::filesystem::file_size(file_);
  const std::string larger = directory_.File("larger.zmeta");
  const std::uint64_t zeros = rig_.device().ReportZone(WriteZeros())->capacity;
  ASSERT_TRUE(IsOk(Save(larger)));
  EXPECT_EQ(std::filesystem::file_size(larger), length + zeros);
  EXPECT_LT(RoomOf(larger), length + zeros / 2);
}

TEST_F(MetadataFileTest, BytesBehindZerosComeBackToTheirPlace) {
  const ZoneId filled = WriteZeros("the last bytes of the zone");
  const ZoneBytes before = RepairRig::ContentOf(rig_.device(), filled);
  const std::string sparse = directory_.File("sparse.zmeta");
  ASSERT_TRUE(IsOk(Save(sparse)));
  const auto file = OpenMetadataFile(sparse);
  ASSERT_TRUE(IsOk(file));
  const auto copy = VerifyMetadataFile(*file);
  ASSERT_TRUE(IsOk(copy));
  std::uint64_t offset = kMetadataCopyHeadBytes;
  for (const CopiedZone& zone : copy->zones) {
    if (zone.zone == filled) {
      ASSERT_TRUE(IsOk(RestoreZone(rig_.device(), zone, *file, offset)));
    }
    offset += zone.bytes;
  }
  EXPECT_EQ(RepairRig::ContentOf(rig_.device(), filled), before);
}

TEST_F(MetadataFileTest, ACopyThatDoesNotFitIsRefusedBeforeItsFirstByte) {
  const std::string other = directory_.File("other.zmeta");
  WriteZeros();
  const std::vector<ZoneBytes> before = RepairRig::AllZones(rig_.device());
  {
    const FreeBytesForTests full(kMetadataCopyHeadBytes);
    const Status saved = Save(other);
    ASSERT_EQ(CodeOf(saved), Code::kNoSpace);
    EXPECT_THAT(saved.error().text(), HasSubstr("4.00 KiB are free"));
    EXPECT_THAT(saved.error().text(), HasSubstr("nothing was changed"));
    EXPECT_FALSE(std::filesystem::exists(other));
  }
  EXPECT_EQ(RepairRig::AllZones(rig_.device()), before);
  const FreeBytesForTests enough(std::filesystem::file_size(file_));  // zeros need none
  EXPECT_TRUE(IsOk(Save(other)));
}

TEST_F(MetadataFileTest, AFailedWriteLeavesNoFile) {
  const std::string other = directory_.File("other.zmeta");
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit limit{.rlim_cur = kMetadataCopyHeadBytes + 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Status saved = Save(other);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(saved.ok());
  EXPECT_FALSE(std::filesystem::exists(other));
}

}  // namespace
}  // namespace zenfs
