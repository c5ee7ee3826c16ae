// Reads a volume, for targets of whole volumes.
#pragma once

#include <map>
#include <string>

#include "device/zoned_device.h"
#include "volume/volume.h"

namespace zenfs {

using VolumeContents = std::map<std::string, std::string>;  // by path; a directory ends with '/'

// Mount options for simulated time, with small buffers.
[[nodiscard]] MountOptions ImageMountOptions();
// Mounts a device, or the two that it is split into (testing/split_device.h).
[[nodiscard]] Result<std::shared_ptr<Volume>> MountImage(ZonedDevice& device, OpenMode mode);

// Lists the volume and reads a part of each file.
[[nodiscard]] VolumeContents Look(Volume& volume);

// The first error of a check of the device, or the reason why it can't be checked; empty if there is none. Damage of shared
// memory is none of the device, and an offline log zone has no known damage.
[[nodiscard]] std::string FirstDamage(ZonedDevice& device, bool read_data);

}  // namespace zenfs
