// Finds the newest complete generation of the metadata log and replays it. Writes nothing.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "model/state.h"

namespace zenfs {

struct Replayed {
  State state;
  std::uint64_t generation = 0;
  std::uint64_t salt = 0;
  std::vector<ZoneId>
      chain;                 // all zones of the generation, by place; the copies of a place follow each other
  std::uint32_t places = 0;  // the length of the chain; a place is one zone or a pair
  std::uint32_t copies = 1;  // zones of each place, when it was written
  // The zones of the last place that hold all its frames and can take the next one. `capacity`: that of the smallest zone of
  // that place, in bytes. `position`: after the last valid frame, in bytes.
  std::vector<ZoneId> tail;
  std::uint64_t capacity = 0;
  std::uint64_t position = 0;
  // Zones that do not hold all that they once held, while the other zone of their pair does; also the zone of a pair whose log
  // header is gone.
  std::set<ZoneId> lost_copies;
  std::set<ZoneId> torn_copies;          // those of them that lack only the last frame, as after a power loss
  std::uint64_t frames = 0;              // replayed frames of the generation
  std::uint64_t sequence = 0;            // of the last commit
  std::uint64_t highest_generation = 0;  // highest number in any log header
  std::vector<ZoneId>
      added_zones;  // that the headers of the generation name, besides those of the superblock
  // If set, a log switch had begun, and writes so many zones at a time.
  std::optional<std::uint32_t> announced_copies;
  bool newer_traces = false;  // zones hold frames of a generation that never became complete
  // Why a newer generation may exist. If set, only a read-only mount is safe.
  std::optional<std::string> doubt;
  ZoneId doubtful_zone{};  // the zone that may hold the newer generation

  bool tail_is_clean() const { return !tail.empty(); }  // the next frame may be written at `position`
};

// Errors: kCorruption if no generation is complete, or if a complete one cannot be read.
[[nodiscard]] Result<Replayed> Replay(ZonedDevice& device, const Superblock& superblock);

}  // namespace zenfs
