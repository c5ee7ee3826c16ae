// What the openings of a block device by its node and by NVMe commands have in common.
#pragma once

#include <string>
#include <vector>

#include "backends/block/zone_control.h"
#include "backends/host/block_facts.h"
#include "base/status.h"
#include "device/zoned_device.h"

namespace zenfs {

// kInvalidArgument unless the device is a whole host-managed disk: only those enforce the rules that the layers above rely
// on.
[[nodiscard]] Status CheckModel(const std::string& path, const BlockFacts& facts);

// The error for open(2) of the device's node, with who uses the device, or how to get the permission.
[[nodiscard]] Status OpenError(int error, const std::string& path, const BlockFacts& facts, OpenMode mode);

// Errors: kCorruption if the zones are not where the kernel's zone size puts them; kInvalidArgument for zones of a
// host-aware disk.
[[nodiscard]] Result<Geometry> CheckedGeometry(const std::string& path, const BlockFacts& facts,
                                               const std::vector<ReportedZone>& zones);

}  // namespace zenfs
