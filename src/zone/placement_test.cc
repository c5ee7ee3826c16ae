#include "zone/placement.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

TEST(PlacementTest, SameLifetimeIsAlwaysTheBestMatch) {
  for (int i = 0; i < kLifetimeCount; ++i) {
    for (int j = 0; j < kLifetimeCount; ++j) {
      EXPECT_EQ(MatchOf(Lifetime(i), Lifetime(j)) == Match::kBest, i == j) << i << " " << j;
    }
  }
}

TEST(PlacementTest, ShortAndMediumShareAZoneOnlyIfNoneCanBeOpened) {
  EXPECT_EQ(MatchOf(Lifetime::kShort, Lifetime::kMedium), Match::kAcceptable);
  EXPECT_EQ(MatchOf(Lifetime::kMedium, Lifetime::kShort), Match::kAcceptable);
  EXPECT_EQ(MatchOf(Lifetime::kShort, Lifetime::kLong), Match::kPoor);
  EXPECT_EQ(MatchOf(Lifetime::kExtreme, Lifetime::kShort), Match::kPoor);
}

TEST(PlacementTest, LongAndExtremeShareZones) {
  EXPECT_EQ(MatchOf(Lifetime::kLong, Lifetime::kExtreme), Match::kGood);
  EXPECT_EQ(MatchOf(Lifetime::kExtreme, Lifetime::kLong), Match::kGood);
}

TEST(PlacementTest, FilesWithoutHintShareZonesOfMediumData) {
  EXPECT_LE(MatchOf(Lifetime::kMedium, Lifetime::kNotSet), Match::kGood);
  EXPECT_LE(MatchOf(Lifetime::kMedium, Lifetime::kNone), Match::kGood);
  EXPECT_GT(MatchOf(Lifetime::kNotSet, Lifetime::kMedium), Match::kGood);
  EXPECT_LE(MatchOf(Lifetime::kNone, Lifetime::kNotSet), Match::kGood);
}

TEST(PlacementTest, TheColdPolicyKeepsExtremeDataApart) {
  const PlacementPolicy* const cold = FindPlacement("cold");
  ASSERT_NE(cold, nullptr);
  EXPECT_EQ(cold->match(Lifetime::kLong, Lifetime::kExtreme), Match::kPoor);
  EXPECT_EQ(cold->match(Lifetime::kExtreme, Lifetime::kLong), Match::kPoor);
  EXPECT_EQ(cold->match(Lifetime::kExtreme, Lifetime::kExtreme), Match::kBest);
  EXPECT_EQ(cold->match(Lifetime::kMedium, Lifetime::kLong), MatchOf(Lifetime::kMedium, Lifetime::kLong));
}

TEST(PlacementTest, TheOlderPolicyOpensAZoneRatherThanShareOneOfTheSameLifetime) {
  const PlacementPolicy* const upstream = FindPlacement("upstream");
  ASSERT_NE(upstream, nullptr);
  EXPECT_GT(upstream->match(Lifetime::kMedium, Lifetime::kMedium), Match::kGood);
  EXPECT_LT(upstream->match(Lifetime::kLong, Lifetime::kMedium),
            upstream->match(Lifetime::kExtreme, Lifetime::kMedium));
  EXPECT_EQ(upstream->match(Lifetime::kShort, Lifetime::kMedium), Match::kPoor);
  EXPECT_EQ(upstream->match(Lifetime::kNotSet, Lifetime::kNotSet), Match::kBest);
}

TEST(PlacementTest, PoliciesHaveNames) {
  EXPECT_EQ(FindPlacement("lifetime"), &PlacementPolicies().front()) << "the default";
  EXPECT_EQ(FindPlacement("none"), nullptr);
}

}  // namespace
}  // namespace zenfs
