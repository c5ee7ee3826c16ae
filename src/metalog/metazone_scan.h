// Scans one metadata zone for valid frames and does not stop at damage, as a replay does. Scrub uses it zone by zone;
// metalog/metadata_scan.h combines all metadata zones.
//
// Threads: functions on values, no state. Reads only.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "format/metalog_payload.h"
#include "format/superblock.h"

namespace zenfs {

// Identifies a generation.
struct GenerationKey {
  std::uint64_t generation = 0;
  std::uint64_t salt = 0;

  friend auto operator<=>(const GenerationKey&, const GenerationKey&) = default;
};

struct MetadataFrame {
  ZoneId zone;
  std::uint64_t at = 0;     // bytes from the start of the zone
  std::uint64_t bytes = 0;  // on the device
  std::uint64_t payload_at = 0;
  FrameKind kind = FrameKind::kCommit;
  std::uint64_t ordinal = 0;  // in its generation
  std::uint64_t first_sequence = 0;
  std::uint64_t last_sequence = 0;
  GenerationKey of;
};

struct MetazoneScan {
  // Consecutive blocks without a valid frame.
  struct Gap {
    std::uint64_t at = 0;  // bytes from the start of the zone
    std::uint64_t bytes = 0;
    std::uint64_t first_frame = 0;  // if `inside`: ordinals of the missing frames
    std::uint64_t last_frame = 0;
    bool inside = false;      // a valid frame follows
    bool unreadable = false;  // the device can't read some blocks; all others are zeros
    bool empty = true;        // all readable blocks are zeros

    // Returns true if the range may never have been written, like the rest of a finished zone.
    bool IsUnwritten() const { return empty && !unreadable; }
  };

  ZoneId zone;
  std::uint64_t written = 0;          // bytes below the write pointer
  std::optional<Error> superblock;    // why the zone's copy of the superblock is invalid; none: it is valid
  bool superblock_differs = false;    // the copy is valid, but not this volume's superblock
  std::optional<LogHeader> header;    // none: not valid
  std::vector<MetadataFrame> frames;  // valid frames by offset, without the header
  std::vector<Gap> gaps;              // by offset

  bool IsComplete() const;  // `frames` contains a SwitchComplete
};

// `info`: a metadata zone that is not empty. Accepts frames of the generation in the zone's header; without a valid header,
// frames of any generation in `keys`. Unreadable blocks are gaps.
[[nodiscard]] MetazoneScan ScanMetazone(ZonedDevice& device, const Superblock& superblock,
                                        const ZoneInfo& info, const std::set<GenerationKey>& keys = {});

}  // namespace zenfs
