// Scrub: reads all contents of a volume and verifies all checksums (`zenfs scrub`; fsck is check_volume.h): those of the copies of the superblock, the metadata log, the
// frames of logs, and the extents of files. Changes nothing but by RecordChecksums, and continues after damage.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/uuid.h"
#include "device/zoned_device.h"
#include "model/file_record.h"
#include "volume/fsck/finding.h"

namespace zenfs {

// An extent that has no checksum yet, with the one of its bytes.
struct ComputedChecksum {
  FileId file;
  Extent extent;
};

// The counts include damaged items.
struct ScrubReport {
  Uuid uuid;  // of the volume
  Findings findings;
  std::string unsynced;  // as in Shortfall; there is a finding for it
  std::uint64_t superblocks = 0;
  std::uint64_t metadata_frames = 0;
  std::uint64_t log_frames = 0;
  std::uint64_t files = 0;
  std::uint64_t extents = 0;
  std::uint64_t extent_bytes = 0;
  // Used bytes of the device, counted as in SpaceReport (zone/space_account.h).
  std::uint64_t data_bytes = 0;                // extents, including the padding of their last blocks
  std::uint64_t log_bytes = 0;                 // live frames of files
  std::uint64_t metadata_bytes = 0;            // written in metadata zones
  std::uint64_t extents_without_checksum = 0;  // of `extents`: read, but there is no checksum to verify
  std::uint64_t bytes_without_checksum = 0;
  std::vector<ComputedChecksum>
      computed;  // for these, by file and place in it; not if only the older ZenFS can write the volume

  std::uint64_t used_bytes() const { return data_bytes + log_bytes + metadata_bytes; }
  bool clean() const { return !HasError(findings); }
};

struct ScrubOptions {
  std::uint64_t bytes_per_second = 0;  // the highest read rate; 0: no limit
  // Called repeatedly with the bytes done so far and in total. May be empty.
  std::function<void(std::uint64_t done, std::uint64_t of)> progress;
};

// `device` may be open read-only while another process writes it; then apparent damage is read again, and reported if it
// remains. Bytes after the end of the metadata log are an error too, because an interrupted commit and a damaged complete one
// look the same. Damage is reported as findings. Errors: those of ProbeSuperblock, CheckPairOf and of a zone report; kIo if the device
// can't be read at all any more; kTimedOut beside a writer that changes the metadata log during each try to read it.
[[nodiscard]] Result<ScrubReport> ScrubVolume(ZonedDevice& device, const ScrubOptions& options);

// Commits checksums that a scrub has computed, so that the next one can verify them. Leaves out files that were changed since.
// `device` is open exclusively. Returns the number of extents that have one now. Errors: those of ProbeSuperblock and of the metadata
// log; kBusy if an upgrade from the older ZenFS could not be undone any more (upgrade/upgrade.h).
[[nodiscard]] Result<std::uint64_t> RecordChecksums(ZonedDevice& device,
                                                    std::span<const ComputedChecksum> computed);

}  // namespace zenfs
