// The files of a simulation, and the collector, which empties zones as ZenFS does: by the need that the pool states
// (zone/reclaim_demand.h) and the victim that reclaim/victim.h chooses.
//
// Threads: for one thread. Units: bytes.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "simulated_log.h"
#include "simulated_zones.h"

namespace zenfs::space {

// How fast the collector is. If a writer waits, it always copies until the writer can go on.
enum class Pace : std::uint8_t {
  kKeepsUp,  // the database writes less than the device could: every need is answered before the next write
  kShares,  // the database writes all the time: the collector copies as many bytes as it (kAhead), or a third (kLow)
};

class SimulatedVolume {
 public:
  // `zones` outlives it.
  explicit SimulatedVolume(SimulatedZones& zones, Pace pace = Pace::kKeepsUp)
      : zones_(zones), pace_(pace), log_(zones), files_in_(zones.geometry().zone_count) {}

  // Errors: kNoSpace if a write finds no space and reclaim can make none; kCorruption if the event contradicts the files.
  [[nodiscard]] Status Apply(const TraceEvent& event);

  std::size_t file_count() const { return files_.size(); }

 private:
  struct File {
    TracedKind kind = TracedKind::kOther;
    Lifetime lifetime = Lifetime::kNotSet;
    std::uint64_t size = 0;       // as the trace says
    std::uint64_t in_blocks = 0;  // of a plain file: bytes of its extents
    ClaimState claim{};
    std::vector<Extent> extents{};  // without order and file offsets
  };

  [[nodiscard]] Status Resize(FileId id, File& file, std::uint64_t size, bool closes);
  [[nodiscard]] Status WritePlain(FileId id, File& file, std::uint64_t bytes);
  [[nodiscard]] Status WriteFramed(FileId id, std::uint64_t bytes);
  // A writer got `outcome`. Lets the collector work. Errors: kNoSpace.
  [[nodiscard]] Status WaitFor(AllocationOutcome outcome);
  void Delete(FileId id, File& file);
  void AddExtent(FileId id, File& file, const Extent& extent);

  // The collector.
  void CollectAfter(std::uint64_t written);
  void EmptyOne(const ReclaimNeed& need);
  std::optional<Victim> FindVictim(const ReclaimNeed& need);
  bool MoveOut(ZoneId zone);
  bool MoveFile(FileId id, File& file, ZoneId zone);
  bool CleanLogZone(ZoneId zone);
  bool Copy(FileId id, File& file, std::uint64_t bytes);

  SimulatedZones& zones_;
  const Pace pace_;
  SimulatedLog log_;
  std::unordered_map<FileId, File> files_;
  // The files that were written to each zone since its reset; some may have no extent there any more.
  std::vector<std::vector<FileId>> files_in_;
  std::array<ClaimState, kLifetimeCount> copy_claims_{};  // as reclaim/zone_mover.h
  std::int64_t allowance_ = 0;                            // kShares: bytes that the collector may copy
  // The last search that found no victim.
  std::uint64_t searched_version_ = ~std::uint64_t{0};  // SimulatedZones::victims_version
  ReclaimUrgency searched_for_ = ReclaimUrgency::kTidy;
  // Zones without room for their copies, until a zone was emptied or the next event.
  std::set<ZoneId> refused_;
};

}  // namespace zenfs::space
