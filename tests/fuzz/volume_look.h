// What targets of whole volumes see of one.
#pragma once

#include <map>
#include <string>

#include "device/zoned_device.h"
#include "volume/volume.h"

namespace zenfs {

using VolumeContents = std::map<std::string, std::string>;  // by path; a directory ends with '/'

// In simulated time, with small buffers.
[[nodiscard]] MountOptions ImageMountOptions();

// Reads all that the volume lists, a part of each file.
[[nodiscard]] VolumeContents Look(Volume& volume);

// The first error that a check of the device finds, or why it can't check; empty if there is none.
[[nodiscard]] std::string FirstDamage(ZonedDevice& device, bool read_data);

}  // namespace zenfs
