// Turns a volume of the older ZenFS into one of format 3 in place, and back.
//
//   PlanUpgrade   (upgrade_plan.h) reads only
//   CarryOut      copy of the older metadata to the host -> resets of the older metadata zones that do not count -> parts that are
//                 written anew, verified -> new metadata, verified by a replay -> reset of the zone of the older log
//   Undo          marker -> older log as it is in the copy, verified by a replay -> reset of the marker -> resets of the new
//                 metadata zones
//
// Both switch by one reset: of the zone of the older log, and of the zone of the marker. Before it a volume is found as it was,
// whatever else is on the device, and after it as it is to be (OlderRemains in metalog/older_log.h). The older program sees the
// same: until the switch its log is whole; after it, and while the marker is there, it finds nothing that it mounts. So a crash
// leaves the older or the new volume, and both calls can be repeated.
//
// Threads: one at a time. The device must be open exclusively. Units: bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "device/zoned_device.h"
#include "upgrade/upgrade_plan.h"

namespace zenfs {

// Called repeatedly with the bytes of data done so far and in total; what is written anew is also read back.
using UpgradeProgress = std::function<void(std::uint64_t done, std::uint64_t of)>;

// Carries out `plan`, which must have been made from the same device just before. `save_to`: path of a new file on the host.
// Errors: those of SaveMetadata, with nothing changed; kBusy if too few active zones can be had; kIo and kCorruption if
// something can't be read, or reads back differently: the volume is the older one then, and the call can be repeated after a new plan.
[[nodiscard]] Status CarryOutUpgrade(ZonedDevice& device, UpgradePlan plan, const std::string& save_to,
                                     const UpgradeProgress& progress = {});

// Makes the volume the older one again, with the log as it is in `file`. Errors: those of VerifyMetadataFile; kInvalidArgument if
// the file is not from an upgrade, or of another volume; kReadOnly if the volume was mounted read-write since, or the
// end of a file that was open is not known any more.
[[nodiscard]] Status UndoUpgrade(ZonedDevice& device, const std::string& file);

// For a volume whose undo was interrupted: removes what the undo has written, so that the volume can be mounted again. Returns
// false if there is nothing of that kind. Errors: the device's.
[[nodiscard]] Result<bool> EndInterruptedUndo(ZonedDevice& device);

}  // namespace zenfs
