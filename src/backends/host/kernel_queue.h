// The queues of the kernel's devices, and the io_uring instances that they use. If the kernel refuses one, each command is
// executed when it is submitted.
//
// Submit only puts a command into the submission ring. The next Reap starts all of them with one system call, which
// device/zoned_device.h allows.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/host/data_path.h"
#include "backends/host/plain_io.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "device/zoned_device.h"

struct io_uring;

namespace zenfs {

// The io_uring instances of a device. Creating one costs several system calls and mappings, so they
// are leased. At most kIdleLimit released rings are kept.
//
// Threads: safe from any thread; mutex_ is a leaf lock. A leased ring belongs to one thread at a
// time.
class RingPool {
 public:
  static constexpr std::size_t kIdleLimit = 16;
  static constexpr unsigned kDepthMax = 1024;

  // Releases a ring without commands in flight to the pool. If it still holds commands that the
  // kernel did not accept (RingStall), the ring is destroyed and the pool has no more rings.
  class Releaser {
   public:
    explicit Releaser(RingPool* pool = nullptr) : pool_(pool) {}
    void operator()(io_uring* ring) const;

   private:
    RingPool* pool_;
  };
  using Lease = std::unique_ptr<io_uring, Releaser>;  // must not outlive the pool

  enum class Use {
    kForbidden,  // never has a ring; by option of the user
    kAllowed,
    kNeeded,  // writes without a ring do harm, so they fail with EAGAIN
  };
  enum class Entries {
    kSmall,
    kBig,  // SQE128 and CQE32 (Linux 5.19), which NVMe passthrough needs
  };
  explicit RingPool(Use use = Use::kAllowed, Entries entries = Entries::kSmall)
      : needed_(use == Use::kNeeded),
        entries_(entries),
        forbidden_(use == Use::kForbidden),
        refused_(forbidden_) {}
  ~RingPool();
  RingPool(const RingPool&) = delete;
  RingPool& operator=(const RingPool&) = delete;

  // A ring for at least `depth` (at most kDepthMax) commands in flight; nullptr if the kernel
  // refuses io_uring. A refusal is final if io_uring is not built in or forbidden (seccomp,
  // kernel.io_uring_disabled), and temporary if descriptors or memory are short.
  [[nodiscard]] Lease Acquire(std::size_t depth);
  bool needed() const { return needed_; }
  // A line for the notices of `device` if rings are allowed and the kernel refuses them.
  [[nodiscard]] std::optional<std::string> Refusal(std::string_view device);

 private:
  struct Idle {
    io_uring* ring;
    unsigned depth;
  };

  Lease Leased(io_uring* ring);
  void Release(io_uring* ring);

  const bool needed_;
  const Entries entries_;
  const bool forbidden_;
  std::atomic<bool> refused_;
  std::atomic<int> refusal_{0};  // errno of the last refusal
  std::atomic<int> leased_{0};
  Mutex mutex_{LockRank::kDevicePool};
  std::vector<Idle> idle_ GUARDED_BY(mutex_);
};

// `notices` and, if there is one, the refusal of `rings`.
[[nodiscard]] std::vector<std::string> WithRefusal(std::vector<std::string> notices, RingPool& rings,
                                                   std::string_view device);

// Decides how long the kernel may answer "try again" to a command.
//
// A shortage of memory in the kernel passes. A system call that was forbidden after the ring was
// created stays forbidden.
class RingStall {
 public:
  static constexpr std::chrono::seconds kPatience{1};

  // Call it after an answer of -errno. Returns true if the call should be repeated a moment later.
  [[nodiscard]] bool TryAgain(int answer);

 private:
  std::optional<Deadline> until_;
};

// Like WritePlainly, but by a ring if there is one.
[[nodiscard]] IoOutcome WriteByRing(RingPool& rings, int fd, std::uint64_t offset,
                                    std::span<const ByteView> pieces, std::uint64_t longest = kLongestCall);

// Like ReadPlainly, but by a ring if there is one, so that the kernel plugs the block device: an I/O scheduler gets a read without a
// plug by a worker thread of the kernel, which costs as much processor time as the read itself.
[[nodiscard]] IoOutcome ReadByRing(RingPool& rings, int fd, std::uint64_t offset, ByteSpan into);

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
