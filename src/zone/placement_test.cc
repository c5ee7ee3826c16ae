#include "zone/placement.h"

#include <gtest/gtest.h>

#include <vector>

namespace zenfs::placement_test {
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

// --- the choice of a zone ---

using Kind = ZoneChoice::Kind;

// A table with active zones only, each with room.
class Choice {
 public:
  // Adds a zone with live data, so that its lifetime counts.
  ZoneId Add(Lifetime lifetime, std::uint32_t claims = 0, bool writer = false, std::uint64_t written = 4096) {
    const ZoneId zone(static_cast<std::uint32_t>(active_.size()));
    table_.Change(zone, [&](ZoneState& z) {
      z.phase = ZonePhase::kActive;
      z.capacity = 16 * 4096;
      z.written = z.live = written;
      z.lifetime = lifetime;
      z.claims = claims;
      z.writer = writer;
    });
    active_.push_back(zone);
    return zone;
  }
  void Kill(ZoneId zone) {
    table_.Change(zone, [](ZoneState& z) { z.live = 0; });
  }
  ZoneChoice For(Lifetime lifetime, EmptyZoneUse empty, std::string_view policy = "lifetime") const {
    return ChooseZone(table_, active_, lifetime, empty, *FindPlacement(policy));
  }

 private:
  ZoneTable table_{8};
  std::vector<ZoneId> active_;
};

TEST(ZoneChoiceTest, TheFullestOfEqualZonesComesFirst) {
  Choice choice;
  choice.Add(Lifetime::kShort, 0, false, 4096);
  const ZoneId fuller = choice.Add(Lifetime::kShort, 0, false, 8192);
  const ZoneChoice chosen = choice.For(Lifetime::kShort, EmptyZoneUse::kPreferred);
  EXPECT_EQ(chosen.kind, Kind::kActive);
  EXPECT_EQ(chosen.zone, fuller);
}

TEST(ZoneChoiceTest, ThePolicyDecidesWhatShares) {
  Choice choice;
  const ZoneId shorter = choice.Add(Lifetime::kShort, 0, false, 8192);
  const ZoneId medium = choice.Add(Lifetime::kMedium);
  const ZoneId longer = choice.Add(Lifetime::kLong);
  const auto zone_for_medium = [&](std::string_view policy) {
    return choice.For(Lifetime::kMedium, EmptyZoneUse::kPreferred, policy).zone;
  };
  EXPECT_EQ(zone_for_medium("lifetime"), medium);
  EXPECT_EQ(zone_for_medium("upstream"), longer) << "the next longer lifetime";
  EXPECT_EQ(zone_for_medium("fill"), shorter) << "the fullest";
}

TEST(ZoneChoiceTest, AnUnusedZoneFitsAnyLifetime) {
  Choice choice;
  const ZoneId zone = choice.Add(Lifetime::kShort);
  EXPECT_EQ(choice.For(Lifetime::kExtreme, EmptyZoneUse::kPreferred).kind, Kind::kEmpty);
  choice.Kill(zone);
  EXPECT_EQ(choice.For(Lifetime::kExtreme, EmptyZoneUse::kPreferred).zone, zone);
}

TEST(ZoneChoiceTest, APoorMatchIsUsedBeforeTheLastResort) {
  Choice choice;
  EXPECT_EQ(choice.For(Lifetime::kExtreme, EmptyZoneUse::kNone).kind, Kind::kNothing);
  EXPECT_EQ(choice.For(Lifetime::kExtreme, EmptyZoneUse::kLastResort).kind, Kind::kEmpty);
  const ZoneId zone = choice.Add(Lifetime::kShort);
  const ZoneChoice chosen = choice.For(Lifetime::kExtreme, EmptyZoneUse::kLastResort);
  EXPECT_EQ(chosen.kind, Kind::kActive);
  EXPECT_EQ(chosen.zone, zone);
}

TEST(ZoneChoiceTest, AWriteWaitsForABusyZoneThatFitsInsteadOfMixingLifetimes) {
  Choice choice;
  choice.Add(Lifetime::kShort);
  const ZoneId busy = choice.Add(Lifetime::kExtreme, 1, true);
  const ZoneChoice waits = choice.For(Lifetime::kExtreme, EmptyZoneUse::kNone);
  EXPECT_EQ(waits.kind, Kind::kWait);
  EXPECT_EQ(waits.zone, busy);
  const ZoneId claimed = choice.Add(Lifetime::kExtreme, 3);
  const ZoneChoice shares = choice.For(Lifetime::kExtreme, EmptyZoneUse::kNone);
  EXPECT_EQ(shares.kind, Kind::kActive);
  EXPECT_EQ(shares.zone, claimed);
}

}  // namespace
}  // namespace zenfs::placement_test
