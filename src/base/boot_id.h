// The current boot of the host. What is known of it ends with it: memory on a tmpfs, identities of devices.
#pragma once

#include <string>

namespace zenfs {

// The boot id of the running kernel (proc(5), /proc/sys/kernel/random/boot_id); "unknown" if it can't be read.
[[nodiscard]] std::string BootId();

}  // namespace zenfs
