#include "zone/zone_choice.h"

#include <gtest/gtest.h>

#include <vector>

namespace zenfs::zone_choice_test {
namespace {

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
}  // namespace zenfs::zone_choice_test
