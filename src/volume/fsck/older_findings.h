// What check and scrub say of a volume of the older ZenFS (metalog/older_log.h) besides the findings about its files.
//
// Threads: functions on values.
#pragma once

#include <vector>

#include "device/zoned_device.h"
#include "format/superblock.h"
#include "metalog/older_log.h"
#include "volume/fsck/finding.h"

namespace zenfs {

// Adds a note about the format, an error for each flaw that may be a loss, and a note for each other one.
void AddOlderFindings(const ZonedDevice& device, const Superblock& superblock,
                      const std::vector<OlderFlaw>& flaws, Findings& findings);

}  // namespace zenfs
