// A mounted zonefs (Linux Documentation/filesystems/zonefs.rst) as a zoned device: every file under seq/ is a zone.
//
// Zone i is the file seq/i. Conventional zones (cnv/) are left alone. The zone size is the largest capacity of a file,
// so that the same device has the same geometry wherever it is mounted, sysfs visible or not; offsets are ours.
//
//   report  size and mode of the files         reset   truncate to 0
//   open    open for writing                   finish  truncate to the capacity, or filled (below)
//   close   close what was open for writing    flush   fsync of the mount's block device through a zone file
//
// Limits of open and active zones: /sys/fs/zonefs (Linux 5.19), else kDefaultLimit of both. With the mount option
// explicit-open an open file is an open zone; the backend closes the one used longest ago when another is written and
// the limit is reached, as a drive does with implicitly opened zones.
//
// Reads must not wait behind a finish: zonefs holds the file's lock while it truncates, which takes a drive tens of
// milliseconds. A zone that was read lately is filled with zeros in short writes instead.
//
// Short writes are plain system calls, long ones go through io_uring, so that reads of the zone do not wait for them. On
// Linux 6.1, whose zonefs is broken for synchronous direct writes, all go through io_uring.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "device/zoned_device.h"

namespace zenfs {

struct ZonefsOptions {
  bool io_uring = true;  // false: preadv2 and pwritev2 alone
  std::size_t descriptors =
      256;  // bound of the cache of files open for reading; those for writing are bounded by the limits
};

struct ZonefsMount {
  std::string mountpoint;
  std::string source;  // "/dev/nvme0n1"
  dev_t device = 0;    // number of the block device, and of every file of the mount
  bool read_only = false;
  bool whole = true;  // false: one directory or file of the zonefs, bound to another place (into a container)
};

// The zonefs mounts that this process sees (/proc/self/mountinfo), in its order; none where there is no /proc. `file` is
// for tests.
[[nodiscard]] std::vector<ZonefsMount> ZonefsMounts(const std::string& file = "/proc/self/mountinfo");

// kExclusive takes an flock on the directory seq/: one holder on this host. Works without root where the mount's uid,
// gid and perm allow it. The device has a notice where the mount lacks explicit-open.
//
// Errors: kNotFound: no such directory. kInvalidArgument: no zonefs is mounted there, or it has no sequential zones.
// kReadOnly: mounted read-only and kExclusive asked for. kBusy: somebody has it. kPermission, naming the file.
[[nodiscard]] Result<std::unique_ptr<ZonedDevice>> OpenZonefs(const std::string& mountpoint, OpenMode mode,
                                                              const ZonefsOptions& options);

}  // namespace zenfs
