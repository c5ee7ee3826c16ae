// What stands in the metadata zones, damage and all: every frame that can still be read, of every generation, also
// behind damage and in zones whose header is gone (each by metalog/metazone_scan.h). For check and repair; a mount goes by metalog/generations.h.
//
// Threads: functions on values, no state. Reads only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "metalog/metazone_scan.h"

namespace zenfs {

struct ScannedGeneration {
  std::uint64_t generation = 0;
  std::uint64_t salt = 0;
  std::vector<MetadataFrame> frames;  // by ordinal
  // Of its SwitchComplete if that can be read: the last commit before it.
  std::optional<std::uint64_t> complete_sequence;
};

// A stretch of a metadata zone that can't be read.
struct MetadataFlaw {
  ZoneId zone;
  std::uint64_t at = 0;  // bytes from the start of the zone
  std::uint64_t bytes = 0;
  std::uint64_t generation = 0;  // that the zone belongs to; 0: not known
  enum class Kind {
    kSuperblock,  // the copy of the superblock
    kLogHeader,   // what says which generation the zone belongs to
    kFrames,      // something that later frames prove to have been there
    kTail,        // behind the last frame: damage, or a frame that a loss of power cut off
    kOffline,     // the whole zone
  } kind = Kind::kFrames;
};

struct MetadataScan {
  std::vector<ZoneInfo> zones;                 // the metadata zones, as the superblock lists them
  std::vector<ScannedGeneration> generations;  // oldest first
  std::vector<MetadataFlaw> flaws;             // by zone and place

  // The generation ends in the announcement of a log switch: the next one never became complete, or it is gone.
  bool EndsInSwitch(std::uint64_t generation) const;
  // Of all that can be read; 0 if nothing can.
  std::uint64_t HighestGeneration() const;
  std::uint64_t HighestSequence() const;
};

// Errors: those of a report. What can't be read is a flaw.
[[nodiscard]] Result<MetadataScan> ScanMetadata(ZonedDevice& device, const Superblock& superblock);

// Reads a frame that the scan found, anew. Errors: kCorruption when it can't be read any more.
[[nodiscard]] Status ReadScanned(ZonedDevice& device, const Superblock& superblock,
                                 const ScannedGeneration& generation, const MetadataFrame& frame,
                                 const std::function<Status(ByteView payload)>& use);

// "the superblock's copy can't be read", "frames of generation 3 can't be read", ...
[[nodiscard]] std::string FlawText(const MetadataFlaw& flaw);

}  // namespace zenfs
