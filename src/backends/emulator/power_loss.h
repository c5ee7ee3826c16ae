// What a loss of power does to one zone of a device with a volatile cache, by docs/internals/device-assumptions.md,
// line 1: of the blocks that were not flushed any may be gone, and the write pointer stands anywhere between those that
// were flushed and those that were written. Resets stay; a block that is gone reads as zeros.
//
// Pure: no I/O, no locks. Units: blocks, counted from the start of the zone.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/emulator/zone_machine.h"
#include "base/random.h"

namespace zenfs {

// How much goes at once. Everything and nothing are outcomes of their own, since chance would never come by them.
enum class PowerLoss { kEverything, kNothing, kSome };

struct LostBlocks {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  friend bool operator==(const LostBlocks&, const LostBlocks&) = default;
};

struct ZoneAfterPowerLoss {
  MachineZone state;
  std::vector<LostBlocks> holes;  // below state.written, ascending, none next to another
  std::uint64_t lost = 0;         // blocks in holes, and those that the write pointer went back by
};

// `durable` <= `before.written`, a zone with a write pointer and not offline. An open zone is found closed, or empty if
// nothing is left in it. `may_become_active`: whether a full zone that loses blocks may be found closed; else it is full
// with fewer blocks written.
[[nodiscard]] ZoneAfterPowerLoss LosePower(MachineZone before, std::uint64_t durable, PowerLoss loss,
                                           bool may_become_active, Random& random);

// What the device as a whole is in for: for all of its zones the same, or for each something else.
[[nodiscard]] PowerLoss RandomPowerLoss(Random& random);

}  // namespace zenfs
