// The io_uring instances of a device. Making one costs several system calls and mappings, so they are lent and
// come back; at most kIdleLimit wait to be lent again.
//
// Threads: safe from any thread; mutex_ is a leaf lock. A lent ring belongs to one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "backends/host/io_outcome.h"
#include "base/bytes.h"
#include "base/mutex.h"

struct io_uring;

namespace zenfs {

class RingPool {
 public:
  static constexpr std::size_t kIdleLimit = 16;
  static constexpr unsigned kDepthMax = 1024;

  // Puts a ring with nothing in flight back.
  class Return {
   public:
    explicit Return(RingPool* pool = nullptr) : pool_(pool) {}
    void operator()(io_uring* ring) const;

   private:
    RingPool* pool_;
  };
  using Lease = std::unique_ptr<io_uring, Return>;  // the pool outlives it

  // `allowed` false: never lends one, for callers that were told to do without.
  explicit RingPool(bool allowed = true) : refused_(!allowed) {}
  ~RingPool();
  RingPool(const RingPool&) = delete;
  RingPool& operator=(const RingPool&) = delete;

  // A ring for at least `depth` (at most kDepthMax) commands in flight; nullptr where the kernel refuses io_uring
  // (not built in, forbidden by seccomp or kernel.io_uring_disabled, out of memory), once and for all.
  [[nodiscard]] Lease Lend(std::size_t depth);

 private:
  struct Idle {
    io_uring* ring;
    unsigned depth;
  };

  void TakeBack(io_uring* ring);

  std::atomic<bool> refused_;
  Mutex mutex_;
  std::vector<Idle> idle_ GUARDED_BY(mutex_);
};

// As WritePlainly, by a ring; plainly where there is none.
[[nodiscard]] IoOutcome WriteByRing(RingPool& rings, int fd, std::uint64_t offset,
                                    std::span<const ByteView> pieces, std::uint64_t longest = kLongestCall);

}  // namespace zenfs
