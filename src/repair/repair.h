// Rebuilds the metadata of a damaged volume as far as possible. PlanRepair makes a plan, whose
// steps are sentences for the user. CarryOut first copies the metadata zones to the host, then
// writes the new state. UndoRepair restores that copy.
//
//   PlanRepair   reads only; the same device gives the same plan
//   CarryOut     copy to the host -> new generation above all others -> log switch to the next
//                generation, so that two copies of the state exist and no damaged zone is left
//   UndoRepair   the metadata zones as they are in the copy
//
// After a crash the volume is as before until the new generation is durable, and the repair can be
// run again. From then on it is the repaired volume. Data zones are never reset or written.
// Exception: a plan that is `in_place`.
//
// A read that fails once is retried (device/guarded_device.h).
//
// Threads: one at a time. Nobody else writes the device meanwhile; CarryOut and UndoRepair need it
// open exclusively.
#pragma once

#include <string>
#include <vector>

#include "base/sentences.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "model/state.h"

namespace zenfs {

struct RepairPlan {
  Superblock superblock;
  Sentences steps;                     // changes to make, one sentence each; empty if the volume is sound
  Sentences losses;                    // losses that stay, one sentence each
  State state;                         // of the repaired volume
  std::uint64_t generation = 0;        // of the metadata log, that the repair writes
  std::uint64_t sequence = 0;          // of the commit that the new snapshot stands for
  std::uint64_t highest_sequence = 0;  // of all commits found
  std::vector<ZoneId>
      keep;  // metadata zones that the state comes from; unchanged until it is durable elsewhere
  // The new state does not fit beside these zones, so they are reset first. Until the repair ends,
  // the copy on the host is the only one.
  bool in_place = false;
  std::uint64_t copy_bytes = 0;  // length of the copy on the host; it takes no more room there

  bool nothing_to_do() const { return steps.empty(); }
};

// Errors: kIo if nothing of the device can be read; kCorruption if there is no valid superblock or
// no valid frame of the metadata log; those of ProbeSuperblock; kReadOnly for feature bits that
// forbid writing; kBusy if somebody writes the volume meanwhile.
[[nodiscard]] Result<RepairPlan> PlanRepair(ZonedDevice& device);

// Carries out `plan`, which must have been made from the same device just before. `save_to`: path
// of a new file on the host. Errors: kExists for the file; kReadOnly if the device is open for
// reading only; kNoSpace, also if the host has no room for the copy; those of the device. The device
// is unchanged until the copy on the host is complete.
[[nodiscard]] Status CarryOut(ZonedDevice& device, const RepairPlan& plan, const std::string& save_to);

// Restores the metadata zones as they were before the repair that wrote the file. After a crash,
// run it again: it continues. Errors: those of VerifyMetadataFile; kInvalidArgument if the file is
// of another volume or device; kReadOnly if the volume was mounted read-write since (data zones may
// have been reset), or if a metadata zone can't be written.
[[nodiscard]] Status UndoRepair(ZonedDevice& device, const std::string& file);

}  // namespace zenfs
