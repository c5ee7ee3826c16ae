#include "backends/zonefs/recent_reads.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

TEST(RecentReadsTest, ReadCountsForASecond) {
  RecentReads reads(4);
  EXPECT_FALSE(reads.Lately(ZoneId(1)));
  const SteadyTime before = SteadyNow();
  reads.Note(ZoneId(1));
  EXPECT_TRUE(reads.Lately(ZoneId(1)));
  EXPECT_TRUE(reads.Lately(ZoneId(1), before + std::chrono::milliseconds(900)));
  EXPECT_FALSE(reads.Lately(ZoneId(1), SteadyNow() + std::chrono::milliseconds(1200)));
}

TEST(RecentReadsTest, ZonesAreApart) {
  RecentReads reads(4);
  reads.Note(ZoneId(2));
  EXPECT_FALSE(reads.Lately(ZoneId(1)));
  EXPECT_FALSE(reads.Lately(ZoneId(3)));
}

}  // namespace
}  // namespace zenfs
