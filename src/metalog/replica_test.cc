// The metadata log's copy of the state, its account of reserved room, and the size of its snapshots.
#include "metalog/replica.h"

#include <rapidcheck/gtest.h>

#include "format/edit_codec.h"
#include "metalog/metalog_test_util.h"
#include "testing/edit_walk.h"

namespace zenfs::replica_test {
namespace {

constexpr std::uint64_t kReserved = 1000;

Replica MakeReplica() {
  State state;
  EXPECT_TRUE(state.Apply(InitialEdits()).ok());
  return Replica(std::move(state));
}

Status Commit(Replica& replica, std::vector<Edit> edits, std::string encoded = "encoded") {
  replica.Reserve(kReserved);
  return replica.Add(std::make_shared<const std::vector<Edit>>(std::move(edits)), encoded, kReserved);
}

TEST(Replica, ACommitReplacesItsReservationByItsSize) {
  Replica replica = MakeReplica();
  const std::uint64_t before = replica.used_bytes();
  replica.Reserve(kReserved);
  EXPECT_EQ(replica.used_bytes(), before + kReserved);
  replica.Release(kReserved);
  EXPECT_EQ(replica.used_bytes(), before);
  ZENFS_ASSERT_OK(Commit(replica, CreateNamed(kFirstTestId)));
  EXPECT_GT(replica.used_bytes(), before);
  EXPECT_LT(replica.used_bytes(), before + kReserved);
}

TEST(Replica, CommitsDuringALogSwitchWaitUntilItsEnd) {
  Replica replica = MakeReplica();
  const std::uint64_t before = replica.used_bytes();
  const State& frozen = replica.Freeze();
  ZENFS_ASSERT_OK(Commit(replica, CreateNamed(kFirstTestId), "first"));
  ZENFS_ASSERT_OK(Commit(replica, CreateNamed(kFirstTestId + 1), "second"));
  EXPECT_FALSE(HasFile(frozen, kFirstTestId));
  ASSERT_EQ(replica.pending().size(), 2u);
  EXPECT_EQ(replica.pending()[0].encoded, "first");
  EXPECT_EQ(replica.pending()[1].encoded, "second");
  EXPECT_EQ(replica.used_bytes(), before + 2 * kReserved);

  ZENFS_ASSERT_OK(replica.Thaw());
  EXPECT_TRUE(replica.pending().empty());
  EXPECT_TRUE(HasFile(replica.Freeze(), kFirstTestId + 1));
}

TEST(Replica, TheMeasuredFootprintReplacesTheBoundBeforePendingCommitsAreAdded) {
  Replica replica = MakeReplica();
  const State& frozen = replica.Freeze();
  const Footprint measured(frozen);
  ZENFS_ASSERT_OK(Commit(replica, CreateNamed(kFirstTestId)));
  ZENFS_ASSERT_OK(replica.Thaw(measured));
  EXPECT_GT(replica.used_bytes(), measured.bytes());
}

TEST(Replica, EditsThatContradictTheStateAreAnError) {
  Replica replica = MakeReplica();
  EXPECT_FALSE(Commit(replica, UnlinkNamed(kFirstTestId)).ok());

  Replica frozen = MakeReplica();
  frozen.Freeze();
  ZENFS_ASSERT_OK(Commit(frozen, UnlinkNamed(kFirstTestId)));
  EXPECT_FALSE(frozen.Thaw().ok());
}

// --- the size of a snapshot, and its room ---

std::uint64_t SnapshotBytes(const State& state) {
  std::uint64_t bytes = 0;
  state.Describe([&bytes](std::vector<Edit> edits) {
    EditListBuilder list;
    list.Add(edits);
    bytes += list.Take().size();
  });
  return bytes;
}

RC_GTEST_PROP(FootprintProperty, IsAnUpperBoundThatStaysClose, (std::uint64_t seed)) {
  EditWalk walk(seed);
  State state;
  Footprint footprint(state);
  for (int i = 0; i < 100; ++i) {
    const std::vector<Edit> edits = walk.Next();
    Effects effects;
    RC_ASSERT(state.Apply(edits, &effects).ok());
    footprint.Apply(edits, effects, state);
    RC_ASSERT(footprint.bytes() >= SnapshotBytes(state));
  }
  const Footprint fresh(state);
  RC_ASSERT(fresh.bytes() >= SnapshotBytes(state));
  RC_ASSERT(fresh.bytes() <= footprint.bytes());
  RC_ASSERT(fresh.bytes() <= 256 + 4 * SnapshotBytes(state));
}

// D5 of docs/internals/failures.md.
TEST(MetalogSpace, TwoSnapshotsAlwaysFit) {
  for (const std::uint64_t zone : {56u << 10, 1u << 20, 1u << 30}) {
    for (std::uint32_t zones = 2; zones < 10; ++zones) {
      const MetalogSpace space{.zone_bytes = zone, .zones = zones, .block_size = 4096};
      EXPECT_LT(2 * space.SnapshotLimit(), zones * zone);
      EXPECT_GT(space.SnapshotLimit(Growth::kNeutral), space.SnapshotLimit(Growth::kGrows));
    }
  }
}

TEST(MetalogSpace, DeletingIsNeverGrowth) {
  const std::vector<Edit> unlink{UnlinkFile{kRootDirectory, "a"}, SetExtents{.id = FileId(2)}};
  EXPECT_EQ(GrowthOf(unlink), Growth::kShrinks);
  const std::vector<Edit> both{UnlinkFile{kRootDirectory, "a"}, CreateFile{.id = FileId(3)}};
  EXPECT_EQ(GrowthOf(both), Growth::kGrows);
}

}  // namespace
}  // namespace zenfs::replica_test
