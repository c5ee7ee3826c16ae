// The IoQueue for devices of the kernel. Commands go through an io_uring. If the kernel refuses
// one, each command is executed when it is submitted.
//
// Submit only puts a command into the submission ring. The next Reap starts all of them with one
// system call, which device/zoned_device.h allows.
#pragma once

#include <memory>

#include "backends/host/ring_commands.h"
#include "backends/host/ring_pool.h"
#include "device/zoned_device.h"

namespace zenfs {

// The device behind a queue.
//
// Threads: called by the thread that uses the queue.
class IoTarget {
 public:
  virtual ~IoTarget() = default;
  // Checks `request` as the synchronous call would. The device refuses queued appends if it does
  // not support them.
  [[nodiscard]] virtual Result<IoPlace> Place(const IoRequest& request) = 0;
  // Returns the status of a request after the kernel's answer. A short outcome is an error.
  [[nodiscard]] virtual Status Settle(const IoRequest& request, const IoOutcome& outcome) = 0;
};

// `target` and `rings` must outlive the queue.
[[nodiscard]] std::unique_ptr<IoQueue> CreateKernelQueue(IoTarget& target, RingPool& rings,
                                                         std::size_t depth);

}  // namespace zenfs
