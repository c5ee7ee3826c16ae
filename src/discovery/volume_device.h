// Opens the device of a volume, also of one whose logs are on a second device.
#pragma once

#include <memory>

#include "backends/device_uri.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "discovery/known_devices.h"
#include "discovery/resolve.h"

namespace zenfs {

// Opens the device that `uri` names. If its superblock says that the logs of the volume
// are on a second device, opens that too and joins them (device/joined_device.h). The second device is that of the option
// waldev:URI. Otherwise it is looked for beside the first one, if both are files; under the name that mkfs knew; then among all
// known devices. A device without a readable superblock is opened alone, unless waldev names a device with logs.
//
// Only a device with the superblock of the same volume is taken. Without waldev, a copy of the first device does not lead to the
// log device of its original, the original does not lead to a copy of its log device, and both devices must have the same owner
// (DeviceOwner). The mount compares the keys of both (volume/pair_proof.h).
// Options that no backend knows are put into `unclaimed` (not null).
//
// Errors: those of OpenDevice. kNotFound if the second device is missing; the text names it and the first one.
// kInvalidArgument if waldev names a device that has not the logs of this volume, or if two devices have them. kPermission. kBusy if a name leads to another device than
// the one that was judged.
// Threads: any.
[[nodiscard]] Result<std::unique_ptr<ZonedDevice>> OpenVolumeDevice(
    const ResolvedUri& uri, OpenMode mode, DeviceOptions* unclaimed,
    const SearchPlaces& places = SearchPlaces::OfThisProcess());

// Removes waldev:URI from the options of `uri`. Errors: those of ParseDeviceUri.
[[nodiscard]] Result<std::optional<DeviceUri>> TakeLogDevice(DeviceUri& uri);

}  // namespace zenfs
