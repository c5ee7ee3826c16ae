// `zenfs check --repair` and `--undo-repair`.
#pragma once

#include <string>

#include "cli/console.h"
#include "cli/device_option.h"

namespace zenfs {

struct RepairRequest {
  bool dry_run = false;
  bool yes = false;
  bool json = false;
  std::string save_to;  // empty: a name made of volume and time, in the current directory
};

// Prints the plan, asks, carries it out, and checks the result. Returns the exit status:
// kCheckClean if the volume is sound now, kCheckFindings otherwise (the user declined, a dry run,
// losses that stay).
[[nodiscard]] Result<int> RunRepair(const DeviceOption& device, const RepairRequest& request,
                                    Console& console);

// Returns kCheckClean after the old metadata is restored.
[[nodiscard]] Result<int> RunUndoRepair(const DeviceOption& device, const std::string& file,
                                        const RepairRequest& request, Console& console);

}  // namespace zenfs
