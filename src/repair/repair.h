// Rebuilds what can be rebuilt of a damaged volume: first a plan, which says in sentences what will be done, then the
// doing, which begins with a copy of the metadata on the host, then the way back.
//
//   PlanRepair   reads only; the same device gives the same plan
//   CarryOut     copy to the host -> new generation, above all others -> one more, so that a second copy of all stands
//                and no damaged zone is left
//   UndoRepair   the metadata zones as the copy has them
//
// What a crash leaves: until the new generation is durable, what was there before (the repair can be run again); from
// then on the repaired volume. Zones of data are never reset or written. The exception is a plan that is `in_place`.
//
// A read that fails once is sent again (device/guarded_device.h).
//
// Threads: one at a time; nobody else writes the device meanwhile (it is open exclusively for CarryOut and UndoRepair).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "model/state.h"

namespace zenfs {

struct RepairPlan {
  Superblock superblock;
  std::vector<std::string> steps;      // what will be done, a sentence each; none: nothing is to be done
  std::vector<std::string> losses;     // what is lost, and stays named
  State state;                         // that the volume will have
  std::uint64_t generation = 0;        // of the metadata log, to be written
  std::uint64_t sequence = 0;          // its snapshot is as of this commit
  std::uint64_t highest_sequence = 0;  // of all commits that were found
  std::vector<ZoneId>
      keep;  // metadata zones that the state comes from; not touched before it is durable elsewhere
  // There is no room beside these zones: they are reset first, and until the repair is through the copy on the host is
  // the only one.
  bool in_place = false;

  bool nothing_to_do() const { return steps.empty(); }
};

// Errors: kIo when nothing of the device can be read; kCorruption when nothing valid is left to rebuild from (no superblock, no
// frame of the metadata log); those of ProbeSuperblock; kReadOnly for feature bits that forbid writing; kBusy when somebody
// writes the volume meanwhile.
[[nodiscard]] Result<RepairPlan> PlanRepair(ZonedDevice& device);

// Does what `plan`, made of the same device just before, says. `save_to`: a new file on the host.
// Errors: kExists for the file; kReadOnly for a device that is open for reading; kNoSpace; the device's. Until the first
// step is done the device is unchanged.
[[nodiscard]] Status CarryOut(ZonedDevice& device, const RepairPlan& plan, const std::string& save_to);

// Puts the metadata zones back as they were before the repair that wrote the file. Run again, it goes on after a crash.
// Errors: those of VerifyMetadataFile; kInvalidArgument when the file is of another volume or device; kReadOnly when the
// volume was mounted read-write since (zones of data may have been reset), or a metadata zone can't be written.
[[nodiscard]] Status UndoRepair(ZonedDevice& device, const std::string& file);

}  // namespace zenfs
