// Zone management by NVMe commands: Zone Management Send and Zone Management Receive (Zoned Namespace Command Set).
#pragma once

#include <memory>

#include "backends/block/zone_control.h"
#include "backends/nvme/nvme_namespace.h"

namespace zenfs {

// `block_device`: the open block device of the namespace.
[[nodiscard]] std::unique_ptr<ZoneControl> ControlByCommands(std::shared_ptr<const NvmeNamespace> name_space,
                                                             UniqueFd block_device);

}  // namespace zenfs
