// Checks in builds with assertions that each thread takes its locks in the order of base/lock_rank.h; a thread that does
// not ends the process. Other builds check nothing, and a Mutex has no rank then.
//
// A thread that tries a lock never waits for it, so TryLock may go against the order. What is locked afterwards is
// checked against it.
//
// Threads: HeldLocks belongs to one thread.
#pragma once

#include <array>
#include <cstddef>

#include "base/assert.h"
#include "base/lock_rank.h"

namespace zenfs {

// The ranked mutexes that one thread, or one simulated thread, holds.
class HeldLocks {
 public:
  // Ends the process if a mutex of `rank` must not be locked now.
  void CheckMayLock(LockRank rank) const;
  void Add(const void* mutex, LockRank rank);
  void Remove(const void* mutex);

 private:
  static constexpr std::size_t kMost = 16;
  struct Held {
    const void* mutex = nullptr;
    LockRank rank = LockRank::kUnranked;
  };
  std::array<Held, kMost> held_{};
  std::size_t count_ = 0;
};

// The place of one mutex in the order.
#if ZENFS_ASSERTIONS_RUN
class LockOrder {
 public:
  constexpr explicit LockOrder(LockRank rank) : rank_(rank) {}
  void BeforeLock() const;
  void Locked(const void* mutex) const;
  void Unlocked(const void* mutex) const;

 private:
  LockRank rank_;
};
#else
class LockOrder {
 public:
  constexpr explicit LockOrder(LockRank) {}
  void BeforeLock() const {}
  void Locked(const void*) const {}
  void Unlocked(const void*) const {}
};
#endif

}  // namespace zenfs
