// Looks at every frame of a metadata zone by itself, whatever is wrong with others: what a replay, which stops at the
// first that is not there, can't tell. Scrub goes by it zone by zone; metalog/metadata_scan.h puts the zones together.
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

// What the frames of one generation of the log have in common.
struct GenerationKey {
  std::uint64_t generation = 0;
  std::uint64_t salt = 0;

  friend auto operator<=>(const GenerationKey&, const GenerationKey&) = default;
};

struct MetadataFrame {
  ZoneId zone;
  std::uint64_t at = 0;     // bytes from the start of the zone
  std::uint64_t bytes = 0;  // on the device
  FrameKind kind = FrameKind::kCommit;
  std::uint64_t ordinal = 0;  // in its generation
  std::uint64_t first_sequence = 0;
  std::uint64_t last_sequence = 0;
  GenerationKey of;
};

struct MetazoneScan {
  // Blocks that are no valid frame.
  struct Gap {
    std::uint64_t at = 0;  // bytes from the start of the zone
    std::uint64_t bytes = 0;
    std::uint64_t first_frame = 0;  // ordinals in the generation of those that are missing, if `inside`
    std::uint64_t last_frame = 0;
    bool inside = false;      // a valid frame stands further on
    bool unreadable = false;  // the device refuses to read some of it, and what it reads are zeros
    bool empty = true;        // nothing but zeros, where it can be read: never written, perhaps

    // As the device leaves what a Finish did not write.
    bool IsUnwritten() const { return empty && !unreadable; }
  };

  ZoneId zone;
  std::uint64_t written = 0;  // bytes below the write pointer
  std::optional<Error>
      superblock;  // why the copy in the zone is none; a copy of another volume is none either
  bool superblock_differs = false;
  std::optional<LogHeader> header;    // none: not valid
  std::vector<MetadataFrame> frames;  // valid ones by place, the header not among them
  std::vector<Gap> gaps;              // by place

  bool IsComplete() const;  // a SwitchComplete is among the frames
};

// `info`: of a metadata zone of the volume that is not empty. Blocks that can't be read are gaps. Frames are those of the
// generation that the zone's header tells; without one, those of any of `keys`.
[[nodiscard]] MetazoneScan ScanMetazone(ZonedDevice& device, const Superblock& superblock,
                                        const ZoneInfo& info, const std::set<GenerationKey>& keys = {});

}  // namespace zenfs
