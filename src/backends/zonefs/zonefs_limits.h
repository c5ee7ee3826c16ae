// How many zones may be open and active, as the kernel tells it of a zonefs under /sys/fs/zonefs (Linux 5.19).
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/host/block_facts.h"

namespace zenfs {

struct ZonefsLimits {
  // Assumed of both where nobody tells: no zoned drive known to us allows fewer, and more would do no harm but to fail.
  static constexpr std::uint32_t kDefault = 14;

  std::uint32_t max_open = kDefault;  // zones; 0: no limit
  std::uint32_t max_active = kDefault;
  bool known = false;
  bool kept_by_zonefs = true;  // false: zonefs knows of none, and so ignores explicit-open
};

// From zonefs itself, else from `facts` of the block device (nullptr: none could be read), else the default. `disk` is
// the kernel's name of the block device, "nvme0n1"; `sysfs` is for tests.
[[nodiscard]] ZonefsLimits ReadZonefsLimits(const std::string& disk, const BlockFacts* facts,
                                            const std::string& sysfs = "/sys");

// Zone files that zonefs counts as active now: written in part, or open for writing under the mount option
// explicit-open. Nothing where the kernel does not tell.
[[nodiscard]] std::optional<std::uint32_t> ActiveZoneFiles(const std::string& disk,
                                                           const std::string& sysfs = "/sys");

}  // namespace zenfs
