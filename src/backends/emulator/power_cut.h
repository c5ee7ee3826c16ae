// The power of an emulated device with a volatile cache is cut: what was not flushed may be gone
// (power_loss.h). What is left is durable.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace zenfs {

struct PowerCutLosses {
  std::uint64_t zones_at_risk = 0;   // that held blocks which no flush had made durable
  std::uint64_t blocks_at_risk = 0;  // those
  std::uint64_t zones = 0;           // that lost blocks
  std::uint64_t blocks = 0;          // that they lost
};

// The same device and the same seed lose the same. The device must be nobody's; a death in between leaves a device that
// has lost a part, and may be cut again.
// Errors: as OpenEmulatedFile for writing (kBusy names the holder); kInvalidArgument: it has no volatile cache.
[[nodiscard]] Result<PowerCutLosses> CutPower(const std::string& path, std::uint64_t seed);

}  // namespace zenfs
