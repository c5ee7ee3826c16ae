// The simulation of space: nothing is lost in its sums, and it gives the same for the same seed.
#include <gtest/gtest.h>

#include "space_case.h"

namespace zenfs::space {
namespace {

using What = TraceEvent::What;

Measured RunWorkload(SimulatedZones& zones, std::string_view name, const WorkloadOptions& options,
                     const RunOptions& run) {
  const auto source = MakeWorkload(name, options);
  auto measured = Run(*source, zones, run);
  EXPECT_TRUE(measured.ok()) << measured.error().ToString();
  return *measured;
}

class EveryWorkload : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Space, EveryWorkload, testing::Values("leveled", "uniform", "zipf"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(EveryWorkload, BytesWrittenAreLiveDeadOrFreed) {
  for (const PlacementPolicy& policy : PlacementPolicies()) {
    const auto zones = TestZones(SmallTestDevice(), policy.name);
    const auto source = MakeWorkload(GetParam(), TestWorkload(*zones, 0.8));
    SimulatedVolume volume(*zones);
    for (int i = 0; i < 60'000; ++i) {
      const auto event = source->Next();
      ASSERT_TRUE(event.ok() && *event);
      ASSERT_TRUE(volume.Apply(**event).ok()) << i;
      if (i % 1'000 != 0) continue;
      const SpaceReport space = zones->Space();
      const SpaceCounts& counts = zones->counts();
      // Data files hold their last block back, and log bytes are in log zones, so the data side is what was placed.
      EXPECT_EQ(zones->placed_bytes() + counts.finish_bytes, space.live + space.garbage + counts.freed_bytes)
          << i;
      EXPECT_EQ(space.lost, 0u);
    }
    EXPECT_GT(zones->counts().zones_copied, 0u);
    EXPECT_EQ(zones->pool().Check(), std::vector<std::string>{});
  }
}

TEST_P(EveryWorkload, SameSeedGivesTheSameFigures) {
  const RunOptions options{.warmup = 1, .measure = 1};
  std::vector<std::uint64_t> copied;
  for (const std::uint64_t seed : {7, 7, 8}) {
    const auto zones = TestZones();
    const Measured measured = RunWorkload(*zones, GetParam(), TestWorkload(*zones, 0.8, seed), options);
    copied.push_back(measured.counts.copied_bytes);
  }
  EXPECT_EQ(copied[0], copied[1]);
  EXPECT_NE(copied[0], copied[2]);
}

TEST_P(EveryWorkload, MoreLiveDataNeedsMoreCopies) {
  const RunOptions options{.warmup = 1, .measure = 2};
  double before = 0;
  for (const double live : {0.5, 0.7, 0.85}) {
    const auto zones = TestZones();
    const Measured measured = RunWorkload(*zones, GetParam(), TestWorkload(*zones, live), options);
    EXPECT_FALSE(measured.no_space);
    EXPECT_NEAR(measured.live_share, live, 0.05);
    EXPECT_GE(measured.counts.write_amplification(), before);
    before = measured.counts.write_amplification();
  }
  EXPECT_GT(before, 1.5);
}

TEST_P(EveryWorkload, NoSpaceIsReportedWhenLiveDataExceedsTheCapacity) {
  const auto zones = TestZones();
  EXPECT_TRUE(RunWorkload(*zones, GetParam(), TestWorkload(*zones, 1.1), {.measure = 3}).no_space);
}

TEST(SpaceSimulation, ZoneOfOneFileIsFreeWithoutCopiesWhenTheFileIsDeleted) {
  const auto zones = TestZones();
  SimulatedVolume volume(*zones);
  const std::uint64_t free = zones->Space().free;
  ASSERT_TRUE(volume.Apply({.what = What::kCreate, .id = FileId(1), .kind = TracedKind::kTable}).ok());
  ASSERT_TRUE(volume.Apply({.what = What::kClose, .id = FileId(1), .bytes = zones->capacity()}).ok());
  EXPECT_EQ(zones->Space().live, zones->capacity());
  ASSERT_TRUE(volume.Apply({.what = What::kDelete, .id = FileId(1)}).ok());
  EXPECT_EQ(zones->Space().free, free);
  EXPECT_EQ(zones->counts().copied_bytes, 0u);
  EXPECT_EQ(zones->counts().resets, 1u);
}

TEST(SpaceSimulation, LastBlockOfAFileIsPaddedWhenTheFileIsClosed) {
  const auto zones = TestZones();
  SimulatedVolume volume(*zones);
  ASSERT_TRUE(volume.Apply({.what = What::kCreate, .id = FileId(1), .kind = TracedKind::kTable}).ok());
  ASSERT_TRUE(volume.Apply({.what = What::kSize, .id = FileId(1), .bytes = 5000}).ok());
  EXPECT_EQ(zones->Space().live, 4096u);
  ASSERT_TRUE(volume.Apply({.what = What::kClose, .id = FileId(1), .bytes = 5000}).ok());
  EXPECT_EQ(zones->Space().live, 8192u);
  EXPECT_EQ(zones->counts().padding_bytes, 3192u);
}

TEST(SpaceSimulation, LogZonesOfDeletedLogsAreReturned) {
  const auto zones = TestZones();
  SimulatedVolume volume(*zones);
  const std::uint64_t log = zones->Space().log;
  for (std::uint64_t i = 1; i <= 10; ++i) {
    ASSERT_TRUE(volume.Apply({.what = What::kCreate, .id = FileId(i), .kind = TracedKind::kLog}).ok());
    ASSERT_TRUE(volume.Apply({.what = What::kClose, .id = FileId(i), .bytes = zones->capacity()}).ok());
  }
  EXPECT_EQ(zones->Space().log, 10 * zones->capacity());
  for (std::uint64_t i = 1; i <= 10; ++i) {
    ASSERT_TRUE(volume.Apply({.what = What::kDelete, .id = FileId(i)}).ok());
  }
  EXPECT_EQ(zones->Space().log, log);
}

TEST(SpaceSimulation, LogZonesWithLittleLiveDataAreCleanedWhenSpaceIsShort) {
  const auto zones = TestZones(SmallTestDevice(20));
  SimulatedVolume volume(*zones);
  // Each log zone keeps a small piece of a manifest.
  ASSERT_TRUE(volume.Apply({.what = What::kCreate, .id = FileId(1), .kind = TracedKind::kManifest}).ok());
  for (std::uint64_t i = 1; i <= 40; ++i) {
    ASSERT_TRUE(volume.Apply({.what = What::kSize, .id = FileId(1), .bytes = i * 65536}).ok());
    ASSERT_TRUE(volume.Apply({.what = What::kCreate, .id = FileId(i + 1), .kind = TracedKind::kLog}).ok());
    ASSERT_TRUE(
        volume.Apply({.what = What::kClose, .id = FileId(i + 1), .bytes = zones->capacity() - 65536}).ok())
        << i;
    ASSERT_TRUE(volume.Apply({.what = What::kDelete, .id = FileId(i + 1)}).ok());
  }
  EXPECT_GT(zones->counts().log_zones_cleaned, 0u);
  EXPECT_GE(zones->counts().copied_bytes, zones->counts().log_zones_cleaned * 65536);
}

TEST(SpaceSimulation, IndexOfALargeDeviceFindsVictimsAsGoodAsASearchOfAllZones) {
  const RunOptions options{.warmup = 2, .measure = 2};
  std::vector<double> amplification;
  for (const std::uint32_t zones_searched : {256u, 257u}) {  // the first is searched whole
    const auto zones = TestZones(SmallTestDevice(zones_searched));
    const Measured measured = RunWorkload(*zones, "uniform", TestWorkload(*zones, 0.8), options);
    amplification.push_back(measured.counts.write_amplification());
  }
  EXPECT_NEAR(amplification[0], amplification[1], 0.05 * amplification[0]);
}

TEST(SpaceSimulation, BusyDatabaseWaitsForReclaim) {
  const auto zones = TestZones();
  const RunOptions options{.warmup = 1, .measure = 1, .pace = Pace::kShares};
  EXPECT_GT(RunWorkload(*zones, "uniform", TestWorkload(*zones, 0.85), options).counts.waits, 0u);
}

TEST(SpaceSimulation, DeviceThatIsTooSmallIsRefused) {
  EXPECT_FALSE(SimulatedZones::Create(SmallTestDevice(8), *DefaultPlacement()).ok());
}

TEST(SpaceSimulation, EventThatContradictsTheFilesIsRefused) {
  const auto zones = TestZones();
  SimulatedVolume volume(*zones);
  EXPECT_FALSE(volume.Apply({.what = What::kDelete, .id = FileId(1)}).ok());
  ASSERT_TRUE(volume.Apply({.what = What::kCreate, .id = FileId(1)}).ok());
  EXPECT_FALSE(volume.Apply({.what = What::kCreate, .id = FileId(1)}).ok());
}

}  // namespace
}  // namespace zenfs::space
