// In builds with assertions, checks that each thread takes its locks in the order of base/lock_rank.h. A violation aborts
// the process. In other builds, a Mutex stores no rank and nothing is checked.
//
// TryLock never waits, so it may violate the order. Later locks are checked against the mutex that it locked.
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
  // Aborts the process if a mutex of `rank` must not be locked now.
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

// The rank of one mutex.
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
