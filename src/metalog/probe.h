// Finds a ZenFS on a device without changing anything.
#pragma once

#include <vector>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/superblock.h"

namespace zenfs {

// Reads the first blocks of the sequential zones, from the lowest on, until a valid superblock of format 3 is
// found; looks at no more than the zones a metadata zone can lie in.
// Errors: kNotFound when there is none ("no ZenFS on DEVICE; make one with zenfs mkfs"), kCorruption when
// there is one and every copy is damaged, kNotSupported for a newer version or unknown incompatible feature
// bits (the text names them) and for the older ZenFS's formats 1 and 2, kInvalidArgument when the geometry in
// the superblock is not the device's (both values in the text).
[[nodiscard]] Result<Superblock> ProbeSuperblock(ZonedDevice& device);

// What stands where a copy of the superblock can stand.
struct SuperblockCopy {
  ZoneId zone;
  Result<Superblock> superblock;  // errors: those of reading and of DecodeSuperblock
};
// Of the zones that ProbeSuperblock looks at, those that hold something. Errors: those of a report.
[[nodiscard]] Result<std::vector<SuperblockCopy>> ScanSuperblocks(ZonedDevice& device);

// Of a device on which no copy is valid: one that has a single flipped bit, put right, and proven by a log header behind
// it that is sealed with its seed. Errors: kCorruption when there is none; those of ProbeSuperblock about geometry.
[[nodiscard]] Result<SuperblockCopy> CorrectedSuperblock(ZonedDevice& device);

// The zones of the newest complete generation of the metadata log, in chain order; empty when there is none.
// Reads only.
[[nodiscard]] std::vector<ZoneId> NewestGenerationZones(ZonedDevice& device, const Superblock& superblock);

}  // namespace zenfs
