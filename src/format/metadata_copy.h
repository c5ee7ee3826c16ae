// The head of a file on the host that holds a copy of a volume's metadata zones; docs/formats/metadata-copy.md has the
// layout, an example and the downsides. Behind the head stand the written parts of the zones, one after the other.
//
// Threads: functions on values, no state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "base/uuid.h"
#include "model/units.h"

namespace zenfs {

inline constexpr std::size_t kMetadataCopyHeadBytes = 4096;
inline constexpr std::uint32_t kMetadataCopyVersion = 1;
inline constexpr std::uint32_t kHighestCondition = 7;

struct CopiedZone {
  ZoneId zone;
  std::uint32_t condition = 1;   // as device/zone_info.h numbers them; at most kHighestCondition
  std::uint64_t bytes = 0;       // of the zone that stand in the file
  std::uint32_t crc = 0;         // CRC32C of these
  std::uint32_t unreadable = 0;  // blocks of them that could not be read, and are zeros in the file

  friend bool operator==(const CopiedZone&, const CopiedZone&) = default;
};

struct MetadataCopy {
  Uuid uuid;  // of the volume
  Uuid seed;
  std::uint32_t block_size = 0;
  std::uint64_t zone_size = 0;
  std::uint32_t zone_count = 0;  // of the device
  std::uint64_t made_seconds = 0;
  // What tells whether the volume was written since: every commit up to `highest_sequence` was there before the copy
  // was made, and the repair that follows writes no generation below `next_generation` and no commit above
  // `repaired_sequence`.
  std::uint64_t highest_sequence = 0;
  std::uint64_t next_generation = 0;
  std::uint64_t repaired_sequence = 0;
  std::vector<CopiedZone> zones;  // ascending, at most kMaxMetadataZones

  friend bool operator==(const MetadataCopy&, const MetadataCopy&) = default;
};

// kMetadataCopyHeadBytes bytes.
[[nodiscard]] std::string EncodeMetadataCopy(const MetadataCopy& copy);

// Takes any bytes. Errors: kInvalidArgument when it is no such file, kNotSupported for a newer version, kCorruption.
[[nodiscard]] Result<MetadataCopy> DecodeMetadataCopy(ByteView head);

}  // namespace zenfs
