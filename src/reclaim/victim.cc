#include "reclaim/victim.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/bytes.h"

namespace zenfs {
namespace {

// The least gain is the capacity divided by this, for each urgency. Urgent: smaller gains are the last choice.
constexpr std::uint64_t kGainDivisorLow = 2;
constexpr std::uint64_t kGainDivisorAhead = 8;
constexpr std::uint64_t kGainDivisorUrgent = 64;
constexpr std::uint64_t kNearlyDeadDivisor = 4;
// While space is not short, a move may restate as many bytes as it copies, or the gain divided by this. Tables keep far below it: each
// piece of 1 MiB restates a few extents, or 2,048 of 40 bytes if a table of 256 MiB is spread over many zones.
constexpr std::uint64_t kRestatedDivisor = 64;

double Score(const Victim& victim) {
  const double cost = static_cast<double>(victim.capacity + victim.copies + victim.restated.value_or(0));
  return static_cast<double>(victim.gain()) * static_cast<double>(1 + victim.age) / cost;
}

// The groups of log zones, and the zones that no group has, which only count for the copies.
struct LogGroups {
  std::vector<LogZoneStatus> groups;  // as if each were one zone, with the number of its first one
  std::unordered_map<ZoneId, std::size_t> of;
};

LogGroups GroupsOf(std::span<const LogZoneStatus> zones) {
  LogGroups result;
  std::unordered_map<std::uint64_t, std::size_t> by_generation;
  for (const LogZoneStatus& zone : zones) {
    const auto [known, first] = zone.can_be_cleaned()
                                    ? by_generation.emplace(zone.generation, result.groups.size())
                                    : std::pair(by_generation.end(), true);
    result.of.emplace(zone.zone, first ? result.groups.size() : known->second);
    if (first) {
      result.groups.push_back(zone);
    } else {
      LogZoneStatus& group = result.groups[known->second];
      group.capacity += zone.capacity;
      group.written += zone.written;
      group.live += zone.live;
    }
  }
  return result;
}

// What emptying each group takes and gives. Emptying one moves all frames of its files in zones that are no younger. This
// also empties those of these groups that have frames of these files only.
//
// A volume may have thousands of log zones and logs. So no zone is compared with all others, or with all files: the work is in
// proportion to the entries of `files`, times the zones of a file that others share.
class LogEmptying {
 public:
  LogEmptying(const LogGroups& groups, std::span<const FramesOfFile> files, std::uint32_t block_size)
      : zones_(groups.groups), outcomes_(zones_.size()) {
    for (std::size_t file = 0; file < files.size(); ++file) AddFile(file, files[file], groups.of, block_size);
    for (std::size_t i = 0; i < zones_.size(); ++i) outcomes_[i].emptied = zones_[i].capacity;
    AddZonesEmptiedWith();
  }

  // Of the group with this index: bytes of copies, and the capacity of the zones that get empty.
  std::uint64_t copies(std::size_t i) const { return outcomes_[i].copies; }
  std::uint64_t emptied(std::size_t i) const { return outcomes_[i].emptied; }

 private:
  struct Outcome {
    std::vector<std::size_t> files;  // with frames in the zone, ascending
    std::uint64_t copies = 0;
    std::uint64_t emptied = 0;
  };
  bool CanBeEmptied(std::size_t i) const { return zones_[i].can_be_cleaned(); }

  // Copies go from the first frame of the file to the last one in the zone.
  void AddFile(std::size_t file, const FramesOfFile& frames,
               const std::unordered_map<ZoneId, std::size_t>& index, std::uint32_t block_size) {
    std::uint64_t payload = 0;
    std::map<std::size_t, std::uint64_t> payload_in;
    for (const auto& [zone, live] : frames) {
      const auto it = index.find(zone);
      if (it == index.end()) {
        payload += live.payload;  // of no generation: counts as older than all
      } else {
        payload_in[it->second] += live.payload;
      }
    }
    std::vector<std::pair<std::size_t, std::uint64_t>> by_age(payload_in.begin(), payload_in.end());
    std::ranges::sort(by_age, {}, [&](const auto& entry) { return zones_[entry.first].generation; });
    std::vector<std::size_t>& zones_of_file = zones_of_file_.emplace_back();
    for (auto first = by_age.begin(); first != by_age.end();) {
      const std::uint64_t generation = zones_[first->first].generation;
      auto last = first;
      for (; last != by_age.end() && zones_[last->first].generation == generation; ++last)
        payload += last->second;
      for (; first != last; ++first) {
        Outcome& outcome = outcomes_[first->first];
        outcome.files.push_back(file);
        // The last block of the extents is written again.
        outcome.copies += RoundUp(payload, block_size) + block_size;
        zones_of_file.push_back(first->first);
      }
    }
  }

  // Zones with frames of the same files are looked at together.
  void AddZonesEmptiedWith() {
    std::map<std::vector<std::size_t>, std::vector<std::size_t>> zones_of;
    for (std::size_t i = 0; i < zones_.size(); ++i) {
      if (CanBeEmptied(i)) zones_of[outcomes_[i].files].push_back(i);
    }
    for (auto& [files, zones] : zones_of) {
      std::ranges::sort(zones, {}, [this](std::size_t i) { return zones_[i].generation; });
      std::vector<std::uint64_t> capacity_up_to;  // of zones[0] to zones[i]
      for (const std::size_t i : zones)
        capacity_up_to.push_back((capacity_up_to.empty() ? 0 : capacity_up_to.back()) + zones_[i].capacity);
      for (const std::size_t i : ZonesOfRarest(files)) {
        if (!std::ranges::includes(outcomes_[i].files, files)) continue;
        const auto older = std::ranges::upper_bound(
            zones, zones_[i].generation, {}, [this](std::size_t other) { return zones_[other].generation; });
        if (older == zones.begin()) continue;
        outcomes_[i].emptied += capacity_up_to[static_cast<std::size_t>(older - zones.begin()) - 1];
        if (CanBeEmptied(i) && outcomes_[i].files == files) outcomes_[i].emptied -= zones_[i].capacity;
      }
    }
  }

  // The zones of that of `files` which has the fewest; all zones if there is no file.
  std::vector<std::size_t> ZonesOfRarest(const std::vector<std::size_t>& files) const {
    if (files.empty()) {
      std::vector<std::size_t> all(zones_.size());
      std::iota(all.begin(), all.end(), 0);
      return all;
    }
    return zones_of_file_[*std::ranges::min_element(
        files, {}, [this](std::size_t file) { return zones_of_file_[file].size(); })];
  }

  const std::span<const LogZoneStatus> zones_;           // groups
  std::vector<Outcome> outcomes_;                        // of each of zones_
  std::vector<std::vector<std::size_t>> zones_of_file_;  // of each file, by age
};

// Of two joined devices, only those of the need's device help.
bool Helps(const Victim& victim, VictimZones victims) {
  if (victims == VictimZones::kAll) return true;
  return (victim.kind == Victim::Kind::kLog) == (victims == VictimZones::kLog);
}

bool IsWorthIt(const Victim& victim, const ReclaimNeed& need, std::uint32_t block_size) {
  const bool restates_little =
      victim.restated.value_or(0) <= std::max(victim.copies, victim.gain() / kRestatedDivisor);
  switch (need.urgency) {
    case ReclaimUrgency::kTidy: return victim.nearly_dead && restates_little;
    case ReclaimUrgency::kLow:
      return restates_little && (victim.nearly_dead || (victim.kind == Victim::Kind::kData &&
                                                        victim.gain() >= victim.capacity / kGainDivisorLow));
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
  std::uint64_t newest = 0;
  for (const LogZoneStatus& zone : log_zones) newest = std::max(newest, zone.generation);
  const LogGroups groups = GroupsOf(log_zones);
  const LogEmptying emptying(groups, files, block_size);
  std::vector<Victim> victims;
  for (std::size_t i = 0; i < groups.groups.size(); ++i) {
    const LogZoneStatus& zone = groups.groups[i];
    const std::uint64_t live = zone.live.device_bytes;
    if (!zone.can_be_cleaned()) continue;
    Victim victim{.zone = zone.zone,
                  .kind = Victim::Kind::kLog,
                  .generation = zone.generation,
                  .capacity = emptying.emptied(i),
                  .copies = emptying.copies(i)};
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
    if (!need.headroom_whole()) {
      return std::tuple(a.copies, Rank(a), a.restated.value_or(0)) <
             std::tuple(b.copies, Rank(b), b.restated.value_or(0));
    }
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
