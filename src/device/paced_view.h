// Another device, read no faster than so many bytes a second: a read returns when it has had its time. All else goes
// through as it is, reads of queues too. Does not own the device, which must outlive it. Threads: as the device; each is
// paced by itself.
#pragma once

#include <cstdint>
#include <memory>

#include "device/zoned_device.h"

namespace zenfs {

// `bytes_per_second` 0: as fast as the device.
[[nodiscard]] std::unique_ptr<ZonedDevice> MakePacedView(ZonedDevice& device, std::uint64_t bytes_per_second);

}  // namespace zenfs
