#include "model/state_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "testing/edit_walk.h"

namespace zenfs {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

RC_GTEST_PROP(StateDraftProperty, ValidEditsGiveTheSameStateAsStateApply, (std::uint64_t seed)) {
  EditWalk walk(seed);
  State state;
  StateDraft draft;
  for (int i = 0; i < 80; ++i) {
    const std::vector<Edit> edits = walk.Next();
    RC_ASSERT(state.Apply(edits).ok());
    for (const Edit& edit : edits) RC_ASSERT(draft.Apply(edit) == "");
  }
  const Result<State> from_edits = draft.ToState();
  RC_ASSERT(from_edits.has_value());
  RC_ASSERT(*from_edits == state);
  const Result<State> from_state = StateDraft(state).ToState();
  RC_ASSERT(from_state.has_value());
  RC_ASSERT(*from_state == state);
}

TEST(StateDraft, TheFittingPartOfAnEditIsAppliedAndTheRestReported) {
  StateDraft draft;
  EXPECT_THAT(draft.Apply(UnlinkFile{kRootDirectory, "gone"}), HasSubstr("no such name"));
  EXPECT_THAT(draft.Apply(RenameEntry{kRootDirectory, "gone", kRootDirectory, "new"}),
              HasSubstr("no such name"));
  EXPECT_THAT(draft.Apply(SetExtents{.id = FileId(7),
                                     .from_offset = 4096,
                                     .extents = {{4096, DeviceOffset(1 << 20), 100}},
                                     .size = 4196}),
              IsEmpty());
  ASSERT_TRUE(draft.files.contains(FileId(7)));
  EXPECT_GT(draft.next_id, 7u);
}

TEST(StateDraft, AnExtentThatIsCutLosesItsChecksum) {
  StateDraft draft;
  draft.Apply(
      SetExtents{.id = FileId(7),
                 .from_offset = 0,
                 .extents = {{.file_offset = 0, .place = DeviceOffset(1 << 20), .length = 8192, .crc = 5}},
                 .size = 8192});
  draft.Apply(SetExtents{.id = FileId(7), .from_offset = 4096, .extents = {}, .size = 4096});
  EXPECT_EQ(draft.files.at(FileId(7)).extents,
            (std::vector<Extent>{{.file_offset = 0, .place = DeviceOffset(1 << 20), .length = 4096}}));
}

// An image may have a million edits of one file. With time in proportion to the square of their number, this would take hours.
TEST(StateDraft, EditsOfOneFileTakeATimeInProportion) {
  constexpr std::uint64_t kExtents = 300'000;
  StateDraft draft;
  for (std::uint64_t i = 0; i < kExtents; ++i) {
    const std::uint64_t at = i * 4096;
    draft.Apply(SetExtents{.id = FileId(7),
                           .from_offset = at,
                           .extents = {{.file_offset = at, .place = DeviceOffset(at), .length = 4096}},
                           .size = at + 4096});
  }
  EXPECT_EQ(draft.files.at(FileId(7)).extents.size(), kExtents);
  for (std::uint64_t i = 0; i < kExtents; ++i) {
    EXPECT_THAT(
        draft.Apply(SetExtents{
            .id = FileId(7), .from_offset = kExtents * 4096, .extents = {{}}, .size = kExtents * 4096}),
        HasSubstr("file 7 has an extent at byte 0, before others"));
  }
  draft.Apply(SetExtents{.id = FileId(7), .from_offset = 2 * 4096, .extents = {}, .size = 8192});
  EXPECT_EQ(draft.files.at(FileId(7)).extents.size(), 2u);
}

TEST(StateDraft, ExtentsOfALogWhoseOnlyWindowHasNoBytesBecomeAState) {
  StateDraft draft;
  draft.Apply(CreateFile{.id = FileId(7), .shape = FileShape::kFramed});
  draft.Apply(LinkFile{kRootDirectory, "log", FileId(7)});
  draft.Apply(SealLog{
      .id = FileId(7), .windows = {{.first_sequence = 1, .last_sequence = 5, .end = 0}}, .next_sequence = 6});
  draft.Apply(SetExtents{.id = FileId(7),
                         .from_offset = 0,
                         .extents = {{.file_offset = 0, .place = DeviceOffset(1 << 20), .length = 4096}},
                         .size = 4096});
  const Result<State> state = draft.ToState();
  ASSERT_TRUE(state.has_value()) << state.error().ToString();
  EXPECT_EQ(state->FindFile(FileId(7))->size, 4096u);
}

TEST(StateDraft, OnlyExtentsBeforeOthersAreLeftOut) {
  StateDraft draft;
  const auto at = [](std::uint64_t offset) {
    return Extent{.file_offset = offset, .place = DeviceOffset(1 << 20) + offset, .length = 4096};
  };
  EXPECT_EQ(
      draft.Apply(SetExtents{.id = FileId(7), .from_offset = 0, .extents = {at(4096), at(0)}, .size = 8192}),
      "");
  EXPECT_EQ(draft.Apply(SetExtents{
                .id = FileId(7), .from_offset = 8192, .extents = {at(12288), at(0)}, .size = 16384}),
            "file 7 has an extent at byte 0, before others that it keeps");
  EXPECT_EQ(draft.files.at(FileId(7)).extents, (std::vector<Extent>{at(0), at(4096), at(12288)}));
  EXPECT_EQ(draft.files.at(FileId(7)).size, 16384u);
}

TEST(StateDraft, AFileRenamedOntoItsOtherNameStays) {
  StateDraft draft;
  draft.Apply(CreateFile{.id = FileId(5)});
  draft.Apply(LinkFile{kRootDirectory, "a", FileId(5)});
  draft.Apply(LinkFile{kRootDirectory, "b", FileId(5)});
  EXPECT_THAT(draft.Apply(RenameEntry{kRootDirectory, "a", kRootDirectory, "b"}), IsEmpty());
  EXPECT_TRUE(draft.files.contains(FileId(5)));
  EXPECT_EQ(draft.directories.at(kRootDirectory).entries.size(), 1u);
}

TEST(StateDraft, AFileStaysUntilItsLastNameIsGone) {
  StateDraft draft;
  draft.Apply(CreateFile{.id = FileId(5)});
  for (const char* name : {"a", "b", "c"}) draft.Apply(LinkFile{kRootDirectory, name, FileId(5)});
  draft.Apply(LinkFile{kRootDirectory, "a", FileId(5)});  // again
  draft.Apply(UnlinkFile{kRootDirectory, "a"});
  draft.Apply(LinkFile{kRootDirectory, "b", FileId(6)});  // takes the name
  EXPECT_TRUE(draft.files.contains(FileId(5)));
  draft.Apply(UnlinkFile{kRootDirectory, "c"});
  EXPECT_FALSE(draft.files.contains(FileId(5)));
  EXPECT_TRUE(draft.files.contains(FileId(6)));
  StateDraft second(*draft.ToState());
  second.Apply(UnlinkFile{kRootDirectory, "b"});
  EXPECT_FALSE(second.files.contains(FileId(6)));
}

// With a search of all names for each, this would take minutes.
TEST(StateDraft, ManyUnlinksCostTimeInProportionToTheirNumber) {
  constexpr std::uint64_t kFiles = 100'000;
  StateDraft draft;
  for (std::uint64_t i = 0; i < kFiles; ++i) {
    draft.Apply(CreateFile{.id = FileId(10 + i)});
    draft.Apply(LinkFile{kRootDirectory, std::to_string(i), FileId(10 + i)});
  }
  for (std::uint64_t i = 0; i < kFiles; ++i) draft.Apply(UnlinkFile{kRootDirectory, std::to_string(i)});
  EXPECT_TRUE(draft.files.empty());
}

TEST(StateDraft, ATakenNameNamesTheNewerFile) {
  StateDraft draft;
  draft.Apply(CreateFile{.id = FileId(5)});
  draft.Apply(LinkFile{kRootDirectory, "a", FileId(5)});
  EXPECT_THAT(draft.Apply(LinkFile{kRootDirectory, "a", FileId(6)}), HasSubstr("was the name of 5"));
  EXPECT_EQ(draft.directories.at(kRootDirectory).entries.at("a"), FileId(6));
  EXPECT_TRUE(draft.files.contains(FileId(5)));
}

TEST(StateDraft, ANameOfAMissingFileCannotBecomeAState) {
  StateDraft draft;
  draft.directories.at(kRootDirectory).entries.emplace("a", FileId(5));
  EXPECT_FALSE(draft.ToState());
}

TEST(StateDraft, AFreeNameIsNotTooLong) {
  StateDraft draft;
  const std::string longest(kMaxNameBytes, 'n');
  EXPECT_TRUE(IsValidName(draft.FreeName(kRootDirectory, longest)));
  draft.directories.at(kRootDirectory).entries.emplace("a", FileId(5));
  EXPECT_EQ(draft.FreeName(kRootDirectory, "a"), "a.1");
  EXPECT_EQ(draft.FreeName(kRootDirectory, "b"), "b");
  EXPECT_EQ(draft.FreeName(kRootDirectory, "a"), "a.1");
}

// The parts of one damaged file may all want one name. To try all numbers for each would take hours.
TEST(StateDraft, AQuarterOfAMillionFreeNamesOfOneBaseTakeATimeInProportion) {
  constexpr std::uint64_t kNames = 250'000;
  StateDraft draft;
  auto& entries = draft.directories.at(kRootDirectory).entries;
  for (std::uint64_t i = 0; i < kNames; ++i) entries.emplace(draft.FreeName(kRootDirectory, "a"), FileId(5));
  EXPECT_EQ(entries.size(), kNames);
  EXPECT_TRUE(entries.contains("a"));
  EXPECT_TRUE(entries.contains("a.249999"));
}

}  // namespace
}  // namespace zenfs
