// The io_uring instances of a device. Making one costs several system calls and mappings, so they are lent and
// come back; at most kIdleLimit wait to be lent again.
//
// Threads: safe from any thread; mutex_ is a leaf lock. A lent ring belongs to one thread at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/host/io_outcome.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/mutex.h"

struct io_uring;

namespace zenfs {

class RingPool {
 public:
  static constexpr std::size_t kIdleLimit = 16;
  static constexpr unsigned kDepthMax = 1024;

  // Puts a ring with nothing in flight back. One that holds commands which the kernel did not take (RingStall) is
  // thrown away instead, and none is lent after it.
  class Return {
   public:
    explicit Return(RingPool* pool = nullptr) : pool_(pool) {}
    void operator()(io_uring* ring) const;

   private:
    RingPool* pool_;
  };
  using Lease = std::unique_ptr<io_uring, Return>;  // the pool outlives it

  enum class Use {
    kForbidden,  // never lends one, for callers that were told to do without
    kAllowed,
    kNeeded,  // writes by other means do harm: without a ring they fail with EAGAIN
  };
  explicit RingPool(Use use = Use::kAllowed)
      : needed_(use == Use::kNeeded), refused_(use == Use::kForbidden) {}
  ~RingPool();
  RingPool(const RingPool&) = delete;
  RingPool& operator=(const RingPool&) = delete;

  // A ring for at least `depth` (at most kDepthMax) commands in flight; nullptr where the kernel refuses io_uring: once
  // and for all if it is not built in or forbidden (seccomp, kernel.io_uring_disabled), this time only if the process
  // is short of descriptors or memory.
  [[nodiscard]] Lease Lend(std::size_t depth);
  bool needed() const { return needed_; }

 private:
  struct Idle {
    io_uring* ring;
    unsigned depth;
  };

  void TakeBack(io_uring* ring);

  const bool needed_;
  std::atomic<bool> refused_;
  Mutex mutex_;
  std::vector<Idle> idle_ GUARDED_BY(mutex_);
};

// How long the kernel may answer "try again" to a command without an end of it.
//
// A wait of the kernel's for memory passes; a system call that was forbidden after the ring was made does not.
class RingStall {
 public:
  static constexpr std::chrono::seconds kPatience{1};

  // After an answer of -errno: true if the same is to be tried again, a moment later.
  [[nodiscard]] bool TryAgain(int answer);

 private:
  std::optional<Deadline> until_;
};

// As WritePlainly, by a ring; where there is none plainly.
[[nodiscard]] IoOutcome WriteByRing(RingPool& rings, int fd, std::uint64_t offset,
                                    std::span<const ByteView> pieces, std::uint64_t longest = kLongestCall);

}  // namespace zenfs
