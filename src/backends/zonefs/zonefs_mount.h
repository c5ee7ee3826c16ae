// What the host says of a mount of zonefs: the table of mounts, the limits of open and active zones, and whether it was mounted
// with explicit-open.
//
// Threads: no state.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backends/host/block_facts.h"
#include "backends/zonefs/zone_files.h"

namespace zenfs {

struct ZonefsMount {
  std::string mountpoint;
  std::string source;  // "/dev/nvme0n1"
  dev_t device = 0;    // number of the block device; st_dev of every file of the mount
  bool read_only = false;
  bool whole = true;  // false: a bind mount of one directory or file of the zonefs
};

// The zonefs mounts that this process sees (/proc/self/mountinfo), in that order; none without
// /proc. Tests pass another `file`.
[[nodiscard]] std::vector<ZonefsMount> ZonefsMounts(const std::string& file = "/proc/self/mountinfo");

// How many zones of a zonefs may be open and active, from /sys/fs/zonefs (Linux 5.19).
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

// Returns the number of active zone files (ActiveZoneFiles).
using ActiveCount = std::function<std::optional<std::uint32_t>()>;

// Finds out whether the zonefs was mounted with the option explicit-open, which /proc/mounts does not show: opens an empty
// zone for writing and checks whether zonefs counts it as active; it does so only with explicit-open. The zone is empty and
// closed again on return. Returns nothing if the test is
// impossible: no count, no empty zone, or `max_active` zones are active already (0: no limit).
[[nodiscard]] std::optional<bool> IsExplicitOpen(const ZoneFiles& files, const ActiveCount& active,
                                                 std::uint32_t max_active);

}  // namespace zenfs
