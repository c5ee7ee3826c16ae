// Finds the newest complete generation of the metadata log and replays it. Writes nothing.
#pragma once

#include <optional>
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
  std::vector<ZoneId> chain;
  std::uint64_t capacity = 0;            // of the last zone of the chain, in bytes
  std::uint64_t position = 0;            // in that zone, after its last valid frame, in bytes
  std::uint64_t frames = 0;              // replayed frames of the generation
  std::uint64_t sequence = 0;            // of the last commit
  std::uint64_t highest_generation = 0;  // highest number in any log header
  bool tail_is_clean = true;             // the next frame may be written at `position`
  bool newer_traces = false;             // zones hold frames of a generation that never became complete
  // Why a newer generation may exist. If set, only a read-only mount is safe.
  std::optional<std::string> doubt;
  ZoneId doubtful_zone{};  // the zone that may hold the newer generation
};

// Errors: kCorruption if no generation is complete, or if a complete one cannot be read.
[[nodiscard]] Result<Replayed> Replay(ZonedDevice& device, const Superblock& superblock);

}  // namespace zenfs
