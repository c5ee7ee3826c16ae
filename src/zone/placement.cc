#include "zone/placement.h"

#include <algorithm>
#include <array>

namespace zenfs {
namespace {

constexpr Match kBest = Match::kBest;
constexpr Match kGood = Match::kGood;
constexpr Match kOk = Match::kAcceptable;
constexpr Match kPoor = Match::kPoor;

// kNotSet: RocksDB's small files (CURRENT, OPTIONS, IDENTITY) and programs without hints. kNone: explicitly no
// hint. These two share zones, and use a zone of medium data rather than a slot of their own, because they are
// small. Data with a hint avoids their zones while another zone is available.
constexpr std::array<std::array<Match, kLifetimeCount>, kLifetimeCount> kTable = {{
    // file:      not set none   short  medium long   extreme
    /* not set */ {kBest, kGood, kOk, kOk, kOk, kPoor},
    /* none    */ {kGood, kBest, kOk, kOk, kOk, kPoor},
    /* short   */ {kOk, kOk, kBest, kOk, kPoor, kPoor},
    /* medium  */ {kGood, kGood, kOk, kBest, kOk, kPoor},
    /* long    */ {kOk, kOk, kPoor, kOk, kBest, kGood},
    /* extreme */ {kPoor, kPoor, kPoor, kPoor, kGood, kBest},
}};

Match ColdMatch(Lifetime zone, Lifetime file) {
  const bool one_is_cold = (zone == Lifetime::kExtreme) != (file == Lifetime::kExtreme);
  return one_is_cold ? kPoor : MatchOf(zone, file);
}

// It has grades only for zones of a longer lifetime, and opens a zone rather than take one of the same.
Match UpstreamMatch(Lifetime zone, Lifetime file) {
  const bool hinted = file > Lifetime::kNone;
  if (!hinted) return zone == file ? kBest : kPoor;
  if (zone == file) return kOk;
  if (zone < file) return kPoor;
  return static_cast<int>(zone) - static_cast<int>(file) == 1 ? kBest : kGood;
}

Match FillMatch(Lifetime, Lifetime) { return kBest; }

constexpr std::array kPolicies = {
    PlacementPolicy{"lifetime", MatchOf},
    PlacementPolicy{"cold", ColdMatch},
    PlacementPolicy{"upstream", UpstreamMatch},
    PlacementPolicy{"fill", FillMatch},
};

}  // namespace

std::span<const PlacementPolicy> PlacementPolicies() { return kPolicies; }

const PlacementPolicy* FindPlacement(std::string_view name) {
  const auto found = std::ranges::find(kPolicies, name, &PlacementPolicy::name);
  return found == kPolicies.end() ? nullptr : &*found;
}

Match MatchOf(Lifetime zone, Lifetime file) {
  return kTable[static_cast<std::size_t>(zone)][static_cast<std::size_t>(file)];
}

}  // namespace zenfs
