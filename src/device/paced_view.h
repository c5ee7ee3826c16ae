// Limits the rate of reads: each read takes at least its length divided by the rate. Forwards everything else unchanged,
// including reads of queues. Does not own the device, which must outlive it. Threads: as the device; each thread has its
// own limit.
#pragma once

#include <cstdint>
#include <memory>

#include "device/zoned_device.h"

namespace zenfs {

// `bytes_per_second` 0: no limit.
[[nodiscard]] std::unique_ptr<ZonedDevice> MakePacedView(ZonedDevice& device, std::uint64_t bytes_per_second);

}  // namespace zenfs
