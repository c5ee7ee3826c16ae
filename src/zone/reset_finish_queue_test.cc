#include "zone/reset_finish_queue.h"

#include <gtest/gtest.h>

namespace zenfs::reset_queue_test {
namespace {

TEST(ResetQueueTest, IsNotIdleWhileTheLastJobRuns) {
  ResetQueue queue;
  EXPECT_TRUE(queue.idle());
  queue.Push({ZoneId(3), ZoneJob::Kind::kFinish});
  EXPECT_EQ(queue.Pop().zone, ZoneId(3));
  queue.Begin();
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.idle());
  queue.End();
  EXPECT_TRUE(queue.idle());
}

TEST(ResetQueueTest, WhatCanWaitComesLast) {
  ResetQueue queue;
  queue.Push({.zone = ZoneId(1), .can_wait = true});
  queue.Push({.zone = ZoneId(2), .can_wait = true});
  EXPECT_TRUE(queue.can_wait());
  queue.Push({.zone = ZoneId(3), .kind = ZoneJob::Kind::kFinish});
  EXPECT_FALSE(queue.can_wait());
  EXPECT_EQ(queue.Pop().zone, ZoneId(3));
  EXPECT_TRUE(queue.can_wait());
  EXPECT_EQ(queue.StopResets(), (std::vector<ZoneId>{ZoneId(1), ZoneId(2)}));
  EXPECT_TRUE(queue.empty());
}

TEST(ResetQueueTest, StoppingResetsKeepsFinishesInOrder) {
  ResetQueue queue;
  queue.Push({ZoneId(1), ZoneJob::Kind::kReset});
  queue.Push({ZoneId(2), ZoneJob::Kind::kFinish});
  queue.Push({ZoneId(3), ZoneJob::Kind::kResetIfWritten});
  queue.Push({ZoneId(4), ZoneJob::Kind::kFinish});
  EXPECT_EQ(queue.StopResets(), (std::vector<ZoneId>{ZoneId(1), ZoneId(3)}));
  EXPECT_TRUE(queue.resets_stopped());
  EXPECT_EQ(queue.Pop().zone, ZoneId(2));
  EXPECT_EQ(queue.Pop().zone, ZoneId(4));
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace zenfs::reset_queue_test
