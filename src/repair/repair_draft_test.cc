// Repairs drafts with broken invariants, with the parts of a repair.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "repair/repair_extents.h"
#include "repair/repair_logs.h"
#include "repair/repair_names.h"

namespace zenfs {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kBlock = 4096;
constexpr std::uint64_t kZone = 1 << 20;

// 10 zones, written up to the middle. Zones 0 and 1 hold metadata; zone 9 is empty.
class RepairDraftTest : public testing::Test {
 protected:
  RepairDraftTest() {
    for (std::uint32_t i = 0; i < 10; ++i) {
      ZoneInfo info{.id = ZoneId(i),
                    .condition = ZoneCondition::kClosed,
                    .start = DeviceOffset(i * kZone),
                    .capacity = kZone};
      if (i == 9) info.condition = ZoneCondition::kEmpty;
      info.write_pointer = info.start + (i == 9 ? 0 : kZone / 2);
      report_.push_back(info);
    }
  }
  static DeviceOffset Place(std::uint32_t zone, std::uint64_t at) { return DeviceOffset(zone * kZone + at); }

  void AddFile(std::uint64_t id, std::vector<Extent> extents) {
    draft_.Apply(CreateFile{FileId(id)});
    draft_.Apply(LinkFile{kRootDirectory, std::to_string(id), FileId(id)});
    const std::uint64_t size = extents.empty() ? 0 : extents.back().end();
    draft_.Apply(SetExtents{.id = FileId(id), .from_offset = 0, .extents = std::move(extents), .size = size});
  }
  void Repair() {
    const FileNames names([this](FileId id) -> const Directory* {
      const auto found = draft_.directories.find(id);
      return found == draft_.directories.end() ? nullptr : &found->second;
    });
    RepairNames(draft_, steps_);
    RepairExtents(draft_,
                  {.geometry = {.block_size = kBlock, .zone_size = kZone, .zone_count = 10},
                   .report = report_,
                   .metadata_zones = metadata_zones_},
                  names, steps_);
    const auto state = draft_.ToState();
    ASSERT_TRUE(state) << state.error().ToString();
    EXPECT_THAT(state->Check(), IsEmpty());
  }
  const FileRecord& File(std::uint64_t id) { return draft_.files.at(FileId(id)); }
  // The only file in /lost+found.
  const FileRecord& Rescued() {
    const auto& entries = draft_.directories.at(LostAndFound(draft_).directory()).entries;
    EXPECT_THAT(entries, SizeIs(1));
    return draft_.files.at(entries.begin()->second);
  }

  StateDraft draft_;
  std::vector<ZoneInfo> report_;
  const std::vector<ZoneId> metadata_zones_{ZoneId(0), ZoneId(1)};
  Sentences steps_;
};

TEST_F(RepairDraftTest, SoundFilesAreNotChanged) {
  AddFile(5, {{0, Place(2, 0), 8192}, {8192, Place(3, 0), 100}});
  AddFile(6, {{0, Place(2, 8192), 4096}});
  Repair();
  EXPECT_THAT(steps_, IsEmpty());
}

TEST_F(RepairDraftTest, AFileEndsBeforeAnInvalidExtent) {
  for (const DeviceOffset place : {Place(10, 0), Place(1, 0), Place(9, 0), DeviceOffset(Place(4, 100))}) {
    draft_ = StateDraft();
    AddFile(5, {{0, Place(2, 0), 8192}, {8192, place, 4096}, {12288, Place(3, 0), 5000}});
    Repair();
    EXPECT_EQ(File(5).size, 8192u);
    EXPECT_EQ(Rescued().size, 5000u);
    EXPECT_EQ(Rescued().extents.front().place, Place(3, 0));
  }
}

TEST_F(RepairDraftTest, AnExtentBeyondTheWritePointerKeepsItsWrittenPart) {
  AddFile(5, {{0, Place(2, kZone / 2 - 8192), 20000}});
  Repair();
  EXPECT_EQ(File(5).size, 8192u);
  EXPECT_THAT(steps_, ::testing::Contains(HasSubstr("file 5 (/5) at byte 8192")));
}

// Found by the fuzz target repair.
TEST_F(RepairDraftTest, TheWrittenPartOfAnExtentEndsWhereANewerFileBegins) {
  AddFile(5, {{0, Place(2, kZone / 2 - 12288), 20000}});
  AddFile(6, {{0, Place(2, kZone / 2 - 8192), 4096}});
  Repair();
  EXPECT_EQ(File(5).size, 4096u);
  EXPECT_EQ(File(6).size, 4096u);
}

TEST_F(RepairDraftTest, AByteOfTwoFilesBelongsToTheNewerFile) {
  AddFile(5, {{0, Place(2, 0), 20000}});
  AddFile(6, {{0, Place(2, 8192), 4096}});
  Repair();
  EXPECT_EQ(File(5).size, 8192u);
  EXPECT_EQ(File(6).size, 4096u);
}

TEST_F(RepairDraftTest, AGapEndsTheFileAndTheRestIsRescued) {
  AddFile(5, {{0, Place(2, 0), 4096}, {8192, Place(3, 0), 4096}});
  Repair();
  EXPECT_EQ(File(5).size, 4096u);
  EXPECT_EQ(Rescued().extents, (std::vector<Extent>{{0, Place(3, 0), 4096}}));
}

TEST_F(RepairDraftTest, InvalidLogZonesAreRemoved) {
  draft_.log_zones = {
      {ZoneId(1), {ZoneId(1), 0, 7}}, {ZoneId(5), {ZoneId(5), 0, 7}}, {ZoneId(77), {ZoneId(77), 0, 7}}};
  Repair();
  EXPECT_THAT(draft_.log_zones, SizeIs(1));
  EXPECT_TRUE(draft_.log_zones.contains(ZoneId(5)));
}

TEST_F(RepairDraftTest, FilesAndDirectoriesWithoutANameGetOne) {
  draft_.Apply(CreateFile{FileId(5)});
  draft_.Apply(LinkFile{FileId(40), "below", FileId(6)});  // in a directory that does not exist
  draft_.Apply(CreateFile{FileId(6)});
  draft_.directories.at(kRootDirectory).entries.emplace("nowhere", FileId(99));
  Repair();
  const auto& entries = draft_.directories.at(LostAndFound(draft_).directory()).entries;
  EXPECT_EQ(entries.at("file-5"), FileId(5));
  EXPECT_EQ(draft_.directories.at(entries.at("directory-40")).entries.at("below"), FileId(6));
  EXPECT_FALSE(draft_.directories.at(kRootDirectory).entries.contains("nowhere"));
}

TEST_F(RepairDraftTest, AFileNamedLostAndFoundIsNotReplaced) {
  AddFile(5, {});
  draft_.Apply(RenameEntry{kRootDirectory, "5", kRootDirectory, kLostAndFound});
  draft_.Apply(CreateFile{FileId(6)});
  Repair();
  EXPECT_EQ(draft_.directories.at(kRootDirectory).entries.at(kLostAndFound), FileId(5));
  EXPECT_TRUE(draft_.directories.at(LostAndFound(draft_).directory()).entries.contains("file-6"));
}

// To walk the root directory for each file that is put into it would take hours.
TEST_F(RepairDraftTest, ManyFilesWithoutANameBesideManyNamesTakeATimeInProportion) {
  constexpr std::uint64_t kFiles = 50'000;
  AddFile(5, {});
  draft_.Apply(LinkFile{kRootDirectory, kLostAndFound, FileId(5)});
  for (std::uint64_t i = 0; i < kFiles; ++i) {
    draft_.Apply(LinkFile{kRootDirectory, "a" + std::to_string(i), FileId(5)});
    draft_.Apply(CreateFile{FileId(10 + i)});
  }
  RepairNames(draft_, steps_);
  EXPECT_THAT(draft_.directories.at(LostAndFound(draft_).directory()).entries, SizeIs(kFiles));
}

// A path of 2,000 directories. If each extent that is left out had a text, this would take minutes.
TEST_F(RepairDraftTest, ManyExtentsThatOverlapAreLeftOut) {
  constexpr std::uint64_t kExtents = 1'000'000;
  FileId parent = kRootDirectory;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const FileId id(1000 + i);
    draft_.Apply(CreateDirectory{id, parent, "d", 1});
    parent = id;
  }
  std::vector<Extent> extents;
  for (std::uint64_t i = 0; i < kExtents; ++i)
    extents.push_back({.file_offset = i, .place = Place(2, 0), .length = 1});
  AddFile(5, std::move(extents));
  for (const char* name : {"a", "b"}) draft_.Apply(LinkFile{parent, name, FileId(5)});
  Repair();
  EXPECT_THAT(steps_, SizeIs(1));
  EXPECT_EQ(File(5).size, 1u);
}

class RepairDraftOfLogsTest : public RepairDraftTest {
 protected:
  FileRecord& AddLog(std::uint64_t id) {
    draft_.Apply(CreateFile{.id = FileId(id), .shape = FileShape::kFramed});
    draft_.Apply(LinkFile{kRootDirectory, std::to_string(id), FileId(id)});
    return draft_.files.at(FileId(id));
  }
  void AddFrame(std::uint64_t owner, std::uint64_t epoch, std::uint64_t sequence) {
    frames_.of[FileId(owner)].push_back({.owner = owner,
                                         .epoch = epoch,
                                         .sequence = sequence,
                                         .file_offset = (sequence - 1) * 10,
                                         .stable_sequence = sequence - 1,
                                         .length = 10,
                                         .payload = Place(2, 0),
                                         .device_bytes = kBlock,
                                         .zone = ZoneId(2)});
  }
  void Repair() {
    const FileNames names([this](FileId id) -> const Directory* {
      const auto found = draft_.directories.find(id);
      return found == draft_.directories.end() ? nullptr : &found->second;
    });
    RepairLogs(draft_, std::move(frames_), {.names = names}, steps_, losses_);
    const auto state = draft_.ToState();
    ASSERT_TRUE(state) << state.error().ToString();
    EXPECT_THAT(state->Check(), IsEmpty());
  }

  LogFrames frames_;
  Sentences losses_;
};

// To search for the frames of each epoch in each file would take hours.
TEST_F(RepairDraftOfLogsTest, ManyLogsOfManyLostEpochsTakeATimeInProportion) {
  constexpr std::uint64_t kFiles = 50'000;
  for (std::uint64_t i = 1; i <= kFiles; ++i) {
    AddLog(10 + i);
    AddFrame(10 + i, i, 1);
  }
  Repair();
  EXPECT_EQ(draft_.epoch, kFiles);
  for (std::uint64_t i = 1; i <= kFiles; ++i) {
    ASSERT_EQ(File(10 + i).windows, (std::vector<LogWindow>{{i, 1, 1, 10}}));
    ASSERT_EQ(File(10 + i).size, 10u);
  }
}

TEST_F(RepairDraftOfLogsTest, ALogOfManyLostEpochsTakesATimeInProportion) {
  constexpr std::uint64_t kEpochs = 100'000;
  AddLog(5);
  for (std::uint64_t epoch = 1; epoch <= kEpochs; ++epoch) AddFrame(5, epoch, epoch);
  Repair();
  EXPECT_THAT(losses_, IsEmpty());
  EXPECT_THAT(File(5).windows, SizeIs(kEpochs));
  EXPECT_EQ(File(5).windows.back(), (LogWindow{kEpochs, kEpochs, kEpochs, kEpochs * 10}));
  EXPECT_EQ(File(5).size, kEpochs * 10);
  EXPECT_EQ(File(5).next_sequence, kEpochs + 1);
}

TEST_F(RepairDraftOfLogsTest, ALogWhoseLastWindowsAreLostEndsBeforeThemInATimeInProportion) {
  constexpr std::uint64_t kWindows = 100'000;
  FileRecord& log = AddLog(5);
  for (std::uint64_t i = 1; i <= kWindows; ++i) log.windows.push_back({1, i, i, i * 10});
  log.next_sequence = kWindows + 1;
  log.size = kWindows * 10;
  draft_.epoch = 1;
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) AddFrame(5, 1, sequence);
  Repair();
  EXPECT_THAT(File(5).windows, SizeIs(3));
  EXPECT_EQ(File(5).size, 30u);
  EXPECT_EQ(File(5).next_sequence, kWindows + 1);
}

}  // namespace
}  // namespace zenfs
