// Which zone to empty next: policy as a pure function.
//
// Benefit is the room that a zone's reset gives back beyond what its copies take, cost is reading and writing what is
// live; old garbage is worth more, since what has lived long beside it is likely to live on (Rosenblum and Ousterhout's
// cost and benefit).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "wal/log_zones.h"
#include "zone/reclaim_need.h"
#include "zone/space_report.h"

namespace zenfs {

struct Victim {
  enum class Kind : std::uint8_t {
    kData,
    kActive,  // partly written: it is finished first, which gives up its room
    kLog,
  };
  ZoneId zone;
  Kind kind = Kind::kData;
  std::uint64_t capacity = 0;  // of it, and of older log zones that are emptied with it
  std::uint64_t copies = 0;    // bytes that must be written elsewhere
  std::uint64_t given_up = 0;  // room in it that is lost until it is reset
  std::uint64_t garbage = 0;   // a log zone's own bytes that are no live payload
  std::uint64_t age = 0;
  std::uint32_t incarnation = 0;  // of the zone: the count of its resets
  bool nearly_dead = false;       // worth it even though space is not short
  bool young = false;             // a log zone that is likely to die by itself soon

  std::uint64_t gain() const { return capacity > copies + given_up ? capacity - copies - given_up : 0; }
};

// What must be live in a log zone before it can be released, by file.
using FramesOfFile = std::map<ZoneId, LiveFrames>;

// Full and active zones of data with something dead in them and nothing uncommitted.
[[nodiscard]] std::vector<Victim> DataVictims(std::span<const ZoneStatus> zones);

// Closed log zones. A file's frames are moved from its first one on, so emptying a zone may take copies of frames in older
// zones too.
[[nodiscard]] std::vector<Victim> LogVictims(std::span<const LogZoneStatus> log_zones,
                                             std::span<const FramesOfFile> files,
                                             std::span<const ZoneStatus> zones, std::uint32_t block_size);

// The best of the victims that are not in `skip`, whose copies fit `need.room`, and that are worth it: kLow, zones of
// which at least half is dead; kAhead, an eighth; kUrgent, any that gains a block. If the headroom is not whole, the one with the
// fewest copies, which is the one that an earlier attempt left unfinished, if there is one.
//
// Urgent and none of these: the oldest log zone whose copies take no more than it gives back, if that brings garbage in
// younger log zones nearer, which can't be reached before the older frames of the same files have been moved.
[[nodiscard]] std::optional<Victim> ChooseVictim(std::span<const Victim> victims, const ReclaimNeed& need,
                                                 const std::set<ZoneId>& skip, std::uint32_t block_size);

}  // namespace zenfs
