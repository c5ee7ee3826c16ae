// Reads facts about a block device from /sys/dev/block and /sys/block. Needs no permissions.
//
// Threads: no state.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace zenfs {

enum class ZonedModel { kNotZoned, kHostAware, kHostManaged };

struct BlockFacts {
  std::string name;  // kernel name, as in /dev: "nvme0n1", "dm-0"
  bool partition = false;
  std::string disk;  // partitions: name of the disk; otherwise the same as `name`
  ZonedModel model = ZonedModel::kNotZoned;
  std::string hardware;         // vendor and model from the hardware; "" if unknown
  std::uint64_t size = 0;       // bytes
  std::uint64_t zone_size = 0;  // bytes; 0 if not zoned
  std::uint32_t zone_count = 0;
  // Number of zones; 0: no limit, or not reported by the kernel. For a disk over others (device
  // mapper, multipath heads), for which older kernels report nothing: the lowest limit of the disks
  // below.
  std::uint32_t max_open = 0;
  std::uint32_t max_active = 0;
  // Unit of writes: queue/zone_write_granularity (Linux 5.12), otherwise the physical block size.
  // On SMR disks it is larger than the logical block size (linux/blkzoned.h, ZBC: writes must end
  // on physical blocks).
  std::uint32_t write_granularity = 4096;
  bool volatile_cache = true;  // queue/write_cache is not "write through"
  // The active I/O scheduler and the available ones. None and empty for devices without a request
  // queue (device mapper, multipath heads).
  std::optional<std::string> scheduler;
  std::vector<std::string> schedulers;
  // Longest write that the kernel sends as one command, in bytes.
  std::uint64_t longest_command = 0;
  // Device mapper devices on top of this one ("dm-0"), which own its data.
  std::vector<std::string> holders;
  // Identifies the device as long as the host runs: its world wide name, otherwise the kernel's
  // sequence number of the disk, otherwise the device number.
  std::string identity;
};

// Errors: kNotFound if the kernel has no such block device. Tests pass another `sysfs`.
[[nodiscard]] Result<BlockFacts> ReadBlockFacts(dev_t device, const std::string& sysfs = "/sys");
[[nodiscard]] Result<BlockFacts> ReadBlockFacts(const std::string& name, const std::string& sysfs = "/sys");

// All zoned disks, by name, without those that the kernel hides (single paths of a multipath NVMe
// drive). No partitions. Empty if the host has none, or has no /sys.
[[nodiscard]] std::vector<BlockFacts> ZonedBlockDevices(const std::string& sysfs = "/sys");

// Linux 6.10 and later keep the writes of a zone in order themselves (zone write plugging). Before
// that, only the scheduler mq-deadline does. `release` is from uname(2): "6.1.0-56-amd64".
[[nodiscard]] bool KernelPlugsZoneWrites(const std::string& release);
[[nodiscard]] std::string KernelRelease();

// The kernel's words: "none", "host-aware", "host-managed".
[[nodiscard]] std::string_view ZonedModelName(ZonedModel model);

}  // namespace zenfs
