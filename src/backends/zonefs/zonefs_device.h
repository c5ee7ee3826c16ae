// A mounted zonefs (Linux Documentation/filesystems/zonefs.rst) as a zoned device: every file under
// seq/ is a zone.
//
// Zone i is the file seq/i. Conventional zones (cnv/) are ignored. The zone size is the largest
// capacity of a file, so that a device has the same geometry wherever it is mounted, with sysfs or
// without. Offsets are computed from it.
//
//    report  size and mode of the files         reset   truncate to 0
//    open    open for writing                   finish  truncate to the capacity, or fill (below)
//    close   close the file for writing         flush   fsync of the mount's block device through a zone file
//
// Limits of open and active zones: from /sys/fs/zonefs (Linux 5.19), otherwise
// ZonefsLimits::kDefault for both. With the mount option explicit-open an open file is an open
// zone. At the limit, the backend closes the least recently used one when another is written, as a
// drive does with implicitly opened zones.
//
// Reads must not wait for a finish: zonefs holds the lock of the file during the truncation, which
// takes a drive tens of milliseconds. A recently read zone is therefore filled with zeros in short
// writes.
//
// Short writes are plain system calls. Long ones go through io_uring, so that reads of the zone do
// not wait for them. On Linux 6.1, whose zonefs is broken for synchronous direct writes, all writes
// go through io_uring.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/host/backend_option.h"
#include "device/zoned_device.h"

namespace zenfs {

struct ZonefsOptions {
  bool io_uring = true;  // false: only preadv2 and pwritev2
};

// The options of a zonefs: URI (host/backend_option.h).
[[nodiscard]] std::vector<OptionText> ZonefsOptionTexts();
[[nodiscard]] Result<ZonefsOptions> TakeZonefsOptions(const DeviceOptions& given, DeviceOptions* unclaimed);

// kExclusive takes an flock on the directory seq/: one holder per host. Needs no root if the
// mount's uid, gid and perm allow it. The device has a notice if the mount lacks explicit-open.
//
// Errors: kNotFound: no such directory. kInvalidArgument: not a zonefs, or it has no sequential
// zones. kReadOnly: mounted read-only, and kExclusive was requested. kBusy: in use. kPermission,
// naming the file.
[[nodiscard]] Result<std::unique_ptr<ZonedDevice>> OpenZonefs(const std::string& mountpoint, OpenMode mode,
                                                              const ZonefsOptions& options);

}  // namespace zenfs
