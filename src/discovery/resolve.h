// Finds the device with the file system of a UUID.
#pragma once

#include "backends/device_uri.h"
#include "base/status.h"
#include "discovery/known_devices.h"

namespace zenfs {

// Replaces uuid:UUID by the URI of the known device that holds this ZenFS, with the same options;
// returns all other URIs unchanged. Reads one superblock per device.
//
// Errors: kInvalidArgument: not a UUID, or two devices hold it (a copy); the text names both.
// kNotFound: none does; the text has the number of devices read, and those that could not be read
// with the reason. Threads: any.
[[nodiscard]] Result<DeviceUri> ResolveUri(const DeviceUri& uri,
                                           const SearchPlaces& places = SearchPlaces::OfThisProcess());

}  // namespace zenfs
