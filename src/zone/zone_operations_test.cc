// The pauses between resets.
#include "zone/zone_operations.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/sync_point.h"
#include "zone/zone_pool_bench.h"
#include "zone/zone_test_rig.h"

namespace zenfs::zone_operations_test {
namespace {

using Command = FaultyDevice::Command;

// Zones that die at once, with data written during the reset of the first one.
class Pauses : public testing::Test {
 protected:
  static constexpr std::uint64_t kDead = 20;

  Pauses() {
    rig_.Mount();
    SinkCursor cursor;
    auto dead = rig_.WriteLive(cursor, Lifetime::kShort, kDead * 8);
    EXPECT_TRUE(dead);
    cursor = {};
    rig_.device.Hold(Command::kReset);
    rig_.zones->RemoveLive(*dead);
    EXPECT_TRUE(rig_.device.WaitUntilHeld(1, ZoneTestRig::Soon()));
  }
  void Write() { EXPECT_TRUE(rig_.WriteLive(cursor_, Lifetime::kShort, 1)); }
  std::uint64_t Resets() const { return rig_.device.count(Command::kReset); }

  ZoneTestRig rig_{TestGeometry(40, 8)};
  SinkCursor cursor_;
};

TEST_F(Pauses, ResetsUnderWritesHavePausesUntilSomebodyWaits) {
  std::atomic<bool> pauses = false;
  const SyncPoint::Scope scope([&](std::string_view name) {
    if (name != "zone.operations.pause") return;
    pauses = true;
    pauses.notify_all();
  });
  Write();
  rig_.device.Release();
  pauses.wait(false);
  EXPECT_LE(Resets(), 2U);
  // Twenty pauses are 4 s.
  EXPECT_TRUE(rig_.zones->operations().Drain(Deadline::After(std::chrono::seconds(3))).ok());
  EXPECT_EQ(Resets(), kDead);
}

TEST_F(Pauses, WithoutWritesThereIsNone) {
  const SyncPoint::Scope scope([&](std::string_view name) { EXPECT_NE(name, "zone.operations.pause"); });
  rig_.device.Release();
  EXPECT_TRUE(rig_.zones->operations().Drain(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(Resets(), kDead);
}

// Twelve zones, of which four die. One of these is reset while data is written.
class ResetsCanWait : public testing::Test {
 protected:
  ResetsCanWait() {
    ClaimState claim;
    std::vector<Extent> dead;
    for (int i = 0; i < 4; ++i)
      dead.push_back(bench_.Write(claim, Lifetime::kShort, PoolBench::kBlocksAZone));
    bench_.pool.live().Remove(dead);
    const auto job = bench_.pool.phases().NextJob();
    bench_.Write(claim_, Lifetime::kShort, 1);
    ZoneInfo empty;
    empty.id = job->zone;
    empty.capacity = PoolBench::kBlocksAZone * PoolBench::kBlock;
    empty.condition = ZoneCondition::kEmpty;
    bench_.pool.phases().JobDone(*job, {true, empty});
  }
  bool Can() { return bench_.pool.phases().ResetsCanWait(); }

  PoolBench bench_{12, {.data = 4, .open_data = 4}};
  ClaimState claim_;
};

TEST_F(ResetsCanWait, WhileMoreThanAFewZonesAreEmpty) {
  for (int empty = 8; empty > 2; --empty) {
    EXPECT_TRUE(Can()) << empty;
    bench_.Write(claim_, Lifetime::kShort, PoolBench::kBlocksAZone);  // what is left in a zone
    bench_.Write(claim_, Lifetime::kShort, 1);
  }
  EXPECT_FALSE(Can());
}

TEST_F(ResetsCanWait, NotIfAFinishIsQueued) {
  ASSERT_TRUE(Can());
  ASSERT_TRUE(bench_.pool.phases().FinishActive(claim_.zone));
  EXPECT_FALSE(Can());
}

TEST_F(ResetsCanWait, NotIfADeadZoneHoldsASlot) {
  ClaimState other;
  const Extent extent = bench_.Write(other, Lifetime::kLong, PoolBench::kBlocksAZone - 1);
  bench_.pool.data().Unclaim(other);
  ASSERT_TRUE(Can());
  bench_.pool.live().Remove({{extent}});
  EXPECT_FALSE(Can());
}

}  // namespace
}  // namespace zenfs::zone_operations_test
