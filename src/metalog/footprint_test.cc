#include "metalog/footprint.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "format/edit_codec.h"
#include "testing/edit_walk.h"

namespace zenfs {
namespace {

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
}  // namespace zenfs
