// Scans the metadata zones for all valid frames of all generations, including frames after damage and in zones without a
// readable header, which a replay (metalog/replay.h) does not read. For check, scrub and repair.
//
// Threads: functions on values, no state. Reads only.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "format/metalog_payload.h"
#include "format/superblock.h"

namespace zenfs {

// --- one zone ---

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

// Scans one zone. `info`: a metadata zone that is not empty. Accepts frames of the generation in the zone's header; without
// a valid header, frames of any generation in `keys`. Unreadable blocks are gaps.
[[nodiscard]] MetazoneScan ScanMetazone(ZonedDevice& device, const Superblock& superblock,
                                        const ZoneInfo& info, const std::set<GenerationKey>& keys = {});

// --- all metadata zones ---

struct ScannedGeneration {
  std::uint64_t generation = 0;
  std::uint64_t salt = 0;
  std::vector<MetadataFrame> frames;  // by ordinal; of those that are in two zones, one
  // The last commit before its SwitchComplete, if that frame is valid.
  std::optional<std::uint64_t> complete_sequence;
};

// A range of a metadata zone that holds no valid data.
struct MetadataFlaw {
  ZoneId zone;
  std::uint64_t at = 0;  // bytes from the start of the zone
  std::uint64_t bytes = 0;
  std::uint64_t generation = 0;  // of the zone; 0: unknown
  enum class Kind {
    kSuperblock,  // the copy of the superblock
    kLogHeader,   // the log header
    kFrames,      // frames; later valid frames prove that they existed
    kTail,        // after the last frame: damage, or a frame cut off by a power loss
    kOffline,     // the whole zone
  } kind = Kind::kFrames;
  // If the other zone of the pair holds the same range whole, that zone: nothing is lost.
  std::optional<ZoneId> whole_in;
};

struct MetadataScan {
  std::vector<ZoneInfo> zones;                 // the metadata zones, in the order of the superblock
  std::vector<ScannedGeneration> generations;  // oldest first
  std::vector<MetadataFlaw> flaws;             // by zone and offset

  // Returns true if the last frame of the generation is a SwitchBegin: the next generation never became complete, or is
  // lost.
  bool EndsInSwitch(std::uint64_t generation) const;
  // Of all valid frames; 0 if there are none.
  std::uint64_t HighestGeneration() const;
  std::uint64_t HighestSequence() const;
};

// Errors: those of a report. Unreadable data is a flaw, not an error.
[[nodiscard]] Result<MetadataScan> ScanMetadata(ZonedDevice& device, const Superblock& superblock);

// Reads a frame of the scan again. Errors: kCorruption if it is not valid any more; those of `use`.
[[nodiscard]] Status ReadScanned(ZonedDevice& device, const Superblock& superblock,
                                 const ScannedGeneration& generation, const MetadataFrame& frame,
                                 const std::function<Status(ByteView payload)>& use);

// "metadata zone 3, byte 4096: the header of the metadata log can't be read", ...
[[nodiscard]] std::string FlawText(const MetadataFlaw& flaw);

}  // namespace zenfs
