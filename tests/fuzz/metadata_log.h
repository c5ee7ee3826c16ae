// The tiny device and volume whose metadata log the target `metadata` replays, shared with the code
// that writes its seeds.
#pragma once

#include "format/metalog_payload.h"
#include "format/superblock.h"
#include "zone_script.h"

namespace zenfs {

inline constexpr std::uint32_t kMetadataZones = 3;

inline EmulatorGeometry MetadataGeometry() {
  return {.zones = 8, .zone_size = 64 << 10, .max_open = 0, .max_active = 0, .block_size = 512};
}

inline Superblock MetadataSuperblock() {
  const Uuid uuid = *Uuid::Parse("01234567-89ab-4def-8123-456789abcdef");
  const EmulatorGeometry geometry = MetadataGeometry();
  return {.uuid = uuid,
          .seed = uuid,
          .label = "fuzz",
          .block_size = geometry.block_size,
          .zone_size = geometry.zone_size,
          .zone_count = geometry.zones,
          .metadata_zones = {ZoneId(0), ZoneId(1), ZoneId(2)},
          .made_by = "fuzz"};
}

// Frames of the metadata log are sealed with the salt in the log header of their zone.
inline ZoneScript MetadataScript(const Superblock& superblock) {
  return {.first_byte = kSuperblockBytes,
          .block_size = superblock.block_size,
          .capacity = superblock.zone_size,
          .first_zone = 0,
          .end_zone = kMetadataZones,
          .seed =
              [seed = superblock.seed, salt = std::uint64_t{0}](ZoneId zone, const FrameHeader& header,
                                                                ByteView payload) mutable {
                if (header.kind != FrameKind::kLogHeader) {
                  return FrameSeed::Of(seed, zone, header.file_offset, salt);
                }
                const auto log = DecodeLogHeader(payload);
                if (log) salt = log->salt;
                return FrameSeed::Of(seed, zone, header.file_offset, 0);
              },
          .for_target = {}};
}

}  // namespace zenfs
