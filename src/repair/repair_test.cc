#include "repair/repair.h"

#include <filesystem>
#include <regex>

#include "base/free_bytes.h"
#include "repair/repair_test_rig.h"

namespace zenfs {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Lines(const CheckReport& report) {
  std::string lines;
  for (const Finding& finding : report.findings) lines += finding.text + "\n";
  return lines;
}

class DamagedMetadata : public testing::TestWithParam<Damage> {
 protected:
  DamagedMetadata() { GetParam().make(rig_); }

  bool LostItsName(const std::string& path) const {
    return std::ranges::find(GetParam().lost_names, path) != GetParam().lost_names.end();
  }
  RepairRig rig_;
  TempDirectory directory_;
};

TEST_P(DamagedMetadata, CheckSaysWhereAndChangesNothing) {
  const auto before = RepairRig::AllZones(*rig_.device().Image(LossPolicy::KeepAll()));
  const auto report = CheckVolume(rig_.device(), {});
  ASSERT_TRUE(IsOk(report));
  const std::string all = Lines(*report);
  EXPECT_TRUE(std::regex_search(std::string(all), std::regex("(?:" + GetParam().said_by_check + ")"))) << all;
  const auto placed =
      std::ranges::count_if(report->findings, [](const Finding& f) { return f.zone && f.offset; });
  EXPECT_GE(placed, 1) << all;
  EXPECT_EQ(RepairRig::AllZones(rig_.device()), before);
}

TEST_P(DamagedMetadata, PlansChangeNothingAndAreEqual) {
  const auto before = RepairRig::AllZones(rig_.device());
  const std::uint64_t commands = rig_.device().commands();
  const auto plan = PlanRepair(rig_.device());
  ASSERT_TRUE(IsOk(plan));
  EXPECT_FALSE(plan->nothing_to_do());
  EXPECT_EQ(rig_.device().commands(), commands);
  EXPECT_EQ(RepairRig::AllZones(rig_.device()), before);
  EXPECT_EQ(PlanRepair(rig_.device())->steps, plan->steps);
}

TEST_P(DamagedMetadata, RepairLeavesEveryFileAtItsNameOrInLostAndFound) {
  MustRepair(rig_.device(), directory_);
  const auto report = CheckVolume(rig_.device(), {});
  ASSERT_TRUE(IsOk(report));
  EXPECT_TRUE(report->clean()) << Lines(*report);
  EXPECT_TRUE(PlanRepair(rig_.device())->nothing_to_do());
  std::vector<std::string> notices;
  const Files found = RepairRig::ReadAll(rig_.device(), &notices);
  EXPECT_THAT(notices, IsEmpty());
  for (const auto& [path, content] : rig_.files()) {
    if (!LostItsName(path)) {
      EXPECT_TRUE(found.contains(path) && found.at(path) == content) << path;
      continue;
    }
    const bool rescued = std::ranges::any_of(found, [&](const auto& file) {
      return (file.first == path || file.first.starts_with("/lost+found/")) &&
             file.second.find(content) != std::string::npos;
    });
    EXPECT_TRUE(rescued) << path;
  }
}

TEST_P(DamagedMetadata, ThePlanNamesTheLengthOfTheCopy) {
  const auto plan = PlanRepair(rig_.device());
  ASSERT_TRUE(IsOk(plan));
  EXPECT_EQ(plan->copy_bytes, std::filesystem::file_size(MustRepair(rig_.device(), directory_)));
}

TEST_P(DamagedMetadata, AHostWithoutRoomForTheCopyLeavesTheVolumeAsItIs) {
  const auto before = RepairRig::AllZones(rig_.device());
  const auto plan = PlanRepair(rig_.device());
  ASSERT_TRUE(IsOk(plan));
  const std::string file = directory_.File("copy.zmeta");
  {
    const FreeBytesForTests full(0);
    EXPECT_EQ(CodeOf(CarryOut(rig_.device(), *plan, file)), Code::kNoSpace);
  }
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(RepairRig::AllZones(rig_.device()), before);
}

TEST_P(DamagedMetadata, UndoRestoresTheMetadataExactly) {
  const auto before = RepairRig::AllZones(rig_.device());
  const std::string file = MustRepair(rig_.device(), directory_);
  EXPECT_NE(RepairRig::AllZones(rig_.device()), before);
  ASSERT_TRUE(IsOk(UndoRepair(rig_.device(), file)));
  EXPECT_EQ(RepairRig::AllZones(rig_.device()), before);
  ASSERT_TRUE(IsOk(UndoRepair(rig_.device(), file)));  // a second undo changes nothing
  EXPECT_EQ(RepairRig::AllZones(rig_.device()), before);
}

// A repair or an undo that was interrupted may leave the device without a superblock.
TEST_P(DamagedMetadata, UndoNeedsNoSuperblockOnTheDevice) {
  const auto before = RepairRig::AllZones(rig_.device());
  const std::string file = MustRepair(rig_.device(), directory_);
  for (const ZoneId zone : rig_.superblock().metadata_zones)
    IgnoreError(rig_.device().Reset(zone));  // one is offline
  ASSERT_EQ(CodeOf(ProbeSuperblock(rig_.device())), Code::kCorruption)
      << "the logs show that a ZenFS was there";
  ASSERT_TRUE(IsOk(UndoRepair(rig_.device(), file)));
  EXPECT_EQ(RepairRig::AllZones(rig_.device()), before);
}

TEST_P(DamagedMetadata, RepairRefusesADeviceWithThreeSlots) {
  const auto before = RepairRig::AllZones(rig_.device());
  const auto with_three = BorrowWithSlots(rig_.device(), 3, 3);
  const Result<RepairPlan> plan = PlanRepair(*with_three);
  EXPECT_EQ(CodeOf(plan), Code::kNotSupported);
  EXPECT_EQ(RepairRig::AllZones(rig_.device()), before);
}

// The device limits active zones, and data zones may take all of them. Found by the fuzz target
// repair.
TEST_P(DamagedMetadata, UndoSucceedsIfDataZonesHoldAllSlots) {
  const auto before = RepairRig::AllZones(rig_.device());
  const std::string file = MustRepair(rig_.device(), directory_);
  for (const ZoneId zone : rig_.superblock().metadata_zones) IgnoreError(rig_.device().Finish(zone));
  std::vector<ZoneId> opened;
  const auto report = rig_.device().Report(ZoneId(0), rig_.device().geometry().zone_count);
  ASSERT_TRUE(IsOk(report));
  for (const ZoneInfo& zone : *report) {
    if (zone.condition == ZoneCondition::kEmpty && rig_.device().Open(zone.id).ok())
      opened.push_back(zone.id);
  }
  ASSERT_FALSE(opened.empty());
  ASSERT_LT(rig_.device().geometry().max_active, 16U);
  ASSERT_TRUE(IsOk(UndoRepair(rig_.device(), file)));
  const auto after = RepairRig::AllZones(rig_.device());
  for (const ZoneId zone : rig_.superblock().metadata_zones) {
    EXPECT_EQ(after[zone.value], before[zone.value]) << zone.value;
  }
  // Data zones may be full now.
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(after[i].bytes.starts_with(before[i].bytes));
}

TEST_P(DamagedMetadata, UndoIsRefusedOnceTheVolumeWasMounted) {
  const std::string file = MustRepair(rig_.device(), directory_);
  rig_.Session([](Volume&) {});
  const auto before = RepairRig::AllZones(rig_.device());
  const Status undone = UndoRepair(rig_.device(), file);
  ASSERT_FALSE(undone.ok());
  EXPECT_EQ(undone.error().code(), Code::kReadOnly);
  EXPECT_THAT(undone.error().text(), HasSubstr("mounted read-write since"));
  EXPECT_EQ(RepairRig::AllZones(rig_.device()), before);
}

INSTANTIATE_TEST_SUITE_P(Repair, DamagedMetadata, testing::ValuesIn(MetadataDamages()),
                         [](const auto& each) { return each.param.name; });

class RepairTest : public testing::Test {
 protected:
  // Returns a zone that holds frames of `path`, and where its frames begin (bytes from the start of
  // the zone).
  FileLayout LayoutOf(const std::string& path) {
    FileLayout layout;
    rig_.Session([&](Volume& volume) { layout = *volume.Layout(path); });
    return layout;
  }
  // Flips a bit of byte `at` in every copy of the superblock.
  void FlipInEveryCopy(std::uint64_t at) {
    for (const ZoneId zone : rig_.superblock().metadata_zones) {
      if (RepairRig::ContentOf(rig_.device(), zone).written != 0) rig_.Flip(zone, at);
    }
  }
  void ExpectAFlipIsCorrected(std::uint64_t at) {
    FlipInEveryCopy(at);
    const auto report = CheckVolume(rig_.device(), {});
    ASSERT_TRUE(IsOk(report));
    EXPECT_THAT(Lines(*report), HasSubstr("has a single flipped bit"));
    MustRepair(rig_.device(), directory_);
    EXPECT_EQ(*ProbeSuperblock(rig_.device()), rig_.superblock());
    EXPECT_TRUE(CheckVolume(rig_.device(), {})->clean());
    EXPECT_EQ(RepairRig::ReadAll(rig_.device()), rig_.files());
  }
  RepairRig rig_;
  TempDirectory directory_;
};

TEST_F(RepairTest, ASoundVolumeIsNotChanged) {
  const auto plan = PlanRepair(rig_.device());
  ASSERT_TRUE(IsOk(plan));
  EXPECT_THAT(plan->steps, IsEmpty());
  EXPECT_THAT(plan->losses, IsEmpty());
  const auto before = RepairRig::AllZones(rig_.device());
  EXPECT_TRUE(IsOk(CarryOut(rig_.device(), *plan, directory_.File("none"))));
  EXPECT_EQ(RepairRig::AllZones(rig_.device()), before);
}

TEST_F(RepairTest, ALogEndsBeforeALostLastFrame) {
  const FileLayout layout = LayoutOf("/db/20.log");
  ASSERT_GE(layout.frames.size(), 2u);
  rig_.FlipAt(layout.frames.back().place);
  const auto damaged = CheckVolume(rig_.device(), {});
  ASSERT_TRUE(IsOk(damaged));
  EXPECT_FALSE(damaged->clean());
  EXPECT_THAT(Lines(*damaged), HasSubstr("(/db/20.log): bytes"));
  const auto lost =
      std::ranges::find_if(damaged->findings, [](const Finding& f) { return !f.paths.empty(); });
  ASSERT_NE(lost, damaged->findings.end());
  EXPECT_THAT(lost->paths, testing::ElementsAre("/db/20.log"));
  EXPECT_TRUE(lost->zone && lost->offset);
  MustRepair(rig_.device(), directory_);
  std::vector<std::string> notices;
  const Files found = RepairRig::ReadAll(rig_.device(), &notices);
  EXPECT_THAT(notices, IsEmpty());
  for (const auto& [path, content] : rig_.files()) {
    if (path == "/db/20.log") {
      EXPECT_EQ(found.at(path), content.substr(0, layout.frames.back().file_offset));
    } else {
      EXPECT_TRUE(found.at(path) == content) << path;
    }
  }
}

TEST_F(RepairTest, ALostFrameInTheMiddleIsALossAndTheRestIsReadable) {
  const FileLayout layout = LayoutOf("/db/20.log");
  ASSERT_GE(layout.frames.size(), 3u);
  rig_.FlipAt(layout.frames[1].place);
  const auto plan = PlanRepair(rig_.device());
  ASSERT_TRUE(IsOk(plan));
  EXPECT_THAT(plan->steps, IsEmpty());
  EXPECT_THAT(plan->losses, Contains(HasSubstr("the file stays as it is")));
}

TEST_F(RepairTest, AnExtentInAnOfflineZoneIsALossAndTheFileIsKept) {
  const FileLayout layout = LayoutOf("/db/0.sst");
  const ZoneId zone = rig_.device().geometry().ZoneOf(layout.extents.front().place);
  ASSERT_TRUE(IsOk(rig_.device().SetCondition(zone, ZoneCondition::kOffline)));
  const auto report = CheckVolume(rig_.device(), {});
  ASSERT_TRUE(IsOk(report));
  EXPECT_THAT(Lines(*report), HasSubstr("(/db/0.sst): the extent at file offset 0"));
  const auto plan = PlanRepair(rig_.device());
  ASSERT_TRUE(IsOk(plan));
  EXPECT_THAT(plan->steps, IsEmpty());
  EXPECT_THAT(plan->losses, Contains(HasSubstr(fmt::format("zone {} is offline", zone.value))));
}

TEST_F(RepairTest, BrokenInvariantsAreRepairedAndNothingSoundIsLost) {
  const FileLayout layout = LayoutOf("/db/1.sst");
  const Extent taken = layout.extents.front();
  auto log = Metalog::Open(rig_.device(), rig_.superblock());
  ASSERT_TRUE(IsOk(log));
  const FileId id((*log)->recovered().next_id() + 1);
  const DeviceOffset beyond(rig_.device().geometry().size_bytes());
  ASSERT_TRUE(IsOk((*log)->Commit(
      {RaiseCounters{id.value + 2, 0}, CreateFile{id}, LinkFile{kRootDirectory, "overlaps", id},
       SetExtents{.id = id, .from_offset = 0, .extents = {{0, taken.place, 8192}}, .size = 8192},
       CreateFile{FileId(id.value + 1)}, LinkFile{kRootDirectory, "outside", FileId(id.value + 1)},
       SetExtents{
           .id = FileId(id.value + 1), .from_offset = 0, .extents = {{0, beyond, 4096}}, .size = 4096}})));
  (*log)->Stop();
  log->reset();
  const auto damaged = CheckVolume(rig_.device(), {});
  ASSERT_TRUE(IsOk(damaged));
  EXPECT_THAT(Lines(*damaged), HasSubstr("(/outside): the extent at file offset 0"));
  EXPECT_THAT(Lines(*damaged), HasSubstr("overlaps one of"));
  MustRepair(rig_.device(), directory_);
  const auto report = CheckVolume(rig_.device(), {});
  EXPECT_TRUE(report->clean()) << Lines(*report);
  const Files found = RepairRig::ReadAll(rig_.device());
  EXPECT_EQ(found.at("/outside"), "");
  EXPECT_EQ(found.at("/overlaps"), rig_.files().at("/db/1.sst").substr(0, 8192));
  EXPECT_EQ(found.at("/db/1.sst"), "");
  const bool rest_is_there = std::ranges::any_of(found, [&](const auto& file) {
    return file.first.starts_with("/lost+found/") && file.second == rig_.files().at("/db/2.sst");
  });
  EXPECT_TRUE(rest_is_there || found.at("/db/2.sst") == rig_.files().at("/db/2.sst"));
}

TEST_F(RepairTest, WithoutAnySuperblockNothingIsDone) {
  FlipInEveryCopy(100);
  FlipInEveryCopy(200);
  const auto plan = PlanRepair(rig_.device());
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().text(), HasSubstr("no copy of the superblock is valid"));
  const auto report = CheckVolume(rig_.device(), {});
  ASSERT_TRUE(IsOk(report));
  EXPECT_FALSE(report->clean());
  EXPECT_EQ(report->findings.front().offset, DeviceOffset(0));
}

TEST_F(RepairTest, AFlippedBitInEveryCopyOfTheSuperblockIsCorrected) { ExpectAFlipIsCorrected(100); }

// The magic identifies a superblock, and no CRC covers it.
TEST_F(RepairTest, AFlippedBitInTheMagicOfEveryCopyIsCorrected) { ExpectAFlipIsCorrected(5); }

// If a metadata log follows the missing superblock, no message suggests to make a file system.
TEST_F(RepairTest, AVolumeWithoutASuperblockIsNotReportedAsEmpty) {
  for (const ZoneId zone : rig_.superblock().metadata_zones) {
    rig_.Rewrite(zone, [](std::string& bytes) {
      std::fill_n(bytes.begin(), std::min<std::size_t>(4096, bytes.size()), '\0');
    });
  }
  const auto report = CheckVolume(rig_.device(), {});
  ASSERT_TRUE(IsOk(report));
  EXPECT_THAT(Lines(*report), HasSubstr("a metadata log of ZenFS follows its place"));
  const auto mounted = Volume::Mount(Borrow(rig_.device()), {});
  ASSERT_FALSE(mounted);
  EXPECT_EQ(mounted.error().code(), Code::kCorruption);
  EXPECT_THAT(mounted.error().ToString(), Not(HasSubstr("mkfs")));
  EXPECT_EQ(PlanRepair(rig_.device()).error().code(), Code::kCorruption);
}

// Of two copies of the metadata log one is damaged, gone, or offline.
TEST(RepairCopies, ALostCopyIsNamedByCheckAndWrittenAnewByARepair) {
  for (const char* damage : {"flipped", "wiped", "offline"}) {
    SCOPED_TRACE(damage);
    const TempDirectory directory;
    CrashDevice device(SmallGeometry());
    ASSERT_TRUE(IsOk(FormatVolume(device, {.metadata_zones = 5})));
    {
      const auto volume = Volume::Mount(Borrow(device), {});
      ASSERT_TRUE(IsOk(volume));
      ASSERT_TRUE(IsOk((*volume)->MakeDirectory("/db", false)));
      ASSERT_TRUE(IsOk((*volume)->Unmount()));
    }
    const auto info = device.ReportZone(ZoneId(0)).value();
    AlignedBuffer zone(info.WrittenBytes());
    zone.Resize(zone.capacity());
    ASSERT_TRUE(IsOk(device.Read(info.start, zone.Span())));
    if (damage == std::string_view("offline")) {
      ASSERT_TRUE(IsOk(device.SetCondition(ZoneId(0), ZoneCondition::kOffline)));
    } else {
      ASSERT_TRUE(IsOk(device.Reset(ZoneId(0))));
    }
    if (damage == std::string_view("flipped")) {
      zone.data()[3 * 4096 + 70] ^= std::byte{1};
      ASSERT_TRUE(IsOk(device.Write(info.start, zone.View())));
    }
    const auto damaged = CheckVolume(device, {});
    ASSERT_TRUE(IsOk(damaged));
    EXPECT_TRUE(damaged->clean()) << "nothing is lost";
    EXPECT_THAT(Lines(*damaged), HasSubstr("the other copy, in metadata zone 1, is whole"));
    MustRepair(device, directory);
    const auto repaired = CheckVolume(device, {});
    ASSERT_TRUE(IsOk(repaired));
    if (damage != std::string_view("offline")) {
      EXPECT_EQ(Lines(*repaired), "");
    }
    const auto volume = Volume::Mount(Borrow(device), {});
    ASSERT_TRUE(IsOk(volume));
    EXPECT_TRUE((*volume)->List("/db"));
    EXPECT_EQ((*volume)->counters().metalog.copies, 2u);
  }
}

// Both generations are needed, and the third metadata zone is offline.
TEST_F(RepairTest, UndoRestoresAnInPlaceRepairAfterACrash) {
  const MetadataScan scan = rig_.Scan();
  ASSERT_EQ(scan.zones.size(), 3u);
  for (const MetadataFrame& frame : scan.generations.back().frames) {
    if (frame.kind == FrameKind::kSnapshot) rig_.Flip(frame);
  }
  for (const ZoneInfo& zone : scan.zones) {
    if (zone.WrittenBytes() == 0) {
      ASSERT_TRUE(IsOk(rig_.device().SetCondition(zone.id, ZoneCondition::kOffline)));
    }
  }
  const auto plan = PlanRepair(rig_.device());
  ASSERT_TRUE(IsOk(plan));
  EXPECT_TRUE(plan->in_place);
  EXPECT_THAT(plan->steps, Contains(HasSubstr("the copy on the host is the only one")));
  const auto before = RepairRig::AllZones(rig_.device());
  const auto whole = rig_.device().Image(LossPolicy::KeepAll());
  MustRepair(*whole, directory_);
  for (std::uint64_t n = 0; n < whole->commands(); ++n) {
    const auto cut = rig_.device().Image(LossPolicy::KeepAll());
    cut->StopAfter(n);
    const std::string copy = directory_.File(fmt::format("in-place-{}", n));
    EXPECT_FALSE(CarryOut(*cut, *plan, copy).ok());
    const auto found = cut->Image(LossPolicy::Random(n));
    ASSERT_TRUE(IsOk(UndoRepair(*found, copy))) << n;
    ASSERT_EQ(RepairRig::AllZones(*found), before) << n;
  }
  const Files found = RepairRig::ReadAll(*whole);
  for (const auto& [path, content] : rig_.files()) EXPECT_TRUE(found.at(path) == content) << path;
}

TEST_F(RepairTest, ADeviceWithoutZenfsIsNotRepaired) {
  CrashDevice empty(SmallGeometry());
  EXPECT_EQ(CodeOf(PlanRepair(empty)), Code::kNotFound);
}

TEST_F(RepairTest, TheCopyNeverReplacesAFile) {
  MetadataDamages().front().make(rig_);
  const auto plan = PlanRepair(rig_.device());
  const std::string file = directory_.File("taken");
  ASSERT_TRUE(IsOk(CarryOut(rig_.device(), *plan, file)));
  MetadataDamages().front().make(rig_);
  const auto before = RepairRig::AllZones(rig_.device());
  EXPECT_EQ(CodeOf(CarryOut(rig_.device(), *PlanRepair(rig_.device()), file)), Code::kExists);
  EXPECT_EQ(RepairRig::AllZones(rig_.device()), before);
}

TEST_F(RepairTest, ACopyOfAnotherVolumeIsRefused) {
  MetadataDamages().front().make(rig_);
  const std::string file = MustRepair(rig_.device(), directory_);
  RepairRig other;
  const auto before = RepairRig::AllZones(other.device());
  EXPECT_EQ(CodeOf(UndoRepair(other.device(), file)), Code::kInvalidArgument);
  EXPECT_EQ(RepairRig::AllZones(other.device()), before);
}

}  // namespace
}  // namespace zenfs
