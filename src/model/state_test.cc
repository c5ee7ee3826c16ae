#include "model/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "testing/edit_walk.h"

namespace zenfs {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr FileId kFile{2};
constexpr FileId kOther{3};
constexpr FileId kDirectory{4};
constexpr FileId kInner{5};

Extent At(std::uint64_t offset, std::uint64_t place, std::uint64_t length) {
  return Extent{.file_offset = offset, .place = DeviceOffset(place), .length = length};
}

class StateTest : public ::testing::Test {
 protected:
  StateTest() {
    Must({RaiseCounters{.next_id = 100, .next_generation = 10}, BeginEpoch{1}, CreateFile{.id = kFile},
          LinkFile{kRootDirectory, "a", kFile}, CreateFile{.id = kOther, .shape = FileShape::kFramed},
          LinkFile{kRootDirectory, "b", kOther}, CreateDirectory{kDirectory, kRootDirectory, "d"},
          CreateDirectory{kInner, kDirectory, "inner"}});
  }

  Effects Must(const std::vector<Edit>& edits) {
    Effects effects;
    const Status done = state_.Apply(edits, &effects);
    EXPECT_TRUE(done.ok()) << done.error().ToString();
    EXPECT_THAT(state_.Check(), IsEmpty());
    return effects;
  }
  void Refused(const std::vector<Edit>& edits, const std::string& why) {
    State copy = state_;
    const Status done = copy.Apply(edits);
    ASSERT_FALSE(done.ok()) << why;
    EXPECT_EQ(done.error().code(), Code::kCorruption);
    EXPECT_THAT(done.error().text(), HasSubstr(why));
  }

  State state_;
};

TEST_F(StateTest, LinkedFileIsFoundUnderEveryName) {
  Must({LinkFile{kDirectory, "also a", kFile}});
  EXPECT_EQ(state_.FindEntry(kRootDirectory, "a"), kFile);
  EXPECT_EQ(state_.FindEntry(kDirectory, "also a"), kFile);
  EXPECT_EQ(state_.FindFile(kFile)->links, 2u);
}

TEST_F(StateTest, FileEndsWithItsLastName) {
  Must({LinkFile{kDirectory, "also a", kFile}, SetExtents{kFile, 0, {At(0, 8192, 5000)}, 5000}});
  EXPECT_THAT(Must({UnlinkFile{kRootDirectory, "a"}}).removed, IsEmpty());
  const Effects effects = Must({UnlinkFile{kDirectory, "also a"}});
  EXPECT_THAT(effects.removed, ::testing::ElementsAre(kFile));
  EXPECT_THAT(effects.lost, ::testing::ElementsAre(At(0, 8192, 5000)));
  EXPECT_EQ(state_.FindFile(kFile), nullptr);
}

TEST_F(StateTest, RenameOverAFileIsOneChange) {
  const Effects effects = Must({RenameEntry{kRootDirectory, "a", kRootDirectory, "b"}});
  EXPECT_THAT(effects.removed, ::testing::ElementsAre(kOther));
  EXPECT_EQ(state_.FindEntry(kRootDirectory, "b"), kFile);
  EXPECT_EQ(state_.FindEntry(kRootDirectory, "a"), std::nullopt);
}

TEST_F(StateTest, RenameOntoAnotherNameOfTheSameFileLeavesOneName) {
  Must({LinkFile{kRootDirectory, "c", kFile}, RenameEntry{kRootDirectory, "a", kRootDirectory, "c"}});
  EXPECT_EQ(state_.FindFile(kFile)->links, 1u);
  Must({RenameEntry{kRootDirectory, "c", kRootDirectory, "c"}});
  EXPECT_EQ(state_.FindEntry(kRootDirectory, "c"), kFile);
}

TEST_F(StateTest, DirectoryMovesWithItsContents) {
  Must({RenameEntry{kDirectory, "inner", kRootDirectory, "outer"}, LinkFile{kInner, "x", kFile}});
  EXPECT_EQ(state_.FindDirectory(kInner)->parent, kRootDirectory);
  EXPECT_EQ(state_.FindDirectory(kInner)->name, "outer");
  Must({CreateDirectory{FileId(50), kRootDirectory, "empty"},
        RenameEntry{kRootDirectory, "outer", kRootDirectory, "empty"}});
  EXPECT_EQ(state_.FindDirectory(FileId(50)), nullptr);
  EXPECT_EQ(state_.FindEntry(kInner, "x"), kFile);
}

TEST_F(StateTest, ImpossibleRenamesAreRefused) {
  Refused({RenameEntry{kRootDirectory, "d", kInner, "x"}}, "below itself");
  Refused({RenameEntry{kRootDirectory, "d", kDirectory, "x"}}, "below itself");
  Refused({RenameEntry{kRootDirectory, "a", kRootDirectory, "d"}}, "cannot replace each other");
  Refused({RenameEntry{kRootDirectory, "d", kRootDirectory, "a"}}, "cannot replace each other");
  Refused({CreateDirectory{FileId(50), kRootDirectory, "e"},
           RenameEntry{kRootDirectory, "e", kRootDirectory, "d"}},
          "not empty");
  Refused({RenameEntry{kRootDirectory, "none", kRootDirectory, "x"}}, "no such name");
  Refused({RenameEntry{kRootDirectory, "a", kRootDirectory, ".."}}, "valid name");
  Refused({RenameEntry{FileId(77), "a", kRootDirectory, "x"}}, "no such directory");
}

TEST_F(StateTest, EditsThatContradictTheStateAreRefusedWithTheReason) {
  Refused({CreateFile{.id = FileId(60)}}, "without a name");
  Refused({CreateFile{.id = FileId(100)}, LinkFile{kRootDirectory, "x", FileId(100)}}, "never allocated");
  Refused({CreateFile{.id = kFile}}, "in use");
  Refused({CreateDirectory{FileId(100), kRootDirectory, "x"}}, "never allocated");
  Refused({LinkFile{kRootDirectory, "b", kFile}}, "link \"b\" in directory 1 to file 2: the name is taken");
  Refused({LinkFile{kRootDirectory, "x", kDirectory}}, "no such file");
  Refused({LinkFile{kFile, "x", kFile}}, "no directory 2");
  Refused({LinkFile{kRootDirectory, std::string(256, 'x'), kFile}}, "valid name");
  Refused({LinkFile{kRootDirectory, "a/b", kFile}}, "valid name");
  Refused({UnlinkFile{kRootDirectory, "d"}}, "that of a directory");
  Refused({RemoveDirectory{kRootDirectory, "a"}}, "that of a file");
  Refused({RemoveDirectory{kRootDirectory, "d"}}, "not empty");
  Refused({BeginEpoch{1}}, "epoch is 1 already");
  Refused({ReleaseLogZones{{ZoneId(7)}}}, "not a log zone");
  Refused({MarkSyncZone{ZoneId(7), 65536}}, "not a log zone");
  Refused({SetPairKey{}}, "is empty");
  Refused({RaiseCounters{0, 11}, AllocateLogZones{{LogZone{ZoneId(7), 10, 0}}}, MarkSyncZone{ZoneId(7), 0}},
          "has no bytes");
  Refused({AllocateLogZones{{LogZone{ZoneId(7), 10, 0}}}}, "never allocated");
  Refused({AllocateLogZones{{LogZone{ZoneId(7), 1, 0}, LogZone{ZoneId(7), 2, 0}}}}, "a log zone already");
  Refused({SetLifetime{FileId(99), Lifetime::kLong}}, "no such file");
}

TEST_F(StateTest, SetExtentsAppendsRewritesAndTruncates) {
  Must({SetExtents{kFile, 0, {At(0, 8192, 4096), At(4096, 20480, 100)}, 4196}});
  const Effects rewrite = Must({SetExtents{kFile, 4096, {At(4096, 40960, 5000)}, 9096}});
  EXPECT_THAT(rewrite.lost, ::testing::ElementsAre(At(4096, 20480, 100)));
  EXPECT_THAT(rewrite.gained, ::testing::ElementsAre(At(4096, 40960, 5000)));
  const Effects cut = Must({SetExtents{kFile, 6000, {}, 6000}});
  EXPECT_THAT(cut.lost, ::testing::ElementsAre(At(6000, 40960 + 1904, 3096)));
  const auto file = state_.FindFile(kFile);
  EXPECT_EQ(file->size, 6000u);
  EXPECT_EQ(file->FindExtent(0), 0u);
  EXPECT_EQ(file->FindExtent(4095), 0u);
  EXPECT_EQ(file->FindExtent(5999), 1u);
  EXPECT_EQ(file->FindExtent(6000), 2u);
}

TEST_F(StateTest, ExtentsThatLeaveAGapAreRefused) {
  Refused({SetExtents{kFile, 0, {At(4096, 8192, 4096)}, 8192}}, "begins at byte 4096, expected 0");
  Refused({SetExtents{kFile, 0, {At(0, 8192, 0)}, 0}}, "impossible");
  Refused({SetExtents{kFile, 0, {At(0, ~std::uint64_t{0} - 1, 4096)}, 4096}}, "impossible");
  Refused({SetExtents{kFile, 0, {At(0, 8192, 4096)}, 4097}}, "has size 4097");
}

TEST_F(StateTest, SealedWindowsFollowOneAnotherAndTheExtents) {
  Must({SealLog{kOther, {{1, 1, 4, 700}, {1, 6, 9, 900}}, 10, 900}});
  EXPECT_EQ(state_.FindFile(kOther)->next_sequence, 10u);
  Refused({SealLog{kOther, {}, 9, 0}}, "next frame is 10");
  Refused({SealLog{kOther, {{1, 3, 2, 700}}, 20, 700}}, "impossible");
  Refused({SealLog{kOther, {{1, 1, 20, 700}}, 20, 700}}, "impossible");
  Refused({SealLog{kOther, {{2, 1, 2, 700}}, 20, 700}}, "the epoch is 1");
  Refused({SealLog{kOther, {{1, 4, 5, 700}, {1, 5, 6, 800}}, 20, 800}}, "file order");
  Refused({SetExtents{kOther, 0, {At(0, 8192, 800)}, 900}}, "window inside its extents");
  // Cleaning the frames into an extent is one commit.
  Must({SetExtents{kOther, 0, {At(0, 8192, 900)}, 900}, SealLog{kOther, {}, 10, 900}});
}

// Each seal of a log restates all its windows. No writer needs those without bytes, and an image may have a million of them.
TEST_F(StateTest, WindowsWithoutBytesAreDropped) {
  Must({SetExtents{kOther, 0, {At(0, 8192, 900)}, 900},
        SealLog{kOther,
                {{1, 1, 1, 900}, {1, 2, 3, 950}, {1, 4, 5, 950}, {1, 6, 6, 950}, {1, 7, 9, 960}},
                12,
                960}});
  const auto file = state_.FindFile(kOther);
  EXPECT_EQ(file->windows, (std::vector<LogWindow>{{1, 2, 3, 950}, {1, 7, 9, 960}}));
  EXPECT_EQ(file->next_sequence, 12u);
  Refused({SealLog{kOther, {{1, 1, 20, 900}}, 20, 900}}, "impossible");
  Must({SealLog{kOther, {{1, 1, 1, 900}}, 13, 900}});
  EXPECT_TRUE(state_.FindFile(kOther)->windows.empty());
}

TEST_F(StateTest, ASealMakesAPlainFileFramed) {
  Must({SetExtents{kFile, 0, {At(0, 8192, 4097)}, 4097}});
  Must({SealLog{kFile, {{1, 1, 2, 5000}}, 3, 5000}});
  const auto file = state_.FindFile(kFile);
  EXPECT_EQ(file->shape, FileShape::kFramed);
  EXPECT_EQ(file->extents.size(), 1u);
  EXPECT_EQ(file->size, 5000u);
  EXPECT_EQ(file->next_sequence, 3u);
}

// R4 of docs/internals/failures.md.
TEST_F(StateTest, RecordsHeldByReadersDoNotChange) {
  const auto before = state_.FindFile(kFile);
  Must({SetExtents{kFile, 0, {At(0, 8192, 4096)}, 4096}});
  EXPECT_EQ(before->size, 0u);
  EXPECT_EQ(state_.FindFile(kFile)->size, 4096u);
}

// A copy for each commit would take a time in proportion to the extents.
TEST_F(StateTest, ARecordThatNobodyHoldsIsNotCopiedByACommit) {
  const FileRecord* const before = state_.FindFile(kFile).get();
  Must({SetExtents{kFile, 0, {At(0, 8192, 4096)}, 4096}});
  EXPECT_EQ(state_.FindFile(kFile).get(), before);
  const State shares = state_;
  Must({SetExtents{kFile, 4096, {At(4096, 16384, 4096)}, 8192}});
  EXPECT_NE(state_.FindFile(kFile).get(), before);
  EXPECT_EQ(shares.FindFile(kFile)->size, 4096u);
}

TEST_F(StateTest, ADirectoryBelowItselfIsRefusedHoweverItGotThere) {
  // Each of the two moves below the other.
  Refused(
      {CreateDirectory{FileId(50), kRootDirectory, "e"}, RenameEntry{kRootDirectory, "d", FileId(50), "d"},
       RenameEntry{kRootDirectory, "e", kDirectory, "e"}},
      "below itself");
}

TEST_F(StateTest, ManyRenamesInADeepTreeCostOneWalkACommit) {
  constexpr std::uint64_t kDepth = 100'000;
  const auto chain = [](FileId top, const std::string& name) {
    std::vector<Edit> edits{RaiseCounters{top.value + kDepth, 0}};
    for (std::uint64_t i = 0; i < kDepth; ++i) {
      edits.push_back(i == 0 ? CreateDirectory{top, kRootDirectory, name, 1}
                             : CreateDirectory{FileId(top.value + i), FileId(top.value + i - 1), "d", 1});
    }
    return edits;
  };
  State state;
  ASSERT_TRUE(state.Apply(chain(FileId(1000), "a")).ok());
  ASSERT_TRUE(state.Apply(chain(FileId(1000 + kDepth), "b")).ok());
  const FileId deepest(999 + kDepth);
  std::vector<Edit> moves;
  for (int i = 0; i < 100'000; ++i) {
    moves.push_back(RenameEntry{kRootDirectory, "b", deepest, "b"});
    moves.push_back(RenameEntry{deepest, "b", kRootDirectory, "b"});
  }
  ASSERT_TRUE(state.Apply(moves).ok());
  EXPECT_THAT(state.Check(), IsEmpty());
}

std::function<Result<const Edit*>()> OneByOne(const std::vector<Edit>& edits) {
  return [&edits, i = std::size_t{0}]() mutable -> Result<const Edit*> {
    return i < edits.size() ? &edits[i++] : nullptr;
  };
}

// A walk for each commit would take minutes.
TEST_F(StateTest, ManyCommitsThatRenameInADeepTreeCostOneWalkAReplay) {
  constexpr std::uint64_t kDepth = 100'000;
  std::vector<Edit> chain{RaiseCounters{2000 + kDepth, 0}};
  for (std::uint64_t i = 0; i < kDepth; ++i)
    chain.push_back(CreateDirectory{FileId(1000 + i), i == 0 ? kRootDirectory : FileId(999 + i), "c", 1});
  const FileId deepest(999 + kDepth);
  chain.push_back(CreateDirectory{FileId(1000 + kDepth), deepest, "a", 1});
  ASSERT_TRUE(state_.Replay(OneByOne(chain)).ok());
  for (int i = 0; i < 50'000; ++i) {
    ASSERT_TRUE(state_.Replay(OneByOne({RenameEntry{deepest, "a", deepest, "b"}})).ok());
    ASSERT_TRUE(state_.Replay(OneByOne({RenameEntry{deepest, "b", deepest, "a"}})).ok());
  }
  EXPECT_TRUE(state_.CheckMoved().ok());
  EXPECT_THAT(state_.Check(), IsEmpty());
}

TEST_F(StateTest, ADirectoryThatAReplayPutBelowItselfIsFoundAtItsEnd) {
  ASSERT_TRUE(state_.Replay(OneByOne({RenameEntry{kRootDirectory, "d", kInner, "d"}})).ok());
  const Status tree = state_.CheckMoved();
  ASSERT_FALSE(tree.ok());
  EXPECT_THAT(tree.error().text(), HasSubstr("below itself"));
}

TEST_F(StateTest, ADirectoryThatWasMovedAndRemovedIsNotLookedFor) {
  ASSERT_TRUE(state_.Replay(OneByOne({RenameEntry{kDirectory, "inner", kRootDirectory, "inner"}})).ok());
  ASSERT_TRUE(state_.Replay(OneByOne({RemoveDirectory{kRootDirectory, "inner"}})).ok());
  EXPECT_TRUE(state_.CheckMoved().ok());
}

// With time in proportion to the square of the depth, this would take minutes.
TEST_F(StateTest, AnyDepthOfDirectoriesIsCheckedInLinearTime) {
  constexpr std::uint64_t kDepth = 300'000;
  std::vector<Edit> chain{RaiseCounters{1000 + kDepth, 0}};
  for (std::uint64_t i = 0; i < kDepth; ++i) {
    chain.push_back(CreateDirectory{FileId(1000 + i), i == 0 ? kRootDirectory : FileId(999 + i), "d", 1});
  }
  State state;
  ASSERT_TRUE(state.Apply(chain).ok());
  EXPECT_THAT(state.Check(), IsEmpty());
}

TEST_F(StateTest, OverlappingExtentsAreFoundByCheck) {
  ASSERT_TRUE(state_
                  .Apply(std::vector<Edit>{SetExtents{kFile, 0, {At(0, 8192, 4096)}, 4096},
                                           SetExtents{kOther, 0, {At(0, 12287, 4096)}, 4096}})
                  .ok());
  EXPECT_THAT(state_.Check(), ::testing::ElementsAre("files 2 and 3 both claim device byte 12287"));
}

// Metadata of a few MiB can have millions, so a check must not keep them all.
TEST_F(StateTest, OverlapsAreListedUpToAThousand) {
  std::vector<Edit> edits{RaiseCounters{20'000, 0}};
  for (std::uint64_t i = 10'000; i < 12'500; ++i) {
    edits.push_back(CreateFile{.id = FileId(i)});
    edits.push_back(LinkFile{kRootDirectory, std::to_string(i), FileId(i)});
    edits.push_back(SetExtents{FileId(i), 0, {At(0, 8192, 4096)}, 4096});
  }
  ASSERT_TRUE(state_.Apply(edits).ok());
  EXPECT_THAT(state_.Flaws(), IsEmpty());
  const std::vector<std::string> texts = state_.Check();
  ASSERT_EQ(texts.size(), StateFlaws::kKeptAtMost);
  EXPECT_EQ(texts.front(), "files 10000 and 10001 both claim device byte 8192");
  EXPECT_EQ(texts.back(), "files 10999 and 11000 both claim device byte 8192");
}

TEST(StateFlawsTest, TheFirstByTextAreKeptAndTheOthersCounted) {
  StateFlaws flaws;
  for (int i = 4999; i >= 1000; --i) flaws.Add({.text = std::to_string(i), .files = {}});
  EXPECT_EQ(flaws.size(), StateFlaws::kKeptAtMost);
  EXPECT_EQ(flaws.begin()->text, "1000");
  EXPECT_EQ(std::prev(flaws.end())->text, "1999");
  EXPECT_EQ(flaws.omitted(), 3000u);
}

TEST_F(StateTest, NumbersHigherThanAnyWriterCountsAreRefused) {
  constexpr std::uint64_t kTooFar = std::uint64_t{1} << 63;
  Refused({BeginEpoch{kTooFar}}, "any writer");
  Refused({RaiseCounters{kTooFar, 0}}, "any writer");
  Refused({RaiseCounters{0, kTooFar}}, "any writer");
  Refused({SealLog{.id = kOther, .windows = {}, .next_sequence = kTooFar}}, "any writer");
  Refused({SealLog{kOther, {{1, 1, 2, kTooFar}}, 20, kTooFar}}, "any writer");
}

TEST_F(StateTest, CountersOnlyRise) {
  Must({RaiseCounters{.next_id = 5, .next_generation = 20}});
  EXPECT_EQ(state_.next_id(), 100u);
  EXPECT_EQ(state_.next_generation(), 20u);
}

TEST(Lifetimes, HaveNames) {
  EXPECT_EQ(LifetimeName(Lifetime::kNotSet), "not set");
  EXPECT_EQ(LifetimeName(Lifetime::kExtreme), "extreme");
}

State Rebuilt(const State& state) {
  State copy;
  state.Describe([&](std::vector<Edit> edits) {
    const Status done = copy.Apply(edits);
    RC_ASSERT(done.ok());
  });
  return copy;
}

RC_GTEST_PROP(StateProperty, DescriptionRebuildsAnEqualState, (std::uint64_t seed)) {
  EditWalk walk(seed);
  State state;
  for (int i = 0; i < 80; ++i) {
    const std::vector<Edit> edits = walk.Next();
    RC_ASSERT(state.Apply(edits).ok());
  }
  RC_ASSERT(state == walk.state());
  RC_ASSERT(state.Check().empty());
  RC_ASSERT(Rebuilt(state) == state);
}

RC_GTEST_PROP(StateProperty, EffectsAccountForEveryLiveByte, (std::uint64_t seed)) {
  EditWalk walk(seed);
  State state;
  std::int64_t live = 0;
  const auto sum = [](const std::vector<Extent>& extents) {
    std::int64_t bytes = 0;
    for (const Extent& extent : extents) bytes += static_cast<std::int64_t>(extent.length);
    return bytes;
  };
  for (int i = 0; i < 80; ++i) {
    Effects effects;
    RC_ASSERT(state.Apply(walk.Next(), &effects).ok());
    live += sum(effects.gained) - sum(effects.lost);
  }
  std::int64_t expected = 0;
  for (const auto& [id, file] : state.files()) expected += sum(file->extents);
  RC_ASSERT(live == expected);
}

}  // namespace
}  // namespace zenfs
