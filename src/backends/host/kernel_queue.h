// The IoQueue of the devices that the kernel drives. Commands go through an io_uring, or, where the kernel refuses
// one, are carried out one by one as they are submitted.
//
// Submit only puts a command into the submission ring; all of them start together at the next Reap, with one system
// call (device/zoned_device.h allows that).
#pragma once

#include <memory>

#include "backends/host/io_outcome.h"
#include "backends/host/ring_pool.h"
#include "device/zoned_device.h"

namespace zenfs {

// Where a request's bytes lie for the kernel.
struct IoPlace {
  int fd = -1;
  std::uint64_t offset = 0;              // bytes in the file or block device
  std::uint64_t longest = kLongestCall;  // bytes in one command
  std::shared_ptr<const void>
      keep;  // held until the request is done: what keeps `fd` open, if it may be closed
};

// The device behind a queue.
//
// Threads: called by the thread that has the queue.
class IoTarget {
 public:
  virtual ~IoTarget() = default;
  // Checks `request` as the synchronous call would; a queued append is the device's to refuse.
  [[nodiscard]] virtual Result<IoPlace> Place(const IoRequest& request) = 0;
  // The kernel has answered: the request's status. A short outcome is an error.
  [[nodiscard]] virtual Status Settle(const IoRequest& request, const IoOutcome& outcome) = 0;
};

// `target` and `rings` outlive the queue.
[[nodiscard]] std::unique_ptr<IoQueue> CreateKernelQueue(IoTarget& target, RingPool& rings,
                                                         std::size_t depth);

}  // namespace zenfs
