// The I/O scheduler of a zoned disk: before zone write plugging (Linux 6.10) only mq-deadline keeps the writes of a zone
// in order.
//
// Threads: no state.
#pragma once

#include <string>
#include <string_view>

#include "backends/host/block_facts.h"
#include "base/status.h"

namespace zenfs {

inline constexpr std::string_view kOrderedScheduler = "mq-deadline";

// Whether writes of one zone reach the device in the order in which the kernel got them: on a kernel of `release`, with
// the scheduler in force. True where mq-deadline is not to be had (device mapper, multipath heads): nothing there puts
// them out of order but the cutting of long ones (LongestWrite).
[[nodiscard]] bool KeepsWritesInOrder(const BlockFacts& facts, const std::string& release = KernelRelease());

// kInvalidArgument, with the command that helps, where they may not. `device` is for the text.
[[nodiscard]] Status CheckWriteOrder(const std::string& device, const BlockFacts& facts,
                                     const std::string& release = KernelRelease());

// Longest write to send as one, bytes, a multiple of the write granularity: where neither the kernel nor mq-deadline
// keeps the pieces of a long write in order, so long that it is not cut.
[[nodiscard]] std::uint64_t LongestWrite(const BlockFacts& facts,
                                         const std::string& release = KernelRelease());

// What to type as root: "echo mq-deadline > /sys/block/nvme0n1/queue/scheduler".
[[nodiscard]] std::string SchedulerFix(const std::string& name);

// Puts `scheduler` in force for the disk `name`, until the host restarts. The kernel loads its module if it must.
// Errors: kNotFound: no such disk, or it has no scheduler. kPermission; kNotSupported: the kernel has no such scheduler.
[[nodiscard]] Status SetScheduler(const std::string& name, std::string_view scheduler,
                                  const std::string& sysfs = "/sys");

}  // namespace zenfs
