#include "catalog/extent_index.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "testing/edit_walk.h"

namespace zenfs {
namespace {

std::set<ExtentIndex::Entry> ExtentsByWalk(const State& state) {
  std::set<ExtentIndex::Entry> entries;
  for (const auto& [id, file] : state.files()) {
    for (const Extent& extent : file->extents) entries.insert({extent.place, id, extent.file_offset});
  }
  return entries;
}

class ExtentIndexTest : public testing::Test {
 protected:
  static constexpr FileId kFile{2};
  static constexpr FileId kOther{3};
  static constexpr std::uint64_t kBlock = 4096;
  static Extent At(std::uint64_t file_block, std::uint64_t device_block, std::uint64_t blocks = 1) {
    return {.file_offset = file_block * kBlock,
            .place = DeviceOffset(device_block * kBlock),
            .length = blocks * kBlock};
  }

  ExtentIndexTest() {
    Commit({RaiseCounters{100, 0}, CreateFile{kFile}, LinkFile{kRootDirectory, "a", kFile},
            CreateFile{kOther}, LinkFile{kRootDirectory, "b", kOther}});
  }
  // Applies `edits` and expects the extents that a walk over all files finds, also from a new index of the state.
  void Commit(const std::vector<Edit>& edits) {
    Effects effects;
    ASSERT_TRUE(state_.Apply(edits, &effects).ok());
    index_.Update(edits, effects.lost, state_);
    EXPECT_EQ(index_.entries(), ExtentsByWalk(state_));
    EXPECT_EQ(ExtentIndex(state_).entries(), index_.entries());
  }
  // The file of each extent, in order of place.
  std::vector<FileId> Files() const {
    std::vector<FileId> files;
    for (const ExtentIndex::Entry& entry : index_.entries()) files.push_back(entry.file);
    return files;
  }
  using Ids = std::vector<FileId>;

  State state_;
  ExtentIndex index_{state_};
};

TEST_F(ExtentIndexTest, ExtentsAreInOrderOfPlace) {
  Commit({SetExtents{kFile, 0, {At(0, 30), At(1, 10)}, 2 * kBlock}});
  Commit({SetExtents{kOther, 0, {At(0, 20)}, kBlock}});
  EXPECT_EQ(Files(), (Ids{kFile, kOther, kFile}));
}

TEST_F(ExtentIndexTest, ExtentsOfADeletedFileAreDropped) {
  Commit({SetExtents{kFile, 0, {At(0, 30), At(1, 10)}, 2 * kBlock}});
  Commit({LinkFile{kRootDirectory, "a too", kFile}});
  Commit({UnlinkFile{kRootDirectory, "a"}});
  EXPECT_EQ(Files(), (Ids{kFile, kFile}));
  Commit({UnlinkFile{kRootDirectory, "a too"}});
  EXPECT_EQ(Files(), Ids{});
}

TEST_F(ExtentIndexTest, ARenameKeepsTheFileAndDropsTheReplacedOne) {
  Commit({SetExtents{kFile, 0, {At(0, 30)}, kBlock}, SetExtents{kOther, 0, {At(0, 40)}, kBlock}});
  Commit({RenameEntry{kRootDirectory, "a", kRootDirectory, "b"}});
  EXPECT_EQ(Files(), Ids{kFile});
}

TEST_F(ExtentIndexTest, ATruncationDropsTheExtentsBehindTheCut) {
  Commit({SetExtents{kFile, 0, {At(0, 30, 2), At(2, 10, 2)}, 4 * kBlock}});
  Commit({SetExtents{kFile, 3 * kBlock, {}, 3 * kBlock}});
  EXPECT_EQ(Files(), (Ids{kFile, kFile}));
  Commit({SetExtents{kFile, kBlock, {}, kBlock}});
  EXPECT_EQ(Files(), Ids{kFile});
  Commit({SetExtents{kFile, 0, {}, 0}});
  EXPECT_EQ(Files(), Ids{});
}

TEST_F(ExtentIndexTest, ARestatedOrLongerExtentIsKept) {
  Commit({SetExtents{kFile, 0, {At(0, 30), At(1, 31)}, 2 * kBlock}});
  Commit({SetExtents{kFile, 0, {At(0, 50), At(1, 31)}, 2 * kBlock}});
  Commit({SetExtents{kFile, 0, {At(0, 50, 2)}, 2 * kBlock}});
  EXPECT_EQ(Files(), Ids{kFile});
}

TEST_F(ExtentIndexTest, AnExtentThatItsOwnCommitDropsIsNotKept) {
  Commit({SetExtents{kFile, 0, {At(0, 30)}, kBlock}, SetExtents{kFile, 0, {}, 0}});
  EXPECT_EQ(Files(), Ids{});
  Commit({SetExtents{kFile, 0, {At(0, 30)}, kBlock}, UnlinkFile{kRootDirectory, "a"}});
  EXPECT_EQ(Files(), Ids{});
}

TEST_F(ExtentIndexTest, AnExtentThatMovesToAnotherFileBelongsToThatFile) {
  Commit({SetExtents{kFile, 0, {At(0, 30)}, kBlock}});
  Commit({SetExtents{kOther, 0, {At(0, 30)}, kBlock}, SetExtents{kFile, 0, {}, 0}});
  EXPECT_EQ(Files(), Ids{kOther});
}

// If each lost extent visited all others at its place, this would take minutes, with the catalog's lock held.
TEST_F(ExtentIndexTest, ManyExtentsAtOnePlaceAreVisitedOnceForACommit) {
  constexpr std::uint64_t kExtents = 30'000;
  SetExtents all{.id = kFile, .from_offset = 0, .extents = {}, .size = kExtents * kBlock};
  for (std::uint64_t i = 0; i < kExtents; ++i) all.extents.push_back(At(i, 7));
  Commit({all});
  all.extents.front() = At(0, 9);
  Commit({all});
  EXPECT_EQ(index_.entries().size(), kExtents);
  Commit({SetExtents{.id = kFile, .from_offset = 0, .extents = {At(0, 9)}, .size = kBlock}});
  EXPECT_EQ(index_.entries().size(), 1u);
}

TEST_F(ExtentIndexTest, OneOfTwoFilesAtOnePlaceIsDroppedAlone) {
  Commit({SetExtents{kFile, 0, {At(0, 30)}, kBlock}, SetExtents{kOther, 0, {At(0, 30)}, kBlock}});
  EXPECT_EQ(Files(), (Ids{kFile, kOther}));
  Commit({UnlinkFile{kRootDirectory, "a"}});
  EXPECT_EQ(Files(), Ids{kOther});
}

RC_GTEST_PROP(ExtentIndexProperty, RandomCommitsMatchAWalkOverAllFiles, (std::uint64_t seed)) {
  EditWalk walk(seed);
  State state;
  ExtentIndex index(state);
  for (int i = 0; i < 80; ++i) {
    const std::vector<Edit> edits = walk.Next();
    Effects effects;
    RC_ASSERT(state.Apply(edits, &effects).ok());
    index.Update(edits, effects.lost, state);
    RC_ASSERT(index.entries() == ExtentsByWalk(state));
  }
  RC_ASSERT(ExtentIndex(state).entries() == index.entries());
}

}  // namespace
}  // namespace zenfs
