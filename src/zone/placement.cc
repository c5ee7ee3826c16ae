#include "zone/placement.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

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

struct Candidate {
  ZoneId zone;
  Match match = Match::kPoor;
  bool busy = false;
  std::uint32_t claims = 0;
  std::uint64_t room = 0;
};

struct Candidates {
  std::optional<Candidate> free;     // claimed by nobody
  std::optional<Candidate> claimed;  // by other files
};

// Among equals the fullest zone comes first, so that zones are filled one after the other.
bool IsBetter(const Candidate& a, const Candidate& b) {
  return std::tuple(a.match, a.busy, a.claims, a.room) < std::tuple(b.match, b.busy, b.claims, b.room);
}

Candidates FindCandidates(const ZoneTable& table, std::span<const ZoneId> active, Lifetime lifetime,
                          const PlacementPolicy& policy) {
  Candidates found;
  for (const ZoneId zone : active) {
    const ZoneState& z = table[zone];
    Candidate candidate{zone, policy.match(z.lifetime, lifetime), z.writer, z.claims, z.room()};
    // An unused zone takes the lifetime of its next file, so it fits any.
    if (z.Unused() && candidate.match > Match::kGood) candidate.match = Match::kGood;
    auto& best = z.claims == 0 && !z.writer ? found.free : found.claimed;
    if (!best || IsBetter(candidate, *best)) best = candidate;
  }
  return found;
}

}  // namespace

std::span<const PlacementPolicy> PlacementPolicies() { return kPolicies; }

const PlacementPolicy* FindPlacement(std::string_view name) {
  const auto found = std::ranges::find(kPolicies, name, &PlacementPolicy::name);
  return found == kPolicies.end() ? nullptr : &*found;
}

Match MatchOf(Lifetime zone, Lifetime file) {
  return kTable[static_cast<std::size_t>(zone)][static_cast<std::size_t>(file)];
}

ZoneChoice ChooseZone(const ZoneTable& table, std::span<const ZoneId> active, Lifetime lifetime,
                      EmptyZoneUse empty, const PlacementPolicy& policy) {
  using Kind = ZoneChoice::Kind;
  const auto [free, claimed] = FindCandidates(table, active, lifetime, policy);
  if (free && free->match <= Match::kGood) return {Kind::kActive, free->zone};
  if (empty == EmptyZoneUse::kPreferred) return {Kind::kEmpty, {}};
  if (free && free->match == Match::kAcceptable) return {Kind::kActive, free->zone};
  if (claimed && (!free || claimed->match < Match::kPoor)) {
    // Waiting for another file's write is short; another zone would mix lifetimes permanently.
    return {claimed->busy ? Kind::kWait : Kind::kActive, claimed->zone};
  }
  if (free) return {Kind::kActive, free->zone};
  return {empty == EmptyZoneUse::kLastResort ? Kind::kEmpty : Kind::kNothing, {}};
}

}  // namespace zenfs
