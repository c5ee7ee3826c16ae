// A zoned NVMe drive, addressed by commands instead of reads and writes of its block device, or beside them: commands alone
// have zone append and random write areas.
//
// The device is that of block/block_device.h: same zones, same offsets, same volume; a volume can be mounted by either in
// turn. Both hold the block device exclusively while they write, so they exclude each other and everybody else who opens
// it so. The scheduler does not matter: commands go around it.
//
// Permission: the kernel lets root send commands; from Linux 6.2 on also others who may write the character device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/block/block_device.h"
#include "backends/host/backend_option.h"
#include "device/zoned_device.h"

namespace zenfs {

struct NvmeOptions {
  bool io_uring = true;  // false: each command by ioctl(2)
};

// The options of an nvme: URI (host/backend_option.h).
[[nodiscard]] std::vector<OptionText> NvmeOptionTexts();
[[nodiscard]] Result<NvmeOptions> TakeNvmeOptions(const DeviceOptions& given, DeviceOptions* unclaimed);

// `node`: a path, or a name under /dev: "ng0n1".
// Errors: those of OpenBlockDevice; kInvalidArgument: not the character device of an NVMe namespace; kNotSupported: blocks
// with metadata.
[[nodiscard]] Result<std::unique_ptr<ZonedDevice>> OpenNvmeDevice(const std::string& node, OpenMode mode,
                                                                  const NvmeOptions& options);

// The block device `node` (OpenBlockDevice). If BlockOptions::commands is set, it is an NVMe namespace and its drive takes commands from this process, these
// do what the kernel's block device cannot: zone appends, random write areas, and writes to zones that have had one of
// these since their reset. Else a notice of the device says why; without it none is missing.
[[nodiscard]] Result<std::unique_ptr<ZonedDevice>> OpenBlockDeviceWithCommands(const std::string& node,
                                                                               OpenMode mode,
                                                                               const BlockOptions& options);

}  // namespace zenfs
