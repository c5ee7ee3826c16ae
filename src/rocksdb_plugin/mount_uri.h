// Mounts the volume of a URI.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "volume/volume.h"

namespace zenfs {

// "zenfs://emu:/var/tmp/a.img?ro" -> the volume, shared with all users in this process who mounted
// the same device. Options that the device does not know are mount options
// (open/mount_options.h); an option that neither knows is an error, also if the device is mounted
// already. Errors: those of ParseDeviceUri, ResolveUri, OpenDevice, ParseMountOptions and
// MountShared. Threads: any.
[[nodiscard]] Result<std::shared_ptr<Volume>> MountUri(const std::string& uri);

}  // namespace zenfs
