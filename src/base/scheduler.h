// Interface between the project's threads, locks, waits and clocks and a simulator.
//
// In production no scheduler is installed, and base/mutex.h, thread.h and clock.h use the operating system; the check costs
// one load. A simulator installs a scheduler with its own deterministic order of threads and its own time, so that
// a seed reproduces a run exactly.
//
// Threads: Install must be called while no other thread of the project runs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace zenfs {

class HeldLocks;

class Scheduler {
 public:
  // Join returns when the body has returned. The owner of the thread calls it once.
  class ThreadHandle {
   public:
    virtual ~ThreadHandle() = default;
    virtual void Join() = 0;
  };

  virtual ~Scheduler() = default;

  // `mutex` and `condition` are identities only; the scheduler never dereferences them.
  virtual void Lock(const void* mutex) = 0;
  virtual bool TryLock(const void* mutex) = 0;
  virtual void Unlock(const void* mutex) = 0;
  // Releases `mutex`, waits for a notification or for `deadline` on this scheduler's clock, and takes `mutex` again. Returns
  // false if the deadline passed.
  virtual bool Wait(const void* condition, const void* mutex,
                    std::chrono::steady_clock::time_point deadline) = 0;
  virtual void Notify(const void* condition, bool all) = 0;
  // The ranked mutexes that the running thread holds (base/lock_order.h).
  virtual HeldLocks& Held() = 0;

  virtual std::unique_ptr<ThreadHandle> Start(std::function<void()> body) = 0;
  virtual void SleepUntil(std::chrono::steady_clock::time_point deadline) = 0;
  virtual std::chrono::steady_clock::time_point SteadyNow() = 0;
  virtual std::chrono::system_clock::time_point WallNow() = 0;
  virtual std::uint64_t RandomSeed() = 0;

  static Scheduler* Installed() { return installed_.load(std::memory_order_acquire); }
  // Does not take ownership. nullptr removes the installed scheduler.
  static void Install(Scheduler* scheduler) { installed_.store(scheduler, std::memory_order_release); }

 private:
  static inline std::atomic<Scheduler*> installed_{nullptr};
};

}  // namespace zenfs
