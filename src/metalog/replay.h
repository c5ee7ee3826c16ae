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
  std::uint64_t capacity = 0;            // of the last zone of the chain
  std::uint64_t position = 0;            // behind the last valid frame in it
  std::uint64_t frames = 0;              // of the generation, so far
  std::uint64_t sequence = 0;            // of the last commit
  std::uint64_t highest_generation = 0;  // that left any trace
  bool tail_is_clean = true;             // the next frame may be written at `position`
  bool newer_traces = false;             // of a generation that never became complete
  // Why this may not be the newest generation after all; then only a read-only mount is safe.
  std::optional<std::string> doubt;
  ZoneId doubtful_zone{};  // where it may stand
};

// Errors: kCorruption when no generation is complete, or when one that was proven complete cannot be read.
[[nodiscard]] Result<Replayed> Replay(ZonedDevice& device, const Superblock& superblock);

}  // namespace zenfs
