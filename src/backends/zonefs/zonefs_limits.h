// How many zones of a zonefs may be open and active, from /sys/fs/zonefs (Linux 5.19).
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/host/block_facts.h"

namespace zenfs {

struct ZonefsLimits {
  // Assumed if neither limit is known: no zoned drive known to us allows fewer. If it is too high,
  // writes fail and do no harm.
  static constexpr std::uint32_t kDefault = 14;

  std::uint32_t max_open = kDefault;  // zones; 0: no limit
  std::uint32_t max_active = kDefault;
  bool known = false;
  bool kept_by_zonefs = true;  // false: zonefs has no limits and ignores explicit-open
};

// Reads the limits from zonefs, otherwise from `facts` of the block device (nullptr: unknown),
// otherwise the default. `disk`: the kernel's name of the block device, "nvme0n1". Tests pass
// another `sysfs`.
[[nodiscard]] ZonefsLimits ReadZonefsLimits(const std::string& disk, const BlockFacts* facts,
                                            const std::string& sysfs = "/sys");

// The number of zone files that zonefs counts as active now: partly written, or open for writing
// with the mount option explicit-open. Nothing if the kernel does not report it.
[[nodiscard]] std::optional<std::uint32_t> ActiveZoneFiles(const std::string& disk,
                                                           const std::string& sysfs = "/sys");

}  // namespace zenfs
