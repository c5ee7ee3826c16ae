// The head of a file on the host that holds a copy of a volume's metadata zones.
// docs/formats/metadata-copy.md has the layout, an example and the downsides. After the head, the
// file has the written parts of the zones.
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
  std::uint32_t condition = 1;   // ZoneCondition of device/zone_info.h; at most kHighestCondition
  std::uint64_t bytes = 0;       // bytes of the zone in the file
  std::uint32_t crc = 0;         // CRC32C of these bytes
  std::uint32_t unreadable = 0;  // blocks that could not be read; zeros in the file

  friend bool operator==(const CopiedZone&, const CopiedZone&) = default;
};

struct MetadataCopy {
  Uuid uuid;  // of the volume
  Uuid seed;
  std::uint32_t block_size = 0;
  std::uint64_t zone_size = 0;
  std::uint32_t zone_count = 0;  // of the device
  std::uint64_t made_seconds = 0;
  // These show whether the volume was written after the copy. All commits up to `highest_sequence`
  // are older than the copy. The repair that follows writes no generation below `next_generation`
  // and no commit above `repaired_sequence`.
  std::uint64_t highest_sequence = 0;
  std::uint64_t next_generation = 0;
  std::uint64_t repaired_sequence = 0;
  std::vector<CopiedZone> zones;  // ascending, at most kMaxMetadataZones

  friend bool operator==(const MetadataCopy&, const MetadataCopy&) = default;
};

// Returns kMetadataCopyHeadBytes bytes.
[[nodiscard]] std::string EncodeMetadataCopy(const MetadataCopy& copy);

// Takes any bytes. Errors: kInvalidArgument if it is not such a file, kNotSupported for a newer
// version, kCorruption.
[[nodiscard]] Result<MetadataCopy> DecodeMetadataCopy(ByteView head);

}  // namespace zenfs
