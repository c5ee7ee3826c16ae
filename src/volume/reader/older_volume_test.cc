// Volumes of the older ZenFS through the front door: everything that only looks reads them, everything that writes refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "testing/older_writer.h"
#include "volume/fsck/scrub.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

class OlderVolumeTest : public testing::Test {
 protected:
  // A table over two zones, a log in segments, and one that was open when its writer died.
  void SetUp() override {
    writer_.Superblock(ZoneId(0), 1);
    table_ = std::string(9000, 't') + std::string(3000, 'u');
    log_ = std::string(100, 'a') + std::string(5000, 'b');
    const auto front = writer_.Plain(ZoneId(3), std::string(9000, 't'));
    const auto back = writer_.Plain(ZoneId(4), std::string(3000, 'u'));
    const auto first = writer_.Segment(ZoneId(5), std::string(100, 'a'));
    const auto second = writer_.Segment(ZoneId(5), std::string(5000, 'b'));
    const auto open = writer_.Segment(ZoneId(6), "open");
    writer_.Snapshot(
        {{.id = 2, .names = {"db/1.sst", "ckpt/1.sst"}, .size = 12000, .extents = {front, back}, .mtime = 99},
         {.id = 3, .names = {"db/2.log"}, .size = 5100, .extents = {first, second}, .framed = true},
         {.id = 4, .names = {"db/3.log"}, .active_start = open.start - 8, .framed = true}});
  }

  std::shared_ptr<Volume> Mount() {
    auto volume = Volume::Mount(MakeReadOnlyView(*device_), {});
    EXPECT_TRUE(IsOk(volume));
    return volume ? *volume : nullptr;
  }

  std::unique_ptr<EmulatorDevice> device_ = CreateMemoryDevice(SmallGeometry());
  OlderWriter writer_{*device_};
  std::string table_;
  std::string log_;
};

TEST_F(OlderVolumeTest, FilesReadAsTheyWereWritten) {
  const auto volume = Mount();
  ASSERT_NE(volume, nullptr);
  EXPECT_EQ(*GetFile(*volume, "db/1.sst"), table_);
  EXPECT_EQ(*GetFile(*volume, "ckpt/1.sst"), table_);
  EXPECT_EQ(*GetFile(*volume, "db/2.log"), log_);
  EXPECT_EQ(*GetFile(*volume, "db/3.log"), "open");
  const auto stat = volume->Stat("/db/1.sst");
  ASSERT_TRUE(IsOk(stat));
  EXPECT_EQ(stat->links, 2U);
  EXPECT_EQ(stat->mtime_seconds, 99U);
  EXPECT_EQ(volume->List("db")->size(), 3U);
}

TEST_F(OlderVolumeTest, EachByteOfASegmentIsReadAtItsOffset) {
  const auto volume = Mount();
  ASSERT_NE(volume, nullptr);
  const auto file = volume->OpenForRead("db/2.log");
  ASSERT_TRUE(IsOk(file));
  for (const std::size_t from : {0U, 1U, 99U, 100U, 4187U, 4188U, 5099U}) {
    std::string got(2, '\0');
    const auto n = (*file)->Read(from, std::as_writable_bytes(std::span(got)));
    ASSERT_TRUE(IsOk(n));
    EXPECT_EQ(got.substr(0, *n), log_.substr(from, 2)) << from;
  }
}

TEST_F(OlderVolumeTest, ItsFormatIsSaidOnce) {
  const auto volume = Mount();
  ASSERT_NE(volume, nullptr);
  const std::vector<std::string> notices = volume->notices();
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_THAT(notices.front(), HasSubstr("a volume of the older ZenFS, format 2, which is only read"));
}

TEST_F(OlderVolumeTest, SpaceIsThatOfItsBlocks) {
  const auto volume = Mount();
  ASSERT_NE(volume, nullptr);
  constexpr std::uint64_t kBlockBytes = 4096;
  const SpaceReport space = volume->Space();
  // The table has 3 blocks and 1, the segments 1 and 2, the open one 1.
  EXPECT_EQ(space.live, 8 * kBlockBytes);
  EXPECT_EQ(space.padding, 8 * kBlockBytes - 12000 - 5100 - 4);
  EXPECT_EQ(space.metadata_used, 2 * kBlockBytes);
  EXPECT_EQ(space.garbage, 0U);
  EXPECT_EQ(space.log + space.reclaim, 0U);
  EXPECT_EQ(space.total, space.metadata + space.live + space.garbage + space.free + space.lost);
}

TEST_F(OlderVolumeTest, CheckAndScrubFindNothingButTheFormat) {
  const auto checked = CheckVolume(*device_, {.read_data = true});
  ASSERT_TRUE(IsOk(checked));
  ASSERT_EQ(checked->findings.size(), 1U) << checked->findings.back().text;
  EXPECT_EQ(checked->findings.front().severity, Severity::kNote);
  EXPECT_THAT(checked->findings.front().text, HasSubstr("no checksums of contents"));
  EXPECT_EQ(checked->files, 3U);
  EXPECT_EQ(checked->data_bytes, 8U * 4096);
  const auto scrubbed = ScrubVolume(*device_, {});
  ASSERT_TRUE(IsOk(scrubbed));
  EXPECT_EQ(scrubbed->findings.size(), 1U);
  EXPECT_EQ(scrubbed->superblocks, 1U);
  EXPECT_EQ(scrubbed->metadata_frames, 1U);
  EXPECT_EQ(scrubbed->extents_without_checksum, 5U);
  EXPECT_EQ(scrubbed->bytes_without_checksum, 12000U + 5100 + 4);
}

TEST_F(OlderVolumeTest, AFileInAnOfflineZoneIsLostAndTheOthersAreRead) {
  ASSERT_TRUE(device_->SetCondition(ZoneId(4), ZoneCondition::kOffline).ok());
  const auto volume = Mount();
  ASSERT_NE(volume, nullptr);
  EXPECT_FALSE(GetFile(*volume, "db/1.sst").ok());
  EXPECT_EQ(*GetFile(*volume, "db/2.log"), log_);
  const auto checked = CheckVolume(*device_, {});
  ASSERT_TRUE(IsOk(checked));
  EXPECT_FALSE(checked->clean());
}

TEST_F(OlderVolumeTest, DamagedMetadataIsOneErrorOfCheckAndScrub) {
  writer_.Raw(std::string(4096, 'x'));
  writer_.Snapshot({});
  const auto mounted = Volume::Mount(MakeReadOnlyView(*device_), {});
  EXPECT_EQ(CodeOf(mounted), Code::kCorruption);
  const auto checked = CheckVolume(*device_, {});
  ASSERT_TRUE(IsOk(checked));
  ASSERT_EQ(checked->findings.size(), 1U);
  EXPECT_EQ(checked->findings.front().severity, Severity::kError);
  const auto scrubbed = ScrubVolume(*device_, {});
  ASSERT_TRUE(IsOk(scrubbed));
  ASSERT_EQ(scrubbed->findings.size(), 1U);
  EXPECT_EQ(scrubbed->findings.front().severity, Severity::kError);
}

TEST_F(OlderVolumeTest, WritersRefuseAndLeaveTheDeviceAsItIs) {
  const auto mounted = Volume::Mount(Borrow(*device_), {});
  EXPECT_EQ(CodeOf(mounted), Code::kNotSupported);
  EXPECT_THAT(mounted.error().ToString(), HasSubstr("zenfs backup, then zenfs mkfs --force"));
  EXPECT_EQ(CodeOf(FormatVolume(*device_, {})), Code::kExists);
  const auto reader = Mount();
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(CodeOf(reader->Create("a")), Code::kReadOnly);
  EXPECT_EQ(*GetFile(*reader, "db/1.sst"), table_);
}

TEST_F(OlderVolumeTest, MkfsByForceReplacesIt) {
  ASSERT_TRUE(IsOk(FormatVolume(*device_, {.force = true})));
  const auto probed = ProbeReadable(*device_);
  ASSERT_TRUE(IsOk(probed));
  EXPECT_FALSE(probed->is_older());
}

// Zones follow each other there without the gap behind their capacity.
TEST(OlderVolumeOfZonefs, IsReadInTheAddressSpaceOfItsZoneFiles) {
  EmulatorGeometry geometry = SmallGeometry();
  geometry.zone_size = geometry.zone_capacity;
  const auto device = CreateMemoryDevice(geometry);
  OlderWriter writer(*device);
  writer.Superblock(ZoneId(0), 1);
  const auto place = writer.Plain(ZoneId(39), std::string(5000, 'z'));
  EXPECT_EQ(place.start, 39U * (768 << 10));
  writer.Snapshot({{.id = 2, .names = {"a"}, .size = 5000, .extents = {place}}});
  const auto volume = Volume::Mount(MakeReadOnlyView(*device), {});
  ASSERT_TRUE(IsOk(volume));
  EXPECT_EQ(*GetFile(**volume, "a"), std::string(5000, 'z'));
}

}  // namespace
}  // namespace zenfs
