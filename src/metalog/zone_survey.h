// Looks at every frame of a metadata zone by itself, whatever is wrong with others: what a replay, which stops at the
// first that is not there, can't tell. Writes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/metalog_payload.h"
#include "format/superblock.h"

namespace zenfs {

struct ZoneSurvey {
  // Blocks that are no valid frame of the generation.
  struct Gap {
    std::uint64_t at = 0;  // bytes from the start of the zone
    std::uint64_t bytes = 0;
    std::uint64_t first_frame = 0;  // ordinals in the generation of those that are missing, if `inside`
    std::uint64_t last_frame = 0;
    bool inside = false;      // a valid frame stands further on
    bool unreadable = false;  // the device refuses to read some of it
    bool empty = true;        // nothing but zeros, where it can be read: never written, perhaps
  };

  ZoneId zone;
  std::uint64_t written = 0;  // bytes below the write pointer
  std::optional<Error>
      superblock;  // why the copy in the zone is none; a copy of another volume is none either
  bool superblock_differs = false;
  std::optional<LogHeader> header;  // none: not valid; nothing below is known then
  std::uint64_t frames = 0;         // valid ones, the header not counted
  bool complete = false;            // a RollComplete is among them
  std::vector<Gap> gaps;
};

// `info`: of a metadata zone of the volume that is not empty. Blocks that can't be read are gaps.
[[nodiscard]] ZoneSurvey SurveyMetazone(ZonedDevice& device, const Superblock& superblock,
                                        const ZoneInfo& info);

}  // namespace zenfs
