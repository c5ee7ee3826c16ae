// The log zones of a simulation: which framed file has how many bytes in which zone.
//
// The bytes of framed files go to one zone until it is full. A full zone without live bytes is returned. Headers and padding
// of frames are not counted.
//
// Threads: for one thread. Units: bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "reclaim/victim.h"
#include "simulated_zones.h"

namespace zenfs::space {

class SimulatedLog {
 public:
  // `zones` outlives it.
  explicit SimulatedLog(SimulatedZones& zones) : zones_(zones), statuses_(zones.geometry().zone_count) {}

  // Writes as much as fits into the current zone, and at most `bytes`. Returns the written bytes; 0 if a zone is needed.
  std::uint64_t Append(FileId id, std::uint64_t bytes);
  // Takes the next zone. Call this after Append returned 0.
  AllocationOutcome AllocateZone();
  void Delete(FileId id);

  // The frames that must move before `zone` can be returned: all of its files, up to this zone, with their bytes.
  std::vector<std::pair<FileId, std::uint64_t>> FramesUpTo(ZoneId zone) const;
  // The frames of the file up to this zone were copied out of the log.
  void Drop(FileId id, ZoneId up_to);

  // The full zones with live bytes, as victims.
  std::vector<Victim> Victims() const;

 private:
  struct Zone {
    std::uint64_t generation = 0;
    std::uint64_t written = 0;
    std::uint64_t live = 0;
  };
  void RemoveLive(ZoneId zone, std::uint64_t bytes);
  void ReleaseIfDead(ZoneId zone);

  SimulatedZones& zones_;
  const std::vector<ZoneStatus>
      statuses_;  // by zone number; LogVictims reads only incarnations, which do not matter here
  std::map<ZoneId, Zone> log_zones_;
  std::optional<ZoneId> current_;
  std::uint64_t next_generation_ = 1;
  std::unordered_map<FileId, std::map<ZoneId, std::uint64_t>> frames_;  // live bytes in each zone
};

}  // namespace zenfs::space
