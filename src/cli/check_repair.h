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
  std::string save_to;  // empty: a name of the volume and the time, in the current directory
};

// Says what it will do, asks, does it, and checks what came of it. Returns the exit status: kCheckClean when the volume
// is sound now, kCheckFindings when it is not (nobody said yes, a dry run, losses that stay).
[[nodiscard]] Result<int> RunRepair(const DeviceOption& device, const RepairRequest& request,
                                    Console& console);

// kCheckClean once the metadata is back as it was.
[[nodiscard]] Result<int> RunUndoRepair(const DeviceOption& device, const std::string& file,
                                        const RepairRequest& request, Console& console);

}  // namespace zenfs
