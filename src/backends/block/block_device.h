// A zoned block device of the kernel: NVMe ZNS drive, SMR disk, null_blk, or a device mapper target
// over one of them. libzbd or the kernel's ioctls manage the zones (block/zone_control.h); data
// goes through O_DIRECT reads and writes and io_uring. There is no zone append: the kernel does not
// offer it to user space on a block device.
//
// The zones are those of the device, conventional zones included, at the offsets of the device.
//
// Order of writes: at most one write per zone is in flight (device/zoned_device.h). The kernel may
// split a long write into several commands; host/io_scheduler.h says when these stay in order, and
// which devices are refused.
//
// After a failed write, the report of the zone decides the result. If all bytes may be on the
// device (the driver repeated a command that had succeeded, device-assumptions 5), they are read
// back and compared, and equal bytes mean success. Otherwise the zone is full, read-only or
// offline, or nothing was written. If nothing was written, and the kernel keeps write pointers of
// its own, the write is sent once more (host/failed_write.h, WasRefusedUnwritten).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/host/backend_option.h"
#include "device/zoned_device.h"

namespace zenfs {

struct BlockOptions {
  bool io_uring = true;  // false: only preadv2 and pwritev2
  bool commands = true;  // false: no NVMe commands beside the kernel's calls (nvme/nvme_device.h)
};

// The options of a dev: URI (host/backend_option.h).
[[nodiscard]] std::vector<OptionText> BlockOptionTexts();
[[nodiscard]] Result<BlockOptions> TakeBlockOptions(const DeviceOptions& given, DeviceOptions* unclaimed);

// `node` is a path, or a name under /dev. kExclusive opens with O_EXCL: nobody else on this host
// can mount or map the device or open it in the same way meanwhile. kReadOnly needs only permission
// to read.
//
// Errors: kNotFound: no such device. kInvalidArgument: not a block device, a partition, not zoned,
// host-aware, or a scheduler that does not keep writes in order (the text has the fix). kBusy: in
// use. kPermission.
[[nodiscard]] Result<std::unique_ptr<ZonedDevice>> OpenBlockDevice(const std::string& node, OpenMode mode,
                                                                   const BlockOptions& options);

// "/dev/nvme0n1" for "nvme0n1", "mapper/x" and "/dev/nvme0n1"; resolves symbolic links if the node
// exists.
[[nodiscard]] std::string BlockNodePath(const std::string& node);

}  // namespace zenfs
