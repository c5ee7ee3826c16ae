// Simulates a power loss of an emulated device with a volatile cache: blocks that were not flushed
// may be lost (power_loss.h). The remaining blocks are durable.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace zenfs
