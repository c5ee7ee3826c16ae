// What the kernel says of a block device under /sys/dev/block and /sys/block. Asks for no permission at all.
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
  std::string name;  // the kernel's, as in /dev: "nvme0n1", "dm-0"
  bool partition = false;
  std::string disk;  // of a partition: the disk that it is on; else the same as `name`
  ZonedModel model = ZonedModel::kNotZoned;
  std::string hardware;         // vendor and model as the hardware gives them, "" where it gives none
  std::uint64_t size = 0;       // bytes
  std::uint64_t zone_size = 0;  // bytes; 0 if not zoned
  std::uint32_t zone_count = 0;
  // Zones; 0: no limit, or a kernel that does not say. Of a disk over others (device mapper, multipath heads), for which
  // older kernels say nothing: the lowest of theirs.
  std::uint32_t max_open = 0;
  std::uint32_t max_active = 0;
  // Unit of writes: queue/zone_write_granularity (Linux 5.12), else the physical block size. On SMR disks it is above
  // the logical block size (linux/blkzoned.h, ZBC: writes must end on physical blocks).
  std::uint32_t write_granularity = 4096;
  bool volatile_cache = true;  // queue/write_cache is not "write through"
  // The I/O scheduler in force and those to choose from; none and empty for devices that have no queue of requests
  // (device mapper, multipath heads).
  std::optional<std::string> scheduler;
  std::vector<std::string> schedulers;
  // Longest write that the kernel sends as one command, bytes.
  std::uint64_t longest_command = 0;
  // Devices that the device mapper made over it ("dm-0"): its bytes are theirs.
  std::vector<std::string> holders;
  // Tells the device from all others for as long as the host runs: its world wide name, else the kernel's sequence
  // number of disks, else the device number.
  std::string identity;
};

// Errors: kNotFound if the kernel knows no such block device. `sysfs` is for tests.
[[nodiscard]] Result<BlockFacts> ReadBlockFacts(dev_t device, const std::string& sysfs = "/sys");
[[nodiscard]] Result<BlockFacts> ReadBlockFacts(const std::string& name, const std::string& sysfs = "/sys");

// The whole disks that are zoned, by name, those left out that the kernel hides (single paths of a multipath NVMe
// drive). Empty on a host without any, or without /sys.
[[nodiscard]] std::vector<BlockFacts> ZonedBlockDevices(const std::string& sysfs = "/sys");

// Linux 6.10 and later keep the writes of a zone in order themselves (zone write plugging); before, only the scheduler
// mq-deadline does. `release` as uname(2) gives it: "6.1.0-56-amd64".
[[nodiscard]] bool KernelPlugsZoneWrites(const std::string& release);
[[nodiscard]] std::string KernelRelease();

// "none", "host-aware", "host-managed": the kernel's words.
[[nodiscard]] std::string_view ZonedModelName(ZonedModel model);

}  // namespace zenfs
