// Finds a ZenFS volume on a device. Reads only.
#pragma once

#include <vector>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/superblock.h"

namespace zenfs {

// Reads the start of the first kMaxMetadataZones zones that are not conventional, until it finds a valid superblock of
// format 3.
// Errors:
//   kNotFound         there is none, nor remains of one ("no ZenFS on DEVICE; make one with zenfs mkfs"; without that
//                     advice if a zone that may have held metadata is offline, or if any zone holds data)
//   kCorruption       all copies are damaged, or only other remains of a ZenFS are found anywhere on the device (the text
//                     says what and where)
//   kNotSupported     a newer version, unknown incompatible feature bits (the text names them), or formats 1 and 2 of the
//                     older ZenFS, also if an upgrade of it was interrupted
//   kInvalidArgument  the device's geometry is not the one in the superblock (the text names both values), or the device is
//                     one of the two devices of a volume (the text names the other)
[[nodiscard]] Result<Superblock> ProbeSuperblock(ZonedDevice& device);
// The same, and accepts formats 1 and 2 of the older ZenFS, too. Only for what never writes to the device. Errors: those of
// ProbeSuperblock; kCorruption if all superblocks of an older ZenFS are damaged.
[[nodiscard]] Result<Superblock> ProbeReadable(ZonedDevice& device);
// As ProbeSuperblock, for any single device, also one of two. Does not compare the geometry, and finds the superblock of an upgrade
// that was interrupted, too.
[[nodiscard]] Result<Superblock> FindSuperblock(ZonedDevice& device);
// The same for the second of two devices: takes no copy that is of another device, such as the main one. Errors: also
// kInvalidArgument if there is only such a copy.
[[nodiscard]] Result<Superblock> FindLogSuperblock(ZonedDevice& device);

// A zone that may hold a copy of the superblock.
struct SuperblockCopy {
  ZoneId zone;
  Result<Superblock> superblock;  // errors: those of reading and of DecodeSuperblock
};
// Reads all zones that ProbeSuperblock looks at, except those with less written than a superblock. Errors: those of a
// report.
[[nodiscard]] Result<std::vector<SuperblockCopy>> ScanSuperblocks(ZonedDevice& device);

// For a device without a valid copy: returns a copy with a single flipped bit, corrected. A log header after it, sealed
// with its seed, proves the correction. Errors: kCorruption if there is none; those of ProbeSuperblock about geometry.
[[nodiscard]] Result<SuperblockCopy> CorrectedSuperblock(ZonedDevice& device);

}  // namespace zenfs
