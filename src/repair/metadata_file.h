// A copy of a volume's metadata zones in a file on the host: the way back from a repair
// (docs/format-metadata-copy.md).
#pragma once

#include <string>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/metadata_copy.h"
#include "format/superblock.h"

namespace zenfs {

// Writes the written parts of all metadata zones, and `numbers` (its zones are filled in), to a new file, durably, and
// reads it back. Blocks that the device can't read are zeros in it. Errors: kExists; those of the host, and then no file
// is left.
[[nodiscard]] Status SaveMetadata(ZonedDevice& device, const Superblock& superblock, MetadataCopy numbers,
                                  const std::string& path);

// Reads the head of such a file and verifies all of it. Errors: those of DecodeMetadataCopy, kCorruption, with the path.
[[nodiscard]] Result<MetadataCopy> VerifyMetadataFile(const std::string& path);

static_assert(static_cast<std::uint32_t>(ZoneCondition::kOffline) == kHighestCondition);
[[nodiscard]] ZoneCondition ConditionOf(const CopiedZone& zone);

// Makes `zone` hold what the file has of it. `offset`: where in the file. Errors: the device's, the host's.
[[nodiscard]] Status RestoreZone(ZonedDevice& device, const CopiedZone& zone, const std::string& path,
                                 std::uint64_t offset);

}  // namespace zenfs
