// Reads everything that a volume holds and verifies all checksums there are: superblock copies, the metadata log, the
// frames of logs, and the extents of files. Changes nothing, and goes on behind what is damaged.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/zoned_device.h"
#include "volume/finding.h"

namespace zenfs {

// Counts are of what was read and found right or not.
struct ScrubReport {
  std::vector<Finding> findings;
  std::uint64_t superblocks = 0;
  std::uint64_t metadata_frames = 0;
  std::uint64_t log_frames = 0;
  std::uint64_t files = 0;
  std::uint64_t extents = 0;
  std::uint64_t extent_bytes = 0;
  // What is used of the device, as SpaceReport counts it (zone/space_report.h).
  std::uint64_t data_bytes = 0;                // extents, with the padding of their last blocks
  std::uint64_t log_bytes = 0;                 // frames that files consist of
  std::uint64_t metadata_bytes = 0;            // written in metadata zones
  std::uint64_t extents_without_checksum = 0;  // of these: read, and nothing to hold against them
  std::uint64_t bytes_without_checksum = 0;

  std::uint64_t used_bytes() const { return data_bytes + log_bytes + metadata_bytes; }
  bool clean() const { return !HasError(findings); }
};

struct ScrubOptions {
  std::uint64_t bytes_per_second = 0;  // read no faster than this; 0: as fast as the device
  // Called now and then with what is done, of how much, in bytes. May be empty.
  std::function<void(std::uint64_t done, std::uint64_t of)> progress;
};

// `device` may be open read-only, and written by another meanwhile: what looks damaged then is looked at again, and
// counts if it stays so. Bytes behind the end of the metadata log are an error too: whether a commit was cut off there
// or one that was complete is damaged can't be told. Damage is reported as findings. Errors (instead of a report):
// those of ProbeSuperblock and of a zone report; kIo when nothing of the device can be read any more; kTimedOut beside a writer that leaves no moment to read the metadata.
[[nodiscard]] Result<ScrubReport> ScrubVolume(ZonedDevice& device, const ScrubOptions& options);

}  // namespace zenfs
