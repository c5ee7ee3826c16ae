// Converts the kernel's numbers for zone types and conditions (linux/blkzoned.h, also used by
// libzbd) to ours.
#pragma once

#include <cstdint>

#include "backends/block/zone_control.h"

namespace zenfs {

struct KernelZone {
  std::uint64_t start = 0;  // in bytes, like the other members
  std::uint64_t length = 0;
  std::uint64_t capacity = 0;
  std::uint64_t write_pointer = 0;
  unsigned type = 0;
  unsigned condition = 0;
  bool random_area = false;  // only the drive tells it, not the kernel
};

// An unknown condition counts as offline, so that the zone is neither read nor written.
[[nodiscard]] ReportedZone FromKernel(const KernelZone& zone);

}  // namespace zenfs
