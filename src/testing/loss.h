// What the loss of power may do to the unflushed commands of one zone, by docs/internals/device-assumptions.md 1 to 3:
// those behind a cut never happened; of the blocks written since the last reset before the cut any may be
// missing; the write pointer stands anywhere at or above the highest block that is there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/random.h"
#include "testing/zone_image.h"

namespace zenfs {

enum class Hole {
  kZeros,
  kOldData,     // from before the last reset where there was any, else noise
  kUnreadable,  // an error of the medium
};

struct ZoneLoss {
  std::size_t cut = 0;                   // so many of the pending commands happened
  std::map<std::uint64_t, Hole> holes;   // missing blocks, each written since the last flush
  std::optional<std::uint64_t> written;  // the write pointer, in blocks; none: where the commands left it
};

// The unflushed blocks that a hole may be in, given that `cut` commands happened; ascending.
[[nodiscard]] std::vector<std::uint64_t> UnflushedBlocks(const ZoneHistory& history, std::size_t cut);

// The zone as it is found when power is back: open zones are closed. `random` makes noise for holes.
[[nodiscard]] ZoneImage AfterLoss(const ZoneHistory& history, const ZoneLoss& loss, std::uint32_t block_size,
                                  Random& random);

[[nodiscard]] ZoneLoss RandomLoss(const ZoneHistory& history, Random& random);

// What a flush that fails may lose for good: any of the unflushed blocks, each as a command of kind kDrop.
[[nodiscard]] std::vector<ZoneCommand> RandomDrops(const ZoneHistory& history, std::uint32_t block_size,
                                                   Random& random);

// Every cut; at each every subset of missing blocks where there are at most `max_subset_blocks` that can be
// missing, else none missing, all, each alone, and each prefix; every kind of hole; the highest and the
// lowest write pointer.
[[nodiscard]] std::vector<ZoneLoss> EnumerateLosses(const ZoneHistory& history,
                                                    std::size_t max_subset_blocks = 4);

}  // namespace zenfs
