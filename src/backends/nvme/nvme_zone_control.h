// Zone management by NVMe commands: Zone Management Send and Zone Management Receive (Zoned Namespace Command Set).
#pragma once

#include <memory>

#include "backends/block/zone_control.h"
#include "backends/nvme/nvme_namespace.h"

namespace zenfs {

// `block_device`: the open block device of the namespace.
[[nodiscard]] std::unique_ptr<ZoneControl> ControlByCommands(std::shared_ptr<const NvmeNamespace> name_space,
                                                             UniqueFd block_device);

// Zones are managed by `kernel`, which may keep write pointers of its own; the drive is asked only for random write areas,
// which the kernel does not know.
[[nodiscard]] std::unique_ptr<ZoneControl> ControlBesideKernel(
    std::unique_ptr<ZoneControl> kernel, std::shared_ptr<const NvmeNamespace> name_space);

}  // namespace zenfs
