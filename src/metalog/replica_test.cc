// The metadata log's copy of the state, and its account of reserved room.
#include "metalog/replica.h"

#include "metalog/metalog_test_util.h"

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

}  // namespace
}  // namespace zenfs::replica_test
