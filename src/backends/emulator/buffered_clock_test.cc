#include "backends/emulator/buffered_clock.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

TEST(WriteDrainTest, IdleDriveDrainsItsBufferAtFullSpeed) {
  WriteDrain drain;
  drain.Advance(1000);
  drain.Buffer(500);
  EXPECT_DOUBLE_EQ(drain.BufferFallsTo(200), 1300);
  EXPECT_DOUBLE_EQ(drain.BufferFallsTo(600), 1000);
  drain.Advance(1400);
  EXPECT_DOUBLE_EQ(drain.BufferFallsTo(0), 1500);
  drain.Advance(9000);
  EXPECT_DOUBLE_EQ(drain.BufferFallsTo(0), 9000);
}

TEST(WriteDrainTest, StallComesFirst) {
  WriteDrain drain;
  drain.Buffer(500);
  drain.Stall(300);
  EXPECT_DOUBLE_EQ(drain.BufferFallsTo(0), 800);
  drain.Advance(100);
  EXPECT_DOUBLE_EQ(drain.stalled(), 200);
  drain.Advance(400);
  EXPECT_DOUBLE_EQ(drain.stalled(), 0);
  EXPECT_DOUBLE_EQ(drain.BufferFallsTo(0), 800);
}

TEST(WriteDrainTest, FinishSharesWithTheBufferUntilOneOfThemEnds) {
  WriteDrain drain;
  drain.BeginFinish(ZoneId(1), 1000);
  drain.Buffer(300);
  EXPECT_DOUBLE_EQ(drain.BufferFallsTo(0), 600);
  EXPECT_DOUBLE_EQ(drain.BufferFallsTo(100), 400);
  EXPECT_DOUBLE_EQ(drain.FinishEnds(ZoneId(1)), 1300);
  drain.Advance(700);  // 300 of either until 600, then 100 of the finish
  EXPECT_TRUE(drain.Finishes(ZoneId(1)));
  drain.Buffer(100);
  EXPECT_DOUBLE_EQ(drain.FinishEnds(ZoneId(1)), 1400);
}

TEST(WriteDrainTest, AllWorkIsDoneOnceWhoeverShares) {
  WriteDrain drain;
  drain.BeginFinish(ZoneId(1), 400);
  drain.BeginFinish(ZoneId(2), 1000);
  drain.BeginFinish(ZoneId(3), 700);
  EXPECT_DOUBLE_EQ(drain.FinishEnds(ZoneId(1)), 1200);
  EXPECT_DOUBLE_EQ(drain.FinishEnds(ZoneId(3)), 1800);
  EXPECT_DOUBLE_EQ(drain.FinishEnds(ZoneId(2)), 2100);
  drain.Advance(2100);
  EXPECT_FALSE(drain.finishing());
}

TEST(WriteDrainTest, PastTimeChangesNothing) {
  WriteDrain drain;
  drain.Advance(1000);
  drain.Buffer(100);
  drain.Advance(500);
  EXPECT_DOUBLE_EQ(drain.BufferFallsTo(0), 1100);
}

}  // namespace
}  // namespace zenfs
