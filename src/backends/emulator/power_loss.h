// Simulates a power loss of an emulated device with a volatile cache, after docs/internals/device-assumptions.md, line 1.
// Any block that was not flushed may be lost, and the write pointer is anywhere between the flushed and the written
// blocks. Resets stay. A lost block reads as zeros. The remaining blocks are durable.
//
// CutPower does it to a file. The other functions compute the effect on one zone. They are pure: no I/O, no locks. Their
// units: blocks, counted from the start of the zone.
#pragma once

#include <cstdint>
#include <string>

#include "backends/emulator/store.h"
#include "backends/emulator/zone_machine.h"
#include "base/random.h"
#include "base/status.h"

namespace zenfs {

struct PowerCutLosses {
  std::uint64_t zones_at_risk = 0;   // with blocks that were not flushed
  std::uint64_t blocks_at_risk = 0;  // that were not flushed
  std::uint64_t zones = 0;           // that lost blocks
  std::uint64_t blocks = 0;          // lost
};

// The same device and the same seed lose the same blocks. Nobody may have the device open. If the
// process dies during the call, the device has lost a part of the blocks, and CutPower may be
// called again. Errors: as OpenEmulatedFile for writing (kBusy names the holder); kInvalidArgument:
// it has no volatile cache.
[[nodiscard]] Result<PowerCutLosses> CutPower(const std::string& path, std::uint64_t seed);

// How many of the blocks are lost. kEverything and kNothing are separate because random choices
// would never produce them.
enum class PowerLoss { kEverything, kNothing, kSome };

// A set of blocks. A zone may claim any number of blocks and have data in few, so it is not a list: whether a block is lost
// depends on the seed and the number of the block alone, and the caller asks only for blocks with data.
struct LostBlocks {
  // All lost blocks are in here. At least one in 16 of these blocks is lost, except among the first and the last kBlockSetSize.
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  std::uint64_t one_in = 0;    // of the blocks below all_from one in so many is lost; 0: none
  std::uint64_t all_from = 0;  // from here on all are
  std::uint64_t seed = 0;
  DurableBlocks durable;  // these are not lost
  // Blocks from here on have data only if they are in `written`.
  std::uint64_t area_from = UINT64_MAX;
  BlockSet written = 0;

  bool HasData(std::uint64_t block) const { return block < area_from || (written & BitOf(block)) != 0; }
  bool Contains(std::uint64_t block) const;
};

struct ZoneAfterPowerLoss {
  MachineZone state;
  DurableBlocks durable;      // all that are left
  LostBlocks lost;            // below state.written or in a random write area
  std::uint64_t at_risk = 0;  // blocks that were not durable
  // Blocks that the write pointer moved back over, in a zone without a random write area. They are not in `lost`.
  std::uint64_t moved_back = 0;
};

// Requires `durable.prefix` <= `before.written` and a zone with a write pointer that is not offline, without a random write
// area; it may have had one, so blocks behind the prefix may be durable. An
// open zone becomes closed, or empty if no block is left. `may_become_active`: whether a full zone
// that loses blocks may become closed; otherwise it stays full, with fewer blocks written.
[[nodiscard]] ZoneAfterPowerLoss LosePower(MachineZone before, DurableBlocks durable, PowerLoss loss,
                                           bool may_become_active, Random& random);

// The same for a zone with a random write area: `window`, of whose blocks `written` were written. The zone is closed and
// keeps the area; the write pointer is at a multiple of the commit unit. A block that was durable is never lost, not even
// if it was overwritten since: the older content is not stored. The lost blocks include those behind the area.
[[nodiscard]] ZoneAfterPowerLoss LosePowerInArea(const RandomWindow& window, BlockSet written,
                                                 DurableBlocks durable, PowerLoss loss, Random& random);

// A random outcome for the device: the same for all zones, or a different one for each.
[[nodiscard]] PowerLoss RandomPowerLoss(Random& random);

}  // namespace zenfs
