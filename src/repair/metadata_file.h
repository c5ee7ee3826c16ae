// A copy of a volume's metadata zones in a file on the host: the way back from a repair
// (docs/formats/metadata-copy.md).
#pragma once

#include <string>

#include "base/host_file.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "format/metadata_copy.h"
#include "format/superblock.h"

namespace zenfs {

// Writes the written parts of all metadata zones, and `numbers` (its zones are filled in), to a new file that only its owner
// may read, durably, and reads it back. Blocks that the device can't read are zeros in it. Errors: kExists; those of the host, and then no file
// is left.
[[nodiscard]] Status SaveMetadata(ZonedDevice& device, const Superblock& superblock, MetadataCopy numbers,
                                  const std::string& path);

// Opens such a file. Its directory is the user's, so links in it are followed; the file itself must be no link. Errors: those
// of HostDirectory.
[[nodiscard]] Result<HostFile> OpenMetadataFile(const std::string& path);

// Reads the head of such a file and verifies all of it. Errors: those of DecodeMetadataCopy, kCorruption, with the path.
[[nodiscard]] Result<MetadataCopy> VerifyMetadataFile(const HostFile& file);

static_assert(static_cast<std::uint32_t>(ZoneCondition::kOffline) == kHighestCondition);
[[nodiscard]] ZoneCondition ConditionOf(const CopiedZone& zone);

// Makes `zone` hold what the file has of it. `offset`: where in the file. Errors: the device's, the host's; kCorruption if the
// file was changed since it was verified.
[[nodiscard]] Status RestoreZone(ZonedDevice& device, const CopiedZone& zone, const HostFile& file,
                                 std::uint64_t offset);

}  // namespace zenfs
