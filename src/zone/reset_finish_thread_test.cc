// The pauses between resets.
#include "zone/zone_manager.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/sync_point.h"
#include "zone/zone_pool_test_rig.h"
#include "zone/zone_test_rig.h"

namespace zenfs::reset_thread_test {
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
    if (name != "ZoneManager::Pause") return;
    pauses = true;
    pauses.notify_all();
  });
  Write();
  rig_.device.Release();
  pauses.wait(false);
  EXPECT_LE(Resets(), 2U);
  // Twenty pauses are 4 s.
  EXPECT_TRUE(rig_.zones->DrainResets(Deadline::After(std::chrono::seconds(3))).ok());
  EXPECT_EQ(Resets(), kDead);
}

TEST_F(Pauses, WithoutWritesThereIsNone) {
  const SyncPoint::Scope scope([&](std::string_view name) { EXPECT_NE(name, "ZoneManager::Pause"); });
  rig_.device.Release();
  EXPECT_TRUE(rig_.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(Resets(), kDead);
}

// Readers that say which zones they use.
class Readers final : public ZoneReaders {
 public:
  bool IsRead(ZoneId zone) const override { return all || zone == ZoneId(first.load()); }
  void NoteReset(ZoneId) override { ++resets; }

  std::atomic<bool> all = false;
  std::atomic<std::uint32_t> first = UINT32_MAX;
  std::atomic<std::uint64_t> resets = 0;
};

class Rests : public testing::Test {
 protected:
  static constexpr std::uint64_t kDead = 10;

  Rests() {
    rig_.Create();
    rig_.zones->SetReaders(&readers_);
    EXPECT_TRUE(rig_.zones->Start().ok());
  }
  ~Rests() override { rig_.zones->Stop(); }
  // Returns once the background thread lets zones rest.
  void Kill() {
    SinkCursor cursor;
    auto dead = rig_.WriteLive(cursor, Lifetime::kShort, kDead * 8);
    ASSERT_TRUE(dead);
    if (!readers_.all) readers_.first = rig_.ZoneOf(dead->front()).value;
    std::atomic<bool> rests = false;
    const SyncPoint::Scope scope([&](std::string_view name) {
      if (name != "ZoneManager::Rest:rests") return;
      rests = true;
      rests.notify_all();
    });
    rig_.zones->RemoveLive(*dead);
    rests.wait(false);
  }
  std::uint64_t Resets() const { return rig_.device.count(Command::kReset); }

  Readers readers_;
  ZoneTestRig rig_{TestGeometry(40, 8)};
};

TEST_F(Rests, AZoneThatIsReadRestsAndTheOthersAreResetAndCounted) {
  Kill();
  EXPECT_EQ(Resets(), kDead - 1);
  EXPECT_EQ(readers_.resets, kDead - 1);
  EXPECT_TRUE(rig_.zones->DrainResets(Deadline::After(std::chrono::seconds(10))).ok());
  EXPECT_EQ(Resets(), kDead);
  rig_.ExpectSound();
}

TEST_F(Rests, AZoneOfTheLogRestsWithoutASlot) {
  const auto zone = rig_.zones->AllocateLogZone(ZoneTestRig::Soon());
  ASSERT_TRUE(zone);
  AlignedBuffer block(kTestBlock);
  block.Resize(kTestBlock);
  ASSERT_TRUE(rig_.device.Write(rig_.device.geometry().ZoneStart(*zone), block.View()).ok());
  readers_.first = zone->value;
  std::atomic<bool> rests = false;
  {
    const SyncPoint::Scope scope([&](std::string_view name) {
      if (name != "ZoneManager::Rest:rests") return;
      rests = true;
      rests.notify_all();
    });
    rig_.zones->ReleaseLogZone(*zone);
    rests.wait(false);
  }
  EXPECT_EQ(Resets(), 0U);
  EXPECT_EQ(rig_.ActiveOnDevice(), 0U);
  rig_.ExpectSound();
  EXPECT_TRUE(rig_.zones->DrainResets(ZoneTestRig::Soon()).ok());
  EXPECT_EQ(Resets(), 1U);
  rig_.ExpectSound();
}

TEST_F(Rests, AReaderThatEndsIsNoticed) {
  Kill();
  rig_.device.Hold(Command::kReset);
  readers_.first = UINT32_MAX;
  EXPECT_TRUE(rig_.device.WaitUntilHeld(1, Deadline::After(std::chrono::seconds(30))));
  rig_.device.Release();
}

TEST_F(Rests, AWriterNeverWaitsForAReader) {
  readers_.all = true;
  Kill();
  EXPECT_EQ(Resets(), 0U);
  SinkCursor cursor;
  for (int zone = 0; zone < 100; ++zone) {
    auto extents = rig_.WriteLive(cursor, Lifetime::kShort, 8);
    ASSERT_TRUE(extents) << zone;
    rig_.zones->RemoveLive(*extents);
  }
  EXPECT_GT(Resets(), 40U);
}

// Twelve zones, of which four die. One of these is reset while data is written.
class ResetsCanWait : public testing::Test {
 protected:
  ResetsCanWait() {
    ClaimState claim;
    std::vector<Extent> dead;
    for (int i = 0; i < 4; ++i)
      dead.push_back(bench_.Write(claim, Lifetime::kShort, PoolBench::kBlocksAZone));
    bench_.pool.RemoveLive(dead);
    const auto job = bench_.pool.NextJob();
    bench_.Write(claim_, Lifetime::kShort, 1);
    ZoneInfo empty;
    empty.id = job->zone;
    empty.capacity = PoolBench::kBlocksAZone * PoolBench::kBlock;
    empty.condition = ZoneCondition::kEmpty;
    bench_.pool.JobDone(*job, {true, empty});
  }
  bool Can() { return bench_.pool.ResetsCanWait(); }

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
  ASSERT_TRUE(bench_.pool.FinishActive(claim_.zone));
  EXPECT_FALSE(Can());
}

TEST_F(ResetsCanWait, NotIfADeadZoneHoldsASlot) {
  ClaimState other;
  const Extent extent = bench_.Write(other, Lifetime::kLong, PoolBench::kBlocksAZone - 1);
  bench_.pool.ReleaseClaim(other);
  ASSERT_TRUE(Can());
  bench_.pool.RemoveLive({{extent}});
  EXPECT_FALSE(Can());
}

}  // namespace
}  // namespace zenfs::reset_thread_test
