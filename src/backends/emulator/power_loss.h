// Computes the effect of a power loss on one zone of a device with a volatile cache, after
// docs/internals/device-assumptions.md, line 1. Any block that was not flushed may be lost, and the
// write pointer is anywhere between the flushed and the written blocks. Resets stay. A lost block
// reads as zeros.
//
// Pure: no I/O, no locks. Units: blocks, counted from the start of the zone.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/emulator/durable_blocks.h"
#include "backends/emulator/random_window.h"
#include "backends/emulator/zone_state.h"
#include "base/random.h"

namespace zenfs {

// How many of the blocks are lost. kEverything and kNothing are separate because random choices
// would never produce them.
enum class PowerLoss { kEverything, kNothing, kSome };

struct LostBlocks {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  friend bool operator==(const LostBlocks&, const LostBlocks&) = default;
};

struct ZoneAfterPowerLoss {
  MachineZone state;
  DurableBlocks durable;          // all that are left
  std::vector<LostBlocks> holes;  // ascending, not adjacent; below state.written or in a random write area
  std::uint64_t at_risk = 0;      // blocks that were not durable
  std::uint64_t lost = 0;         // blocks in holes, and blocks that the write pointer moved back over
};

// Requires `durable.prefix` <= `before.written` and a zone with a write pointer that is not offline, without a random write
// area; it may have had one, so blocks behind the prefix may be durable. An
// open zone becomes closed, or empty if no block is left. `may_become_active`: whether a full zone
// that loses blocks may become closed; otherwise it stays full, with fewer blocks written.
[[nodiscard]] ZoneAfterPowerLoss LosePower(MachineZone before, DurableBlocks durable, PowerLoss loss,
                                           bool may_become_active, Random& random);

// The same for a zone with a random write area: `window`, of whose blocks `written` were written. The zone is closed and
// keeps the area; the write pointer is at a multiple of the commit unit. A block that was durable is never lost, not even
// if it was overwritten since: the older content is not stored. Holes include the blocks behind the area.
[[nodiscard]] ZoneAfterPowerLoss LosePowerInArea(const RandomWindow& window, BlockSet written,
                                                 DurableBlocks durable, PowerLoss loss, Random& random);

// A random outcome for the device: the same for all zones, or a different one for each.
[[nodiscard]] PowerLoss RandomPowerLoss(Random& random);

}  // namespace zenfs
