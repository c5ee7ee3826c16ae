// Opens the device that a URI names.
#pragma once

#include <memory>

#include "backends/device_uri.h"
#include "device/zoned_device.h"

namespace zenfs {

// The device, held to its word by CheckDevice. Options that the backend knows are taken; all others are put
// into `unclaimed` (not null), for the caller to know or to refuse.
//
// dev:, zonefs:
//       io:uring       data by io_uring where the kernel allows it (the default)
//       io:plain       data by preadv2(2) and pwritev2(2) alone
//
// emu:  latency_us:N   every command takes N microseconds (at most 10 seconds)
//       write_us:N     the same for writes and appends alone; the later of the two options counts for them
//       flush_us:N     the same for flushes
//       timing:NAME    the times of a drive: none, zn540 or bufferless (docs/use/timing.md), whatever the file asks for
//       hostsync       a flush is an fdatasync of the file
//
// Errors: kInvalidArgument for a bad value, else those of the backend.
[[nodiscard]] Result<std::unique_ptr<ZonedDevice>> OpenDevice(const DeviceUri& uri, OpenMode mode,
                                                              DeviceOptions* unclaimed);

}  // namespace zenfs
