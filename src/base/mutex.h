// Mutex, scoped lock and condition variable with support for Clang's thread-safety analysis and for a simulator's
// scheduler (base/scheduler.h).
//
// The rank of a Mutex is its place in the lock-order table of docs/internals/architecture.md, or a leaf: no other lock is
// taken while it is held. Builds with assertions check the order (base/lock_order.h).
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/clock.h"
#include "base/lock_order.h"
#include "base/thread_annotations.h"

namespace zenfs {

class CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  explicit Mutex(LockRank rank) : order_(rank) {}
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ACQUIRE();
  bool TryLock() TRY_ACQUIRE(true);
  void Unlock() RELEASE();
  // Tells the thread-safety analysis that the lock is held, in code that it cannot follow (callbacks).
  void AssertHeld() const ASSERT_CAPABILITY(this) {}

 private:
  friend class CondVar;
  std::mutex mutex_;
  [[no_unique_address]] LockOrder order_{LockRank::kUnranked};
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex), held_(true) { mutex_.Lock(); }
  ~MutexLock() RELEASE() {
    if (held_) mutex_.Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  // Releases the lock for a part of the scope.
  void Unlock() RELEASE() {
    held_ = false;
    mutex_.Unlock();
  }
  void Lock() ACQUIRE() {
    mutex_.Lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_;
};

class CondVar {
 public:
  // Releases `mutex` while waiting. May return without a notification, so callers must loop on their condition.
  void Wait(Mutex& mutex) REQUIRES(mutex);
  // Returns false when the deadline passed.
  [[nodiscard]] bool WaitUntil(Mutex& mutex, Deadline deadline) REQUIRES(mutex);
  void NotifyOne();
  void NotifyAll();

 private:
  bool WaitUnlocked(Mutex& mutex, Deadline deadline) REQUIRES(mutex);

  std::condition_variable condition_;
};

}  // namespace zenfs
