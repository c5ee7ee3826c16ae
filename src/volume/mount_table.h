// One mounted volume per device and process: whoever mounts the same device a second time gets the same
// Volume.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "volume/volume.h"

namespace zenfs {

// `key` names the device in one spelling (backends: Canonical). The volume lives as long as someone holds it.
// Errors: those of `open` and Volume::Mount; kInvalidArgument when it is mounted here with other options.
// Threads: any; concurrent mounts of one key wait for one another.
[[nodiscard]] Result<std::shared_ptr<Volume>> MountShared(
    const std::string& key, const MountOptions& options,
    const std::function<Result<std::unique_ptr<ZonedDevice>>()>& open);

}  // namespace zenfs
