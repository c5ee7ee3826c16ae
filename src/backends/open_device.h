// Opens the device that a URI names.
#pragma once

#include <memory>
#include <string>

#include "backends/device_uri.h"
#include "device/zoned_device.h"

namespace zenfs {

// Opens the device, checked by CheckDevice. Options that its backend does not list are put into `unclaimed` (not null); the
// caller handles or refuses them. Errors: kInvalidArgument for a bad value, otherwise those of the backend.
[[nodiscard]] Result<std::unique_ptr<ZonedDevice>> OpenDevice(const DeviceUri& uri, OpenMode mode,
                                                              DeviceOptions* unclaimed);

// The options of all backends, for a message that lists those of a mount: "dev: also commands:0; emu: also hostsync".
[[nodiscard]] std::string DeviceOptionForms();

}  // namespace zenfs
