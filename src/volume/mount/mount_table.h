// One mounted volume per device and process: a second mount of the same device returns the same Volume.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "volume/volume.h"

namespace zenfs {

// `key` is the canonical name of the device (backends: Canonical). The volume is unmounted when its last pointer is gone.
// Errors: those of `open` and Volume::Mount; kInvalidArgument if this process has mounted it with other options.
// Threads: any; concurrent mounts of one key wait for each other.
[[nodiscard]] Result<std::shared_ptr<Volume>> MountShared(
    const std::string& key, const MountOptions& options,
    const std::function<Result<std::unique_ptr<ZonedDevice>>()>& open);

}  // namespace zenfs
