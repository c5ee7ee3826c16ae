#include "zone/zone_choice.h"

#include <optional>
#include <tuple>

namespace zenfs {
namespace {

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
