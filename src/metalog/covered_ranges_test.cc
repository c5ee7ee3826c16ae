#include "metalog/covered_ranges.h"

#include <gmock/gmock.h>

#include <limits>
#include <set>

#include "base/random.h"

namespace zenfs::covered_ranges_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Range = CoveredRanges::Range;

TEST(CoveredRangesTest, ReturnsWhatWasNotCovered) {
  CoveredRanges ranges;
  EXPECT_THAT(ranges.Add(5, 4), IsEmpty());
  EXPECT_THAT(ranges.Add(5, 5), ElementsAre(Range{5, 5}));
  EXPECT_THAT(ranges.Add(9, 12), ElementsAre(Range{9, 12}));
  EXPECT_THAT(ranges.Add(10, 11), IsEmpty());
  EXPECT_THAT(ranges.Add(3, 20), ElementsAre(Range{3, 4}, Range{6, 8}, Range{13, 20}));
  EXPECT_THAT(ranges.Add(3, 21), ElementsAre(Range{21, 21}));
  constexpr std::uint64_t kHighest = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(ranges.Add(kHighest, kHighest), ElementsAre(Range{kHighest, kHighest}));
  EXPECT_THAT(ranges.Add(0, kHighest), ElementsAre(Range{0, 2}, Range{22, kHighest - 1}));
  EXPECT_THAT(ranges.Add(0, kHighest), IsEmpty());
}

TEST(CoveredRangesTest, WhatARangeOverlapsBecomesOne) {
  CoveredRanges ranges;
  for (std::uint64_t i = 0; i < 1000; ++i) ranges.Add(10 * i, 10 * i);
  EXPECT_EQ(ranges.size(), 1000u);
  EXPECT_EQ(ranges.Add(0, 9990).size(), 999u);
  EXPECT_EQ(ranges.size(), 1u);
}

TEST(CoveredRangesTest, EachNumberIsAddedOnce) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    CoveredRanges ranges;
    std::set<std::uint64_t> known;
    for (int i = 0; i < 30; ++i) {
      const std::uint64_t first = random.Below(100);
      const std::uint64_t last = first + random.Below(20);
      std::set<std::uint64_t> added;
      for (const Range& range : ranges.Add(first, last)) {
        for (std::uint64_t n = range.first; n <= range.last; ++n) EXPECT_TRUE(added.insert(n).second);
      }
      for (std::uint64_t n = first; n <= last; ++n)
        EXPECT_EQ(added.erase(n), known.insert(n).second ? 1u : 0u);
      EXPECT_THAT(added, IsEmpty());
    }
  }
}

}  // namespace
}  // namespace zenfs::covered_ranges_test
