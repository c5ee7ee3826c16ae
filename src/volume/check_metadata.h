// The part of a check that verifies the metadata zones: copies of the superblock, frames of the log, and, if the volume
// can't be mounted, how much of it can be rebuilt.
#pragma once

#include <span>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "volume/check_volume.h"

namespace zenfs {

// For a log that was replayed. `chain`: the zones of `generation`, the newest complete generation, which was written in `copies`
// zones at a time. Errors: those of a zone report.
[[nodiscard]] Status CheckMetadataZones(ZonedDevice& device, const Superblock& superblock,
                                        std::uint64_t generation, std::span<const ZoneId> chain,
                                        std::uint32_t copies, CheckReport& out);

// For a log whose replay failed with `error`: reports the damage, what can be rebuilt, and what is lost. Errors: those of a
// zone report; kNotSupported.
[[nodiscard]] Status ExplainLog(ZonedDevice& device, const Superblock& superblock, const Error& error,
                                CheckReport& out);

// For a device without a valid copy of the superblock; `error` is that of ProbeSuperblock.
[[nodiscard]] Result<CheckReport> ExplainSuperblocks(ZonedDevice& device, const Error& error);

}  // namespace zenfs
