#include "metalog/older_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "backends/emulator/emulator.h"
#include "base/coding.h"
#include "device/read_only_view.h"
#include "metalog/follower.h"
#include "metalog/probe.h"
#include "testing/older_writer.h"

namespace zenfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using File = OlderWriter::File;

constexpr std::uint32_t kOlderBlock = 4096;
constexpr std::uint64_t kOlderZone = 1 << 20;
constexpr std::uint64_t kOlderCapacity = 768 << 10;

class OlderLogTest : public testing::Test {
 protected:
  // Replays the device. `state_` has the result.
  Status Read() {
    Result<Superblock> superblock = ProbeReadable(*device_);
    if (!superblock) return Fail(superblock.error());
    superblock_ = *superblock;
    follower_ = std::make_unique<LogFollower>(*device_, superblock_);
    const auto changed = follower_->Refresh();
    return changed ? Status() : Fail(changed.error());
  }
  void MustRead() {
    const Status read = Read();
    if (!read.ok()) FAIL() << read.error().ToString();
  }
  // Reading fails with damage, and one sentence that has `text`.
  void ExpectDamage(const std::string& text) {
    const Status read = Read();
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code(), Code::kCorruption) << read.error().ToString();
    EXPECT_THAT(read.error().ToString(), HasSubstr(text));
    EXPECT_THAT(read.error().ToString(), testing::Not(HasSubstr("\n")));
  }
  const State& state() const { return follower_->state(); }
  // Null if the path leads nowhere.
  std::shared_ptr<const FileRecord> Find(const std::string& path) const {
    FileId at = kRootDirectory;
    for (std::size_t from = 0; from <= path.size();) {
      const std::size_t slash = std::min(path.find('/', from), path.size());
      const auto entry = state().FindEntry(at, path.substr(from, slash - from));
      if (!entry) return nullptr;
      at = *entry;
      from = slash + 1;
    }
    return state().FindFile(at);
  }
  std::string Flaws() const {
    std::string all;
    for (const OlderFlaw& flaw : follower_->older_flaws()) all += flaw.text + "\n";
    return all;
  }
  void Begin() { writer_.Superblock(ZoneId(0), 1); }

  std::unique_ptr<EmulatorDevice> device_ = CreateMemoryDevice({.zones = 40,
                                                                .zone_size = kOlderZone,
                                                                .zone_capacity = kOlderCapacity,
                                                                .max_open = 14,
                                                                .max_active = 14});
  OlderWriter writer_{*device_};
  Superblock superblock_;
  std::unique_ptr<LogFollower> follower_;
};

TEST_F(OlderLogTest, ANewVolumeIsEmptyAndItsSuperblockIsRead) {
  Begin();
  writer_.Snapshot({});
  MustRead();
  EXPECT_THAT(state().files(), IsEmpty());
  EXPECT_TRUE(superblock_.is_older());
  EXPECT_EQ(superblock_.version, 2U);
  EXPECT_EQ(superblock_.uuid.ToString(), OlderWriter::kUuid);
  EXPECT_EQ(superblock_.block_size, kOlderBlock);
  EXPECT_EQ(superblock_.zone_size, kOlderZone);
  EXPECT_EQ(superblock_.finish_threshold_percent, 10U);
  EXPECT_EQ(superblock_.aux_path, "/var/lib/older/");
  EXPECT_EQ(superblock_.made_by, "v1.0");
  EXPECT_THAT(superblock_.metadata_zones, ElementsAre(ZoneId(0), ZoneId(1), ZoneId(2)));
  EXPECT_EQ(Flaws(), "");
}

TEST_F(OlderLogTest, WhoWritesIsRefused) {
  Begin();
  writer_.Snapshot({});
  const auto probed = ProbeSuperblock(*device_);
  ASSERT_FALSE(probed);
  EXPECT_EQ(probed.error().code(), Code::kNotSupported);
  EXPECT_THAT(probed.error().ToString(), HasSubstr("older ZenFS, format 2"));
}

TEST_F(OlderLogTest, AFileHasItsNamesTimesLifetimeAndExtents) {
  Begin();
  const auto first = writer_.Plain(ZoneId(3), std::string(5000, 'a'));
  const auto second = writer_.Plain(ZoneId(4), std::string(100, 'b'));
  writer_.Snapshot({{.id = 7,
                     .names = {"db/1.sst", "copy/deep/1.sst"},
                     .size = 5100,
                     .extents = {first, second},
                     .lifetime = 3,
                     .mtime = 1234}});
  MustRead();
  const auto file = Find("db/1.sst");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file, Find("copy/deep/1.sst"));
  EXPECT_EQ(file->id, FileId(7));
  EXPECT_EQ(file->links, 2U);
  EXPECT_EQ(file->size, 5100U);
  EXPECT_EQ(file->mtime_seconds, 1234U);
  EXPECT_EQ(file->lifetime, Lifetime::kMedium);
  EXPECT_THAT(file->extents, ElementsAre(Extent{0, DeviceOffset(3 * kOlderZone), 5000},
                                         Extent{5000, DeviceOffset(4 * kOlderZone), 100}));
  EXPECT_THAT(state().Check(), IsEmpty());
}

TEST_F(OlderLogTest, FormatOneIsReadToo) {
  OlderWriter writer(*device_, 1);
  writer.Superblock(ZoneId(0), 1);
  const auto place = writer.Plain(ZoneId(3), std::string(5000, 'a'));
  writer.Snapshot({{.id = 2, .names = {"a"}, .size = 5000, .extents = {place}}});
  MustRead();
  EXPECT_EQ(superblock_.version, 1U);
  ASSERT_NE(Find("a"), nullptr);
  EXPECT_EQ(Find("a")->size, 5000U);
}

TEST_F(OlderLogTest, UpdatesAddExtentsReplacementsReplaceThemAndDeletionsRemoveNames) {
  Begin();
  writer_.Snapshot({});
  const auto one = writer_.Plain(ZoneId(3), std::string(kOlderBlock, 'a'));
  const auto two = writer_.Plain(ZoneId(3), std::string(kOlderBlock, 'b'));
  const auto three = writer_.Plain(ZoneId(5), std::string(2 * kOlderBlock, 'c'));
  writer_.Update({.id = 2, .names = {"x"}, .size = kOlderBlock, .extents = {one}});
  writer_.Update({.id = 2, .names = {"y", "z"}, .size = 2 * kOlderBlock, .extents = {two}});
  MustRead();
  EXPECT_EQ(Find("x"), nullptr) << "an update has all names";
  ASSERT_NE(Find("y"), nullptr);
  EXPECT_EQ(Find("y")->size, 2U * kOlderBlock);
  writer_.Replace({.id = 2, .names = {"y", "z"}, .size = 2 * kOlderBlock, .extents = {three}});
  writer_.Delete(2, "y");
  writer_.Delete(9, "never recorded");
  MustRead();
  EXPECT_EQ(Find("y"), nullptr);
  ASSERT_NE(Find("z"), nullptr);
  EXPECT_THAT(Find("z")->extents, ElementsAre(Extent{0, DeviceOffset(5 * kOlderZone), 2 * kOlderBlock}));
  writer_.Delete(2, "z");
  MustRead();
  EXPECT_THAT(state().files(), IsEmpty());
}

TEST_F(OlderLogTest, FilesWithTheIdsOfOurRootAndOfNoFileAreRead) {
  Begin();
  writer_.Snapshot({{.id = 0, .names = {"zero"}}, {.id = 1, .names = {"one"}}, {.id = 2, .names = {"two"}}});
  MustRead();
  ASSERT_NE(Find("zero"), nullptr);
  ASSERT_NE(Find("one"), nullptr);
  EXPECT_EQ(Find("two")->id, FileId(2));
}

TEST_F(OlderLogTest, TheHighestSequenceCounts) {
  writer_.Superblock(ZoneId(1), 5);
  writer_.Snapshot({{.id = 2, .names = {"old"}}});
  writer_.End();
  writer_.Superblock(ZoneId(0), 6);
  writer_.Snapshot({{.id = 2, .names = {"new"}}});
  MustRead();
  EXPECT_NE(Find("new"), nullptr);
  EXPECT_EQ(Find("old"), nullptr);
  EXPECT_EQ(follower_->generation(), 6U);
  EXPECT_EQ(Flaws(), "");
}

TEST_F(OlderLogTest, AfterATornSnapshotTheEarlierZoneCountsAndOneFlawSaysSo) {
  writer_.Superblock(ZoneId(1), 5);
  writer_.Snapshot({{.id = 2, .names = {"old"}}});
  writer_.End();
  writer_.Superblock(ZoneId(2), 6);
  std::string files;
  for (int i = 0; i < 100; ++i)
    files += OlderWriter::Field(writer_.FileBytes({.id = 2, .names = {std::string(200, 'n')}}));
  writer_.TornRecord(1, OlderWriter::Field(files), 2 * kOlderBlock);
  MustRead();
  EXPECT_NE(Find("old"), nullptr);
  ASSERT_EQ(follower_->older_flaws().size(), 1U);
  EXPECT_THAT(Flaws(), HasSubstr("metadata zone 2 has sequence 6, but no whole snapshot"));
  EXPECT_FALSE(follower_->older_flaws().front().loss);
}

TEST_F(OlderLogTest, ASuperblockAloneIsNoVolume) {
  Begin();
  ExpectDamage("no whole snapshot in any of its zones");
}

TEST_F(OlderLogTest, ATornLastRecordNeverHappened) {
  Begin();
  writer_.Snapshot({});
  writer_.Update({.id = 2, .names = {"kept"}});
  writer_.TornRecord(2, OlderWriter::Field(writer_.FileBytes({.id = 3, .names = {std::string(5000, 'n')}})),
                     kOlderBlock);
  MustRead();
  EXPECT_NE(Find("kept"), nullptr);
  EXPECT_EQ(state().files().size(), 1U);
  EXPECT_THAT(Flaws(), HasSubstr("4096 bytes from byte 12288 of metadata zone 0 on are no whole record"));
}

TEST_F(OlderLogTest, ADamagedRecordBeforeAValidOneIsRefused) {
  Begin();
  writer_.Snapshot({});
  writer_.Raw(std::string(kOlderBlock, 'x'));
  writer_.Update({.id = 2, .names = {"after"}});
  ExpectDamage("is damaged at byte 8192 of zone 0, and a record follows at byte 12288");
}

TEST_F(OlderLogTest, AZoneThatWasFinishedEarlyEndsTheLogWithoutAFlaw) {
  Begin();
  writer_.Snapshot({{.id = 2, .names = {"a"}}});
  ASSERT_TRUE(device_->Finish(ZoneId(0)).ok());
  MustRead();
  EXPECT_NE(Find("a"), nullptr);
  EXPECT_EQ(Flaws(), "");
}

TEST_F(OlderLogTest, AMetadataZoneThatIsFullToTheLastBlockIsRead) {
  Begin();
  writer_.Snapshot({});
  for (std::uint64_t at = 2 * kOlderBlock; at < kOlderCapacity; at += kOlderBlock)
    writer_.Update({.id = 2, .names = {"a"}, .mtime = at});
  MustRead();
  EXPECT_EQ(Find("a")->mtime_seconds, kOlderCapacity - kOlderBlock);
}

TEST_F(OlderLogTest, SegmentsOfAFramedFileBeginBehindTheirHeaders) {
  Begin();
  const auto one = writer_.Segment(ZoneId(3), std::string(100, 'a'));
  const auto two = writer_.Segment(ZoneId(3), std::string(5000, 'b'));
  writer_.Snapshot({{.id = 2, .names = {"1.log"}, .size = 5100, .extents = {one, two}, .framed = true}});
  MustRead();
  EXPECT_THAT(Find("1.log")->extents,
              ElementsAre(Extent{0, DeviceOffset(3 * kOlderZone + 8), 100},
                          Extent{100, DeviceOffset(3 * kOlderZone + kOlderBlock + 8), 5000}));
}

TEST_F(OlderLogTest, AnOpenPlainFileGetsAllUpToTheWritePointer) {
  Begin();
  const auto synced = writer_.Plain(ZoneId(3), std::string(100, 'a'));
  writer_.Plain(ZoneId(3), std::string(5000, 'b'));
  writer_.Snapshot({{.id = 2,
                     .names = {"MANIFEST-1"},
                     .size = 100,
                     .extents = {synced},
                     .active_start = 3 * kOlderZone + kOlderBlock}});
  MustRead();
  EXPECT_EQ(Find("MANIFEST-1")->size, 100U + 2 * kOlderBlock);
  EXPECT_EQ(Flaws(), "");
}

TEST_F(OlderLogTest, AnOpenFramedFileGetsItsWholeSegments) {
  Begin();
  const auto synced = writer_.Segment(ZoneId(3), std::string(100, 'a'));
  writer_.Segment(ZoneId(3), std::string(5000, 'b'));
  writer_.Segment(ZoneId(3), std::string(7, 'c'));
  const File file = {.id = 2,
                     .names = {"1.log"},
                     .size = 100,
                     .extents = {synced},
                     .active_start = 3 * kOlderZone + kOlderBlock,
                     .framed = true};
  writer_.Snapshot({file});
  MustRead();
  EXPECT_EQ(Find("1.log")->size, 5107U);
  EXPECT_EQ(Flaws(), "");
  std::string torn;  // claims more than was written
  PutFixed(torn, std::uint64_t{10000});
  writer_.Plain(ZoneId(3), torn);
  MustRead();
  EXPECT_EQ(Find("1.log")->size, 5107U);
  EXPECT_THAT(Flaws(),
              HasSubstr("1.log: its last write was interrupted: 4096 bytes from byte 16384 of zone 3"));
}

TEST_F(OlderLogTest, AnOpenFramedFileInAFinishedZoneEndsAtItsLastSegment) {
  Begin();
  writer_.Segment(ZoneId(3), std::string(100, 'a'));
  ASSERT_TRUE(device_->Finish(ZoneId(3)).ok());
  writer_.Snapshot({{.id = 2, .names = {"1.log"}, .active_start = 3 * kOlderZone, .framed = true}});
  MustRead();
  EXPECT_EQ(Find("1.log")->size, 100U);
}

TEST_F(OlderLogTest, AnOpenFileEndsWhereAnotherOneBegins) {
  Begin();
  const auto mine = writer_.Plain(ZoneId(3), std::string(kOlderBlock, 'a'));
  const auto other = writer_.Plain(ZoneId(3), std::string(kOlderBlock, 'b'));
  writer_.Snapshot({{.id = 2, .names = {"a"}, .active_start = mine.start},
                    {.id = 3, .names = {"b"}, .size = kOlderBlock, .extents = {other}}});
  MustRead();
  EXPECT_EQ(Find("a")->size, kOlderBlock);
}

TEST_F(OlderLogTest, TwoOpenFilesShareNoBytes) {
  Begin();
  const auto first = writer_.Plain(ZoneId(3), std::string(kOlderBlock, 'a'));
  const auto second = writer_.Plain(ZoneId(3), std::string(kOlderBlock, 'b'));
  writer_.Snapshot({{.id = 2, .names = {"a"}, .active_start = first.start},
                    {.id = 3, .names = {"b"}, .active_start = second.start},
                    {.id = 4, .names = {"c"}, .active_start = second.start}});
  MustRead();
  EXPECT_EQ(Find("a")->size, kOlderBlock);
  EXPECT_EQ(Find("b")->size, kOlderBlock);
  EXPECT_EQ(Find("c")->size, 0U);
  EXPECT_THAT(Flaws(), HasSubstr("c: it was open, and bytes after its last sync may be missing"));
}

TEST_F(OlderLogTest, AnOpenFileDoesNotGetBlocksOfItsOwnExtentsAgain) {
  Begin();
  const auto place = writer_.Plain(ZoneId(3), std::string(3 * kOlderBlock, 'a'));
  writer_.Snapshot({{.id = 2,
                     .names = {"a"},
                     .size = 2 * kOlderBlock,
                     .extents = {{place.start, 2 * kOlderBlock}},
                     .active_start = place.start + kOlderBlock}});
  MustRead();
  EXPECT_EQ(Find("a")->size, 2 * kOlderBlock);
  EXPECT_THAT(Flaws(), HasSubstr("other bytes are at device byte"));
}

TEST_F(OlderLogTest, AnOpenFileInAnOfflineZoneLosesItsTailAndTheVolumeIsRead) {
  Begin();
  const auto place = writer_.Plain(ZoneId(3), std::string(kOlderBlock, 'a'));
  writer_.Snapshot({{.id = 2, .names = {"a"}, .active_start = place.start}, {.id = 3, .names = {"b"}}});
  ASSERT_TRUE(device_->SetCondition(ZoneId(3), ZoneCondition::kOffline).ok());
  MustRead();
  EXPECT_NE(Find("b"), nullptr);
  ASSERT_EQ(follower_->older_flaws().size(), 1U);
  EXPECT_TRUE(follower_->older_flaws().front().loss);
  EXPECT_THAT(Flaws(), HasSubstr("zone 3 is offline"));
}

TEST_F(OlderLogTest, ATruncatedFileKeepsOnlyItsSize) {
  Begin();
  const auto one = writer_.Plain(ZoneId(3), std::string(kOlderBlock, 'a'));
  const auto two = writer_.Plain(ZoneId(3), std::string(kOlderBlock, 'b'));
  writer_.Snapshot({{.id = 2, .names = {"a"}, .size = 10, .extents = {one, two}}});
  MustRead();
  EXPECT_THAT(Find("a")->extents, ElementsAre(Extent{0, DeviceOffset(3 * kOlderZone), 10}));
}

TEST_F(OlderLogTest, AFileWithFewerBytesThanItsSizeIsALoss) {
  Begin();
  writer_.Snapshot({{.id = 2, .names = {"db/a"}, .size = 10}});
  MustRead();
  EXPECT_THAT(Flaws(), HasSubstr("db/a: the metadata says 10 bytes, but names the places of 0 only"));
  EXPECT_TRUE(follower_->older_flaws().front().loss);
}

TEST_F(OlderLogTest, ADirectoryKeepsItsIdWhenTheLogIsReadAgain) {
  Begin();
  writer_.Snapshot({{.id = 2, .names = {"b/x"}}});
  MustRead();
  const auto before = state().FindEntry(kRootDirectory, "b");
  writer_.Update({.id = 3, .names = {"a/x"}});
  const auto changed = follower_->Refresh();
  ASSERT_TRUE(changed);
  EXPECT_EQ(*changed, LogFollower::Change::kReplaced);
  EXPECT_NE(Find("a/x"), nullptr);
  EXPECT_EQ(state().FindEntry(kRootDirectory, "b"), before);
  EXPECT_EQ(*follower_->Refresh(), LogFollower::Change::kNone);
}

TEST_F(OlderLogTest, ImpossibleExtentsAreRefused) {
  struct Case {
    OlderWriter::Piece extent;
    const char* why;
  };
  for (const auto& [extent, why] : {Case{{40 * kOlderZone, 1}, "is beyond the end of the device"},
                                    Case{{UINT64_MAX - 1, 1}, "is beyond the end of the device"},
                                    Case{{3 * kOlderZone, kOlderZone + 1}, "is not within one zone"},
                                    Case{{3 * kOlderZone + 8, UINT64_MAX}, "is not within one zone"},
                                    Case{{2 * kOlderZone, 1}, "is in a metadata zone"}}) {
    ASSERT_TRUE(device_->Reset(ZoneId(0)).ok());
    Begin();
    writer_.Snapshot({{.id = 2, .names = {"a"}, .size = 1, .extents = {extent}}});
    ExpectDamage(why);
  }
}

TEST_F(OlderLogTest, ExtentsThatOverlapAreRefused) {
  for (const std::uint64_t start : {3 * kOlderZone, 3 * kOlderZone + kOlderBlock, 3 * kOlderZone + 100}) {
    ASSERT_TRUE(device_->Reset(ZoneId(0)).ok());
    Begin();
    writer_.Snapshot(
        {{.id = 2, .names = {"a"}, .size = 2 * kOlderBlock, .extents = {{3 * kOlderZone, 2 * kOlderBlock}}},
         {.id = 3, .names = {"b"}, .size = 1, .extents = {{start, 1}}}});
    ExpectDamage("overlaps another one");
  }
}

TEST_F(OlderLogTest, NamesThatContradictEachOtherAreRefused) {
  const std::vector<std::vector<File>> cases = {{{.id = 2, .names = {"a"}}, {.id = 3, .names = {"a"}}},
                                                {{.id = 2, .names = {"a"}}, {.id = 3, .names = {"a/b"}}},
                                                {{.id = 2, .names = {"../a"}}},
                                                {{.id = 2, .names = {""}}},
                                                {{.id = 2, .names = {std::string(256, 'n')}}},
                                                {{.id = 2, .names = {std::string(5000, '/') + "a"}}},
                                                {{.id = UINT64_MAX, .names = {"a"}}}};
  for (const std::vector<File>& files : cases) {
    ASSERT_TRUE(device_->Reset(ZoneId(0)).ok());
    Begin();
    writer_.Snapshot(files);
    ExpectDamage("the metadata of the older ZenFS");
  }
}

TEST_F(OlderLogTest, RecordsThatDoNotDecodeAreRefused) {
  std::string no_id;
  PutFixed(no_id, std::uint32_t{3});
  PutFixed(no_id, std::uint64_t{1});
  std::string bad_field = writer_.FileBytes({.id = 2, .names = {"a"}});
  PutFixed(bad_field, std::uint32_t{77});
  const std::pair<std::uint32_t, std::string> cases[] = {
      {99, OlderWriter::Field("")},
      {2, OlderWriter::Field(no_id)},
      {2, OlderWriter::Field(bad_field)},
      {2, OlderWriter::Field(writer_.FileBytes({.id = 2, .names = {"a"}, .lifetime = 6}))},
      {2, std::string("\xff\xff\xff\xff\x0f", 5)},
      {3, OlderWriter::Field("short")},
      {1, OlderWriter::Field("\x7f")}};
  for (const auto& [tag, data] : cases) {
    ASSERT_TRUE(device_->Reset(ZoneId(0)).ok());
    Begin();
    writer_.Snapshot({});
    writer_.Record(tag, data);
    ExpectDamage("at byte 8192 of zone 0");
  }
}

TEST_F(OlderLogTest, DamagedSuperblocksAreNotOverlooked) {
  std::string record = OlderWriter::RecordBytes(writer_.SuperblockPayload(1));
  record[20] ^= 1;
  writer_.Raw(record);
  ExpectDamage("the superblock of the older ZenFS in zone 0");
}

TEST_F(OlderLogTest, AnotherDeviceIsRefused) {
  Begin();
  writer_.Snapshot({});
  const auto larger =
      CreateMemoryDevice({.zones = 41, .zone_size = kOlderZone, .zone_capacity = kOlderCapacity});
  OlderWriter copy(*larger);
  copy.Raw(OlderWriter::RecordBytes(writer_.SuperblockPayload(1)));
  const auto probed = ProbeReadable(*larger);
  ASSERT_FALSE(probed);
  EXPECT_EQ(probed.error().code(), Code::kInvalidArgument);
  EXPECT_THAT(probed.error().ToString(), HasSubstr("the number of zones is 41"));
}

TEST_F(OlderLogTest, BlocksOf512BytesAreRead) {
  device_ = CreateMemoryDevice({.zones = 40, .zone_size = kOlderZone, .block_size = 512});
  OlderWriter writer(*device_);
  writer.Superblock(ZoneId(0), 1);
  writer.Snapshot({{.id = 2, .names = {"a"}}});
  MustRead();
  EXPECT_NE(Find("a"), nullptr);
}

TEST_F(OlderLogTest, ConventionalZonesDoNotCount) {
  device_ = CreateMemoryDevice(
      {.zones = 40, .zone_size = kOlderZone, .zone_capacity = kOlderCapacity, .conventional = 2});
  OlderWriter writer(*device_);
  writer.Superblock(ZoneId(2), 1);
  writer.Snapshot({{.id = 2, .names = {"a"}}});
  MustRead();
  EXPECT_THAT(superblock_.metadata_zones, ElementsAre(ZoneId(2), ZoneId(3), ZoneId(4)));
  EXPECT_NE(Find("a"), nullptr);
}

}  // namespace
}  // namespace zenfs
