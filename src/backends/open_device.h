// Opens the device that a URI names.
#pragma once

#include <memory>

#include "backends/device_uri.h"
#include "device/zoned_device.h"

namespace zenfs {

// Opens the device, checked by CheckDevice. Options that the backend does not know are put into
// `unclaimed` (not null); the caller handles or refuses them.
//
// dev:, nvme:, zonefs:
//        io:uring       data by io_uring if the kernel allows it (the default)
//        io:plain       data only by system calls
// dev:  commands:0     no NVMe commands (nvme/nvme_device.h)
//
// emu:  latency_us:N   every command takes N microseconds (at most 10 seconds)
//        write_us:N     the same for writes and appends; the later of the two options counts for them
//        flush_us:N     the same for flushes
//        timing:NAME    the times of a drive: none, zn540, bufferless, smr or smallzone (docs/use/timing.md); overrides the file's profile
//        copy_kib:N     copies inside the device, of at most N KiB (default 0: none)
//        page_cache:SIZE  what the modelled page cache of the host holds (emulator/page_cache_model.h), such as 512M; 0: nothing
//        hostsync       a flush is an fdatasync of the file
//
// Errors: kInvalidArgument for a bad value, otherwise those of the backend.
[[nodiscard]] Result<std::unique_ptr<ZonedDevice>> OpenDevice(const DeviceUri& uri, OpenMode mode,
                                                              DeviceOptions* unclaimed);

}  // namespace zenfs
