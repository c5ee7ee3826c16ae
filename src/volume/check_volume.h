// Verifies every invariant of a volume without changing anything.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "device/zoned_device.h"
#include "volume/finding.h"

namespace zenfs {

struct CheckReport {
  std::vector<Finding> findings;
  bool has_state = true;  // else what the metadata say could not be found out, and the counts are of nothing
  std::uint64_t files = 0;
  std::uint64_t directories = 0;
  std::uint64_t extents = 0;
  std::uint64_t frames = 0;
  // What is used of the device, as SpaceReport counts it (zone/space_report.h).
  std::uint64_t data_bytes = 0;      // extents, with the padding of their last blocks
  std::uint64_t log_bytes = 0;       // frames that files consist of
  std::uint64_t metadata_bytes = 0;  // written in metadata zones

  std::uint64_t used_bytes() const { return data_bytes + log_bytes + metadata_bytes; }
  bool clean() const { return !HasError(findings); }
};

struct CheckOptions {
  bool read_data = false;  // also read every byte of every file
  // Called now and then with what is done, of how much, in bytes. May be empty.
  std::function<void(std::uint64_t done, std::uint64_t of)> progress;
};

// `device` may be open read-only, and written by another meanwhile: what looks wrong is then checked again.
// Damage is reported as findings, also when no copy of the superblock is valid or the metadata log can't be replayed;
// then they say what could be rebuilt and what would be lost. Errors (instead of a report) only when there is no ZenFS
// to check at all, when it is of another version or another device, when nothing of the device can be read (any more), and
// kBusy or kTimedOut when a writer changes it each time too soon to tell damage from change.
[[nodiscard]] Result<CheckReport> CheckVolume(ZonedDevice& device, const CheckOptions& options);

}  // namespace zenfs
