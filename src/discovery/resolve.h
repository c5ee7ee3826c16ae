// From the UUID of a file system to the device that holds it.
#pragma once

#include "backends/device_uri.h"
#include "base/status.h"
#include "discovery/known_devices.h"

namespace zenfs {

// uuid:UUID becomes the URI of the known device that holds this ZenFS, with the same options; all else comes back as it
// is. Looks at one superblock a device.
//
// Errors: kInvalidArgument: no UUID, or two devices hold it (a copy), both named. kNotFound: none does; the text says at
// how many it looked, and what could not be read and why.
// Threads: any.
[[nodiscard]] Result<DeviceUri> ResolveUri(const DeviceUri& uri,
                                           const SearchPlaces& places = SearchPlaces::OfThisProcess());

}  // namespace zenfs
