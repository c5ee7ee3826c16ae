// What a device can do that only commands of its drive do: zone appends, copies and random write areas.
#pragma once

#include <string>

#include "backends/nvme/namespace_facts.h"
#include "backends/nvme/nvme_path.h"
#include "device/geometry.h"

namespace zenfs {

// Adds it to `geometry`, whose block size may be several logical blocks of the drive. `path`: for messages. Errors:
// kCorruption if the drive and the kernel have different zones.
[[nodiscard]] Status AddCommandLimits(const std::string& path, const NamespaceFacts& facts,
                                      const NvmePath& commands, Geometry& geometry);

}  // namespace zenfs
