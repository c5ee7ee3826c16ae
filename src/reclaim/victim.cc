#include "reclaim/victim.h"

#include <algorithm>
#include <tuple>

#include "base/bytes.h"

namespace zenfs {
namespace {

// The least gain is the capacity divided by this, for each urgency. Urgent: smaller gains are the last choice.
constexpr std::uint64_t kGainDivisorLow = 2;
constexpr std::uint64_t kGainDivisorAhead = 8;
constexpr std::uint64_t kGainDivisorUrgent = 64;
constexpr std::uint64_t kNearlyDeadDivisor = 4;

double Score(const Victim& victim) {
  const double cost = static_cast<double>(victim.capacity + victim.copies);
  return static_cast<double>(victim.gain()) * static_cast<double>(1 + victim.age) / cost;
}

using Generations = std::map<ZoneId, std::uint64_t>;

// Returns the bytes of copies of one file's frames, from the first one to the last one in the zone of `generation`.
std::uint64_t CopiesUpTo(const FramesOfFile& file, std::uint64_t generation, const Generations& generations,
                         std::uint32_t block_size) {
  std::uint64_t payload = 0;
  for (const auto& [zone, frames] : file) {
    const auto it = generations.find(zone);
    if (it == generations.end() || it->second <= generation) payload += frames.payload;
  }
  return RoundUp(payload, block_size) + block_size;  // the last block of the extents is written again
}

// Emptying `zone` moves all frames of its files in zones that are no younger. Returns true if this also empties
// `other`, because it contains frames of these files only.
bool IsEmptiedWith(const LogZoneStatus& other, const LogZoneStatus& zone,
                   std::span<const FramesOfFile> files) {
  if (other.zone == zone.zone) return true;
  if (!other.closed || other.live.device_bytes == 0 || other.generation > zone.generation) return false;
  return std::ranges::all_of(files, [&](const FramesOfFile& file) {
    return !file.contains(other.zone) || file.contains(zone.zone);
  });
}

// Of two joined devices, only those of the need's device help.
bool Helps(const Victim& victim, VictimZones victims) {
  if (victims == VictimZones::kAll) return true;
  return (victim.kind == Victim::Kind::kLog) == (victims == VictimZones::kLog);
}

bool IsWorthIt(const Victim& victim, const ReclaimNeed& need, std::uint32_t block_size) {
  switch (need.urgency) {
    case ReclaimUrgency::kTidy: return victim.nearly_dead;
    case ReclaimUrgency::kLow:
      return victim.nearly_dead ||
             (victim.kind == Victim::Kind::kData && victim.gain() >= victim.capacity / kGainDivisorLow);
    case ReclaimUrgency::kAhead:
      return victim.nearly_dead || victim.gain() >= victim.capacity / kGainDivisorAhead;
    case ReclaimUrgency::kUrgent: break;
  }
  // Copies to the main device take nothing from what the log gains.
  return victim.gain() >= block_size || need.victims == VictimZones::kLog;
}

// Victims of a lower rank come first. Zones that will probably die soon, and zones with little gain, come last.
int Rank(const Victim& victim) {
  const bool little = victim.gain() < victim.capacity / kGainDivisorUrgent;
  return (little ? 2 : 0) + (victim.young ? 1 : 0);
}

}  // namespace

std::vector<Victim> DataVictims(std::span<const ZoneStatus> zones) {
  std::vector<Victim> victims;
  for (const ZoneStatus& zone : zones) {
    const bool active = zone.phase == ZonePhase::kActive;
    if ((zone.phase != ZonePhase::kFull && !active) || zone.live == 0 || zone.uncommitted != 0) continue;
    if (zone.live >= (active ? zone.written : zone.capacity)) continue;
    victims.push_back({.zone = zone.id,
                       .kind = active ? Victim::Kind::kActive : Victim::Kind::kData,
                       .capacity = zone.capacity,
                       .copies = zone.live,
                       .given_up = active ? zone.capacity - zone.written : 0,
                       .age = active ? 0 : zone.age,
                       .incarnation = zone.incarnation,
                       .nearly_dead = !active && IsNearlyDead(zone.live, zone.capacity)});
  }
  return victims;
}

std::vector<Victim> LogVictims(std::span<const LogZoneStatus> log_zones, std::span<const FramesOfFile> files,
                               std::span<const ZoneStatus> zones, std::uint32_t block_size) {
  Generations generations;
  std::uint64_t newest = 0;
  for (const LogZoneStatus& zone : log_zones) {
    generations.emplace(zone.zone, zone.generation);
    newest = std::max(newest, zone.generation);
  }
  std::vector<Victim> victims;
  for (const LogZoneStatus& zone : log_zones) {
    const std::uint64_t live = zone.live.device_bytes;
    if (!zone.closed || zone.held || zone.has_waiting_part || live == 0) continue;
    Victim victim{.zone = zone.zone, .kind = Victim::Kind::kLog};
    for (const FramesOfFile& file : files) {
      if (file.contains(zone.zone))
        victim.copies += CopiesUpTo(file, zone.generation, generations, block_size);
    }
    for (const LogZoneStatus& other : log_zones) {
      if (IsEmptiedWith(other, zone, files)) victim.capacity += other.capacity;
    }
    victim.garbage = zone.capacity - std::min(zone.capacity, zone.live.payload);
    victim.age = newest - zone.generation;
    victim.incarnation = zones[zone.zone.value].incarnation;
    victim.nearly_dead =
        live <= zone.written / kNearlyDeadDivisor || victim.copies <= zone.written / kNearlyDeadDivisor;
    victim.young = zone.young;
    victims.push_back(victim);
  }
  return victims;
}

namespace {

std::optional<Victim> ChooseEnabler(std::span<const Victim> victims, const ReclaimNeed& need,
                                    const std::set<ZoneId>& skip, std::uint32_t block_size) {
  const auto has_garbage = [&](const Victim& victim) {
    return victim.kind == Victim::Kind::kLog && !skip.contains(victim.zone) &&
           victim.garbage >= std::max<std::uint64_t>(block_size, victim.capacity / kGainDivisorUrgent);
  };
  if (std::ranges::none_of(victims, has_garbage)) return std::nullopt;
  std::optional<Victim> oldest;
  for (const Victim& victim : victims) {
    if (victim.kind != Victim::Kind::kLog || skip.contains(victim.zone)) continue;
    // Tolerates two blocks, because the copies of each file may take a block more than its frames.
    if (victim.copies > need.room || victim.copies > victim.capacity + 2 * std::uint64_t{block_size})
      continue;
    if (!oldest || victim.age > oldest->age) oldest = victim;
  }
  return oldest;
}

}  // namespace

std::optional<Victim> ChooseVictim(std::span<const Victim> victims, const ReclaimNeed& need,
                                   const std::set<ZoneId>& skip, std::uint32_t block_size) {
  std::optional<Victim> best;
  const auto better = [&](const Victim& a, const Victim& b) {
    if (!need.headroom_whole()) return std::tuple(a.copies, Rank(a)) < std::tuple(b.copies, Rank(b));
    return std::tuple(Rank(a), -Score(a)) < std::tuple(Rank(b), -Score(b));
  };
  for (const Victim& victim : victims) {
    if (skip.contains(victim.zone) || victim.copies + victim.given_up > need.room) continue;
    if (!Helps(victim, need.victims) || !IsWorthIt(victim, need, block_size)) continue;
    if (!best || better(victim, *best)) best = victim;
  }
  if (best || need.urgency != ReclaimUrgency::kUrgent || need.victims != VictimZones::kAll) return best;
  return ChooseEnabler(victims, need, skip, block_size);
}

}  // namespace zenfs
