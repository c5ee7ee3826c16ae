// The part of a check that looks at the metadata zones themselves: copies of the superblock, frames of the log, and what
// could be made of them when a mount can't.
#pragma once

#include <span>

#include "base/status.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "volume/check_volume.h"

namespace zenfs {

// Of a log that was replayed: `chain` are the zones of `generation`, its newest complete one. Errors: those of a report.
[[nodiscard]] Status CheckMetadataZones(ZonedDevice& device, const Superblock& superblock,
                                        std::uint64_t generation, std::span<const ZoneId> chain,
                                        CheckReport& out);

// Of a log whose replay ended in `error`: where it is damaged, what can be rebuilt of it, and what is lost.
// Errors: those of a report, kNotSupported.
[[nodiscard]] Status ExplainLog(ZonedDevice& device, const Superblock& superblock, const Error& error,
                                CheckReport& out);

// Of a device without a valid copy of the superblock, as `error` says.
[[nodiscard]] Result<CheckReport> ExplainSuperblocks(ZonedDevice& device, const Error& error);

}  // namespace zenfs
