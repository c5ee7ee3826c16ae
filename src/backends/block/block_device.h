// A zoned block device of the kernel's: NVMe ZNS drive, SMR disk, null_blk, device mapper over one of them. Zones are
// managed by libzbd or the kernel's ioctls (block/zone_control.h); data goes through O_DIRECT reads and writes and
// io_uring. Offers no zone append: the kernel has none for user space on a block device.
//
// The zones are those of the device, conventional ones included, at the device's own offsets.
//
// Order of writes: one write of a zone is under way at a time (device/zoned_device.h). The kernel may cut a long one
// into several commands; host/io_scheduler.h says when those stay in order, and what is refused.
//
// A write that fails is settled before it is reported: the zone's report tells whether the device has it after all (a
// command that the driver repeated, device-assumptions 5: then it is read back, compared, and a success), the zone is
// full, read-only or offline, or nothing of it is there.
#pragma once

#include <memory>
#include <string>

#include "device/zoned_device.h"

namespace zenfs {

struct BlockOptions {
  enum class ZoneCommands { kDefault, kLibzbd, kIoctl };
  ZoneCommands zone_commands = ZoneCommands::kDefault;  // kDefault: libzbd where it was built in
  bool io_uring = true;                                 // false: preadv2 and pwritev2 alone
};

// `node` is a path, or a name under /dev. kExclusive opens with O_EXCL: nobody on this host who does the same, mounts it
// or maps it can have it meanwhile. kReadOnly asks for read permission only.
//
// Errors: kNotFound: no such device. kInvalidArgument, each naming what the device is: not a block device, a partition,
// not zoned, host-aware; a scheduler that does not keep writes in order (the text has the fix). kBusy: somebody has it.
// kPermission. kNotSupported: libzbd was asked for and not built in.
[[nodiscard]] Result<std::unique_ptr<ZonedDevice>> OpenBlockDevice(const std::string& node, OpenMode mode,
                                                                   const BlockOptions& options);

// "/dev/nvme0n1" for "nvme0n1", "mapper/x" and "/dev/nvme0n1"; symbolic links resolved where it exists.
[[nodiscard]] std::string BlockNodePath(const std::string& node);

}  // namespace zenfs
