// The I/O scheduler of a zoned disk. Before zone write plugging (Linux 6.10), only mq-deadline
// keeps the writes of a zone in order.
//
// Threads: no state.
#pragma once

#include <string>
#include <string_view>

#include "backends/host/block_facts.h"
#include "base/status.h"

namespace zenfs {

inline constexpr std::string_view kOrderedScheduler = "mq-deadline";

// True if writes of one zone reach the device in the order in which the kernel got them, with this
// kernel `release` and the active scheduler. Also true if mq-deadline is not available (device
// mapper, multipath heads): there, only the splitting of long writes changes the order
// (LongestWrite).
[[nodiscard]] bool KeepsWritesInOrder(const BlockFacts& facts, const std::string& release = KernelRelease());

// Returns kInvalidArgument, with the command that helps, if writes may be reordered. `device` is
// for the text.
[[nodiscard]] Status CheckWriteOrder(const std::string& device, const BlockFacts& facts,
                                     const std::string& release = KernelRelease());

// Longest write to send as one, in bytes; a multiple of the write granularity. If neither the
// kernel nor mq-deadline keeps the pieces of a split write in order, it is short enough not to be
// split.
[[nodiscard]] std::uint64_t LongestWrite(const BlockFacts& facts,
                                         const std::string& release = KernelRelease());

// The command to run as root: "echo mq-deadline > /sys/block/nvme0n1/queue/scheduler".
[[nodiscard]] std::string SchedulerFix(const std::string& name);

// Activates `scheduler` for the disk `name`, until the host restarts. The kernel loads its module
// if needed. Errors: kNotFound: no such disk, or it has no scheduler. kPermission. kNotSupported:
// the kernel has no such scheduler.
[[nodiscard]] Status SetScheduler(const std::string& name, std::string_view scheduler,
                                  const std::string& sysfs = "/sys");

}  // namespace zenfs
