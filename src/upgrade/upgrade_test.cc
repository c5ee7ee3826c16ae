#include "upgrade/upgrade.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "format/older_format.h"
#include "metalog/older_log.h"
#include "metalog/replay.h"
#include "upgrade/upgrade_test_rig.h"
#include "volume/fsck/scrub.h"

namespace zenfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class UpgradeTest : public testing::Test {
 protected:
  OlderRig rig_;
  TempDirectory directory_;
};

TEST_F(UpgradeTest, EveryFileIsThereAndCanBeWritten) {
  CrashDevice& device = rig_.device();
  MustUpgrade(device, directory_);
  EXPECT_EQ(ReadAll(device), rig_.contents());
  {
    const auto volume = Volume::Mount(Borrow(device), {});
    ASSERT_TRUE(IsOk(volume));
    EXPECT_EQ((*volume)->Stat("/db/1.sst")->links, 2U);
    EXPECT_EQ((*volume)->Stat("/db/1.sst")->mtime_seconds, 99U);
    EXPECT_EQ((*volume)->info().superblock.uuid.ToString(), OlderWriter::kUuid);
    ASSERT_TRUE(IsOk(PutFile(**volume, "/db/9.sst", Numbered('n', 500'000))));
    ASSERT_TRUE(IsOk((*volume)->Unlink("/db/5.log")));
    ASSERT_TRUE(IsOk((*volume)->Unmount()));
  }
  BytesByPath expected = rig_.contents();
  expected.erase("/db/5.log");
  expected["/db/9.sst"] = Numbered('n', 500'000);
  EXPECT_EQ(ReadAll(device), expected);
  EXPECT_TRUE(CheckVolume(device, {.read_data = true})->clean());
}

TEST_F(UpgradeTest, DataStaysWhereItIs) {
  const auto plan = PlanUpgrade(rig_.device());
  ASSERT_TRUE(IsOk(plan));
  std::vector<std::string> anew;
  for (const RewrittenPart& part : plan->rewritten) anew.push_back(part.path);
  EXPECT_THAT(anew, testing::UnorderedElementsAre("/db/MANIFEST-4", "/db/5.log", "/db/8.log"));
  EXPECT_EQ(plan->staying_bytes, 30'000u + 8192u + 11u + 8192u) << "also the first blocks of the MANIFEST";
  EXPECT_EQ(plan->rewritten_bytes, 23'000u - 8192u + 15'100u + 4u);
}

TEST_F(UpgradeTest, APlanChangesNothing) {
  const auto before = rig_.device().commands();
  ASSERT_TRUE(IsOk(PlanUpgrade(rig_.device())));
  EXPECT_EQ(rig_.device().commands(), before);
}

TEST_F(UpgradeTest, Format1IsTakenOverToo) {
  OlderRig rig(SmallGeometry(), 1);
  MustUpgrade(rig.device(), directory_);
  EXPECT_EQ(ReadAll(rig.device()), rig.contents());
}

TEST_F(UpgradeTest, WhatIsWrittenAnewHasItsChecksum) {
  MustUpgrade(rig_.device(), directory_);
  const auto superblock = ProbeSuperblock(rig_.device());
  ASSERT_TRUE(IsOk(superblock));
  const auto replayed = Replay(rig_.device(), *superblock);
  ASSERT_TRUE(IsOk(replayed));
  std::size_t with = 0;
  for (const auto& [id, file] : replayed->state.files()) {
    for (const Extent& extent : file->extents) with += extent.crc ? 1 : 0;
  }
  EXPECT_EQ(with, 3U);
}

TEST_F(UpgradeTest, ASecondUpgradeHasNothingToDo) {
  MustUpgrade(rig_.device(), directory_);
  const auto again = PlanUpgrade(rig_.device());
  EXPECT_EQ(CodeOf(again), Code::kExists);
  EXPECT_THAT(again.error().text(), HasSubstr("has format 3 already"));
  const auto ended = EndInterruptedUndo(rig_.device());
  ASSERT_TRUE(IsOk(ended));
  EXPECT_FALSE(*ended);
}

TEST_F(UpgradeTest, AnUndoAfterAReadWriteMountIsRefused) {
  const std::string copy = MustUpgrade(rig_.device(), directory_);
  {
    const auto volume = Volume::Mount(Borrow(rig_.device()), {});
    ASSERT_TRUE(IsOk(volume));
    ASSERT_TRUE(IsOk((*volume)->Unmount()));
  }
  const Status undone = UndoUpgrade(rig_.device(), copy);
  EXPECT_EQ(CodeOf(undone), Code::kReadOnly);
  EXPECT_THAT(undone.error().text(), HasSubstr("was mounted read-write since its upgrade"));
  EXPECT_EQ(ReadAll(rig_.device()), rig_.contents());
}

// The write pointer of its zone is the end of a file that was open.
TEST_F(UpgradeTest, AnUndoAfterTheZoneOfAnOpenFileWasFinishedIsRefusedAndChangesNothing) {
  const std::string copy = MustUpgrade(rig_.device(), directory_);
  ASSERT_TRUE(IsOk(rig_.device().Finish(OlderRig::kOpenTable)));
  const Status undone = UndoUpgrade(rig_.device(), copy);
  EXPECT_EQ(CodeOf(undone), Code::kReadOnly);
  EXPECT_THAT(undone.error().text(), HasSubstr("/db/7.sst was open"));
  EXPECT_FALSE(IsOlder(rig_.device()));
  EXPECT_EQ(ReadAll(rig_.device()), rig_.contents());
  const auto volume = Volume::Mount(Borrow(rig_.device()), {});
  ASSERT_TRUE(IsOk(volume));
  ASSERT_TRUE(IsOk((*volume)->Unmount()));
}

TEST_F(UpgradeTest, ChecksumsAreRecordedWithoutACostForTheUndo) {
  const std::string copy = MustUpgrade(rig_.device(), directory_);
  const auto scrubbed = ScrubVolume(rig_.device(), {});
  ASSERT_TRUE(IsOk(scrubbed));
  EXPECT_EQ(scrubbed->computed.size(), 5U);
  const auto recorded = RecordChecksums(rig_.device(), scrubbed->computed);
  ASSERT_TRUE(IsOk(recorded));
  EXPECT_EQ(*recorded, 5U);
  EXPECT_EQ(ScrubVolume(rig_.device(), {})->extents_without_checksum, 0U);
  ASSERT_TRUE(IsOk(UndoUpgrade(rig_.device(), copy)));
  EXPECT_EQ(ReadAll(rig_.device()), rig_.contents());
}

// All slots but those of the metadata are in use: too few are left for a log switch.
TEST_F(UpgradeTest, ChecksumsWaitIfZonesWouldBeFinishedForThem) {
  EmulatorGeometry geometry = SmallGeometry();
  geometry.max_open = geometry.max_active = 10;
  OlderRig rig(geometry);
  const std::string copy = MustUpgrade(rig.device(), directory_);
  for (std::uint32_t zone = 20; zone < 30; ++zone) IgnoreError(rig.device().Open(ZoneId(zone)));
  const auto scrubbed = ScrubVolume(rig.device(), {});
  ASSERT_TRUE(IsOk(scrubbed));
  const auto recorded = RecordChecksums(rig.device(), scrubbed->computed);
  ASSERT_EQ(CodeOf(recorded), Code::kBusy);
  EXPECT_THAT(recorded.error().text(), HasSubstr("a scrub after the first read-write mount records them"));
  EXPECT_EQ(WrittenOf(rig.device(), OlderRig::kOpenTable).written, 8192U);
}

// The older program passes by a superblock without a snapshot. It stops at a record with a wrong checksum.
bool OlderProgramRefuses(ZonedDevice& device) {
  std::map<std::uint32_t, ZoneId> newest_last;
  for (const ZoneId zone : {ZoneId(0), ZoneId(1), ZoneId(2)}) {
    const auto report = device.ReportZone(zone);
    if (const auto sequence = OlderSequences(device, {*report}).front()) newest_last[*sequence] = zone;
  }
  if (newest_last.empty()) return true;
  const std::string bytes = WrittenOf(device, newest_last.rbegin()->second).bytes;
  const std::string behind = bytes.substr(device.geometry().block_size);
  return !behind.empty() && OlderPayloadBytes(AsBytes(behind)) != 0 && !ParseOlderRecord(AsBytes(behind));
}

TEST_F(UpgradeTest, NoMountWritesWhileAnUndoIsUnderWay) {
  const std::string copy = MustUpgrade(rig_.device(), directory_);
  const auto cut = rig_.Image();
  cut->StopAfter(11);  // the marker is there
  ASSERT_FALSE(UndoUpgrade(*cut, copy).ok());
  const auto found = cut->Image(LossPolicy::KeepAll());
  ASSERT_FALSE(IsOlder(*found));
  EXPECT_TRUE(OlderProgramRefuses(*found));
  const auto volume = Volume::Mount(Borrow(*found), {});
  ASSERT_EQ(CodeOf(volume), Code::kReadOnly);
  EXPECT_THAT(volume.error().text(), HasSubstr("run zenfs upgrade --undo=FILE again"));
}

TEST_F(UpgradeTest, AnUndoAfterTheOlderProgramHasWrittenSinceChangesNothing) {
  const std::string copy = MustUpgrade(rig_.device(), directory_);
  ASSERT_TRUE(IsOk(UndoUpgrade(rig_.device(), copy)));
  // Its next mount goes on in another zone.
  rig_.writer().Superblock(ZoneId(1), 4);
  rig_.writer().Snapshot({{.id = 90, .names = {"made since"}}});
  const Status again = UndoUpgrade(rig_.device(), copy);
  EXPECT_EQ(CodeOf(again), Code::kInvalidArgument);
  EXPECT_THAT(again.error().text(), HasSubstr("there is nothing to undo"));
  EXPECT_EQ(ReadAll(rig_.device()), (BytesByPath{{"/made since", ""}}));
}

TEST_F(UpgradeTest, AnUndoTakesTheCopyOfThisVolumeOnly) {
  MustUpgrade(rig_.device(), directory_);
  const std::string other = directory_.File("other");
  std::ofstream(other) << "no copy";
  EXPECT_EQ(CodeOf(UndoUpgrade(rig_.device(), other)), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(UndoUpgrade(rig_.device(), directory_.File("missing"))), Code::kNotFound);
}

TEST_F(UpgradeTest, WithoutRoomItSaysWhatIsMissingAndWhatCanGo) {
  // Every zone holds a live file, so neither the logs nor metadata have a place.
  CrashDevice device(SmallGeometry());
  OlderWriter writer(device);
  writer.Superblock(ZoneId(0), 1);
  std::vector<OlderWriter::File> files;
  for (std::uint32_t zone = 3; zone < 40; ++zone) {
    const std::string bytes(zone == 20 ? 4096 : 768 << 10, 'x');
    files.push_back({.id = zone,
                     .names = {fmt::format("db/{}.sst", zone)},
                     .size = bytes.size(),
                     .extents = {writer.Plain(ZoneId(zone), bytes)}});
  }
  files.push_back({.id = 99,
                   .names = {"db/99.log"},
                   .size = 10,
                   .extents = {writer.Segment(ZoneId(20), "0123456789")},
                   .framed = true});
  writer.Snapshot(files);
  const auto plan = PlanUpgrade(device);
  ASSERT_EQ(CodeOf(plan), Code::kNoSpace);
  EXPECT_THAT(plan.error().text(), HasSubstr("4.00 KiB of 1 file are written anew"));
  EXPECT_THAT(plan.error().text(),
              HasSubstr("zone 20 has the fewest live bytes, 4.00 KiB of 20.sst, 99.log"));
}

// Nearly full: the metadata fits into the places of the older one.
TEST_F(UpgradeTest, AVolumeWithoutAnEmptyZoneKeepsItsMetadataWhereItWas) {
  CrashDevice device(SmallGeometry());
  OlderWriter writer(device);
  writer.Superblock(ZoneId(1), 7);
  std::vector<OlderWriter::File> files;
  const std::string bytes(768 << 10, 'x');
  for (std::uint32_t zone = 3; zone < 40; ++zone) {
    files.push_back({.id = zone,
                     .names = {fmt::format("db/{}.sst", zone)},
                     .size = bytes.size(),
                     .extents = {writer.Plain(ZoneId(zone), bytes)}});
  }
  writer.Snapshot(files);
  const auto plan = PlanUpgrade(device);
  ASSERT_TRUE(IsOk(plan));
  EXPECT_EQ(plan->copies, 1U);
  EXPECT_THAT(plan->why_one_copy, HasSubstr("are free"));
  EXPECT_EQ(plan->empty_after, 0U);
  EXPECT_GT(plan->wanted_empty, 0U);
  EXPECT_THAT(plan->superblock.metadata_zones, ElementsAre(ZoneId(0), ZoneId(1), ZoneId(2)));
  const std::string copy = MustUpgrade(device, directory_);
  {
    const auto undone = device.Image(LossPolicy::KeepAll());
    ASSERT_TRUE(IsOk(UndoUpgrade(*undone, copy)));
    EXPECT_TRUE(IsOlder(*undone));
  }
  const auto volume = Volume::Mount(Borrow(device), {.space_wait = std::chrono::seconds(1)});
  ASSERT_TRUE(IsOk(volume));
  EXPECT_EQ(*GetFile(**volume, "/db/39.sst"), bytes);
  ASSERT_TRUE(IsOk((*volume)->Unlink("/db/39.sst")));
  ASSERT_TRUE(IsOk((*volume)->Unlink("/db/38.sst")));
  ASSERT_TRUE(IsOk((*volume)->Unlink("/db/37.sst")));
  ASSERT_TRUE(IsOk((*volume)->Unlink("/db/36.sst")));
  ASSERT_TRUE(IsOk(PutFile(**volume, "/db/40.sst", std::string(100'000, 'y'))));
  ASSERT_TRUE(IsOk((*volume)->Unmount()));
}

TEST_F(UpgradeTest, AFileBeyondTheWritePointerIsRefusedAndNothingChanged) {
  rig_.writer().Update({.id = 50,
                        .names = {"db/50.sst"},
                        .size = 4096,
                        .extents = {{.start = (std::uint64_t{20} << 20), .length = 4096}}});
  const auto plan = PlanUpgrade(rig_.device());
  ASSERT_EQ(CodeOf(plan), Code::kCorruption);
  EXPECT_THAT(plan.error().text(),
              HasSubstr("50.sst has bytes up to byte 4096 of zone 20, but only 0 are written there"));
}

// It would count again after the switch.
TEST_F(UpgradeTest, AnEarlierLogThatCannotBeResetIsRefused) {
  ASSERT_TRUE(IsOk(rig_.device().SetCondition(ZoneId(1), ZoneCondition::kReadOnly)));
  const auto plan = PlanUpgrade(rig_.device());
  ASSERT_EQ(CodeOf(plan), Code::kReadOnly);
  EXPECT_THAT(plan.error().text(), HasSubstr("zone 1, which holds the older metadata, can't be reset"));
}

// A zone with a file that was open can't be finished: the write pointer is the end of that file.
TEST_F(UpgradeTest, WithoutAFreeSlotItSaysWhatToDo) {
  EmulatorGeometry geometry = SmallGeometry();
  geometry.max_open = geometry.max_active = 8;
  CrashDevice device(geometry);
  OlderWriter writer(device);
  writer.Superblock(ZoneId(0), 1);
  std::vector<OlderWriter::File> files;
  for (std::uint32_t zone = 3; zone < 10; ++zone) {
    files.push_back({.id = zone,
                     .names = {fmt::format("db/{}.sst", zone)},
                     .active_start = writer.Plain(ZoneId(zone), "open").start});
  }
  writer.Snapshot(files);
  const auto plan = PlanUpgrade(device);
  ASSERT_TRUE(IsOk(plan));
  const Status done = CarryOutUpgrade(device, *plan, directory_.File("copy"));
  EXPECT_EQ(CodeOf(done), Code::kBusy);
  EXPECT_THAT(done.error().text(), HasSubstr("mount the volume with it once, and end it cleanly"));
  EXPECT_TRUE(IsOlder(device));
}

// mkfs --force leaves nothing of either volume, also between the two.
TEST_F(UpgradeTest, MkfsReplacesAnInterruptedUpgrade) {
  const auto cut = rig_.Image();
  const auto plan = PlanUpgrade(*cut);
  ASSERT_TRUE(IsOk(plan));
  const auto whole = rig_.Image();
  MustUpgrade(*whole, directory_);
  cut->StopAfter(whole->commands() - 2);
  ASSERT_FALSE(CarryOutUpgrade(*cut, *plan, directory_.File("copy")).ok());
  const auto found = cut->Image(LossPolicy::LoseAll());
  ASSERT_TRUE(IsOlder(*found));
  EXPECT_EQ(CodeOf(FormatVolume(*found, {})), Code::kExists);
  ASSERT_TRUE(IsOk(FormatVolume(*found, {.force = true})));
  EXPECT_FALSE(IsOlder(*found));
  EXPECT_EQ(ReadAll(*found), BytesByPath());
}

}  // namespace
}  // namespace zenfs
