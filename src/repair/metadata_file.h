// A copy of a volume's metadata zones in a file on the host. It allows a repair to be undone
// (docs/formats/metadata-copy.md).
#pragma once

#include <string>

#include "base/host_file.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "format/metadata_copy.h"
#include "format/superblock.h"

namespace zenfs {

// Writes `numbers`, with its zones filled in, and the written parts of all metadata zones to a new
// file on the host. The file is readable by its owner only; it is durable on return and has been
// read back. Blocks that the device can't read are zeros in it. Blocks of zeros are holes, which take
// no room on the host. Errors: kNoSpace if the host has no room for the other blocks, before a file
// is made; kExists; errors of the host, and then no file is left.
[[nodiscard]] Status SaveMetadata(ZonedDevice& device, const Superblock& superblock, MetadataCopy numbers,
                                  const std::string& path);

// Length of the file in bytes that SaveMetadata would write now. It takes no more room on the host.
[[nodiscard]] Result<std::uint64_t> MetadataFileBytes(ZonedDevice& device, const Superblock& superblock);

// Opens such a file. Follows symbolic links in the directory part, which the user chose; the file
// itself must not be a link. Errors: those of HostDirectory.
[[nodiscard]] Result<HostFile> OpenMetadataFile(const std::string& path);

// Reads the head of such a file and verifies the whole file. Errors: those of DecodeMetadataCopy;
// kCorruption. They name the path.
[[nodiscard]] Result<MetadataCopy> VerifyMetadataFile(const HostFile& file);

static_assert(static_cast<std::uint32_t>(ZoneCondition::kOffline) == kHighestCondition);
[[nodiscard]] ZoneCondition ConditionOf(const CopiedZone& zone);

// Makes `zone` hold the bytes that the file has for it, which begin at `offset` (bytes) in the
// file. Errors: those of the device and of the host; kCorruption if the file changed after it was
// verified.
[[nodiscard]] Status RestoreZone(ZonedDevice& device, const CopiedZone& zone, const HostFile& file,
                                 std::uint64_t offset);

}  // namespace zenfs
