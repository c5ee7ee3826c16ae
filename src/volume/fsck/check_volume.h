// fsck: verifies every invariant of a volume without changing it (`zenfs check`). src/repair changes what is damaged
// (`zenfs check --repair`), scrub.h verifies all checksums.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/zoned_device.h"
#include "volume/fsck/finding.h"

namespace zenfs {

struct CheckReport {
  Findings findings;
  std::string unsynced;   // as in Shortfall; there is a finding for it
  bool has_state = true;  // false: the metadata could not be replayed, and the counts are meaningless
  std::uint64_t files = 0;
  std::uint64_t directories = 0;
  std::uint64_t extents = 0;
  std::uint64_t frames = 0;
  // Used bytes of the device, counted as in SpaceReport (zone/space_account.h).
  std::uint64_t data_bytes = 0;      // extents, including the padding of their last blocks
  std::uint64_t log_bytes = 0;       // live frames of files
  std::uint64_t metadata_bytes = 0;  // written in metadata zones

  std::uint64_t used_bytes() const { return data_bytes + log_bytes + metadata_bytes; }
  bool clean() const { return !HasError(findings); }
};

struct CheckOptions {
  bool read_data = false;  // also read every byte of every file and compare the checksums of extents
  // Called repeatedly with the bytes done so far and in total. May be empty.
  std::function<void(std::uint64_t done, std::uint64_t of)> progress;
};

// `device` may be open read-only while another process writes it; then apparent damage is checked again.
// Damage is reported as findings. If no copy of the superblock is valid, or the metadata log can't be replayed, the findings
// say what can be rebuilt and what would be lost.
// Errors: those of ProbeSuperblock for a device without a ZenFS, or with one of another version or device; that of CheckPairOf
// for two devices that do not belong together; kNotSupported;
// that of PresenceMark::Check if the device can't be read at all or for a time; kBusy or kTimedOut if a writer changes the volume during each
// try, so that damage can't be distinguished from change.
[[nodiscard]] Result<CheckReport> CheckVolume(ZonedDevice& device, const CheckOptions& options);

}  // namespace zenfs
