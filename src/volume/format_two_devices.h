// mkfs for a volume whose logs are on a second device.
#pragma once

#include <string>

#include "base/status.h"
#include "volume/format_volume.h"

namespace zenfs {

struct TwoDevices {
  ZonedDevice& main;
  ZonedDevice& logs;
  std::string main_name;  // URIs, which each device gets for the other
  std::string logs_name;
};

// Makes a file system on `main`, and what its mounts need on `logs`. Both are open exclusively; neither is written before
// all checks have passed. The first two usable zones of `logs` get a superblock and the key of the pair, the zones behind them become log zones.
// A crash in between leaves `main` without a file system, or with one whose log device is complete.
// Errors: those of FormatVolume and JoinDevices; kInvalidArgument if `logs` has too few zones.
[[nodiscard]] Result<FormatReport> FormatTwoDevices(const TwoDevices& devices, FormatOptions options);

}  // namespace zenfs
