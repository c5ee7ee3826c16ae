// Counts the operations in progress on an object, so that closing it can wait for them.
//
//   Gate::Entry entry = gate_.Enter();  if (!entry) return Fail(kShutdown...);
//
// Threads: any. Entering takes one atomic addition.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/mutex.h"

namespace zenfs {

class Gate {
 public:
  class [[nodiscard]] Entry {
   public:
    Entry() = default;
    Entry(Entry&& other) noexcept : gate_(other.gate_) { other.gate_ = nullptr; }
    Entry& operator=(Entry&&) = delete;
    ~Entry() {
      if (gate_ != nullptr) gate_->Leave();
    }
    explicit operator bool() const { return gate_ != nullptr; }

   private:
    friend class Gate;
    explicit Entry(Gate* gate) : gate_(gate) {}
    Gate* gate_ = nullptr;
  };

  // Empty once Close has been called.
  Entry Enter() {
    if ((state_.fetch_add(1, std::memory_order_acquire) & kClosed) == 0) return Entry(this);
    Leave();
    return Entry();
  }

  // Refuses new entries and waits until all entries have left. Must not be called by a thread that holds an entry.
  void Close() EXCLUDES(mutex_) {
    state_.fetch_or(kClosed, std::memory_order_acq_rel);
    MutexLock lock(mutex_);
    while ((state_.load(std::memory_order_acquire) & ~kClosed) != 0) left_.Wait(mutex_);
  }
  bool closed() const { return (state_.load(std::memory_order_acquire) & kClosed) != 0; }

 private:
  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 63;

  void Leave() EXCLUDES(mutex_) {
    // Only a closing gate has a waiter. The lock orders this notification after the waiter's check.
    if (state_.fetch_sub(1, std::memory_order_acq_rel) == (kClosed | 1)) {
      MutexLock lock(mutex_);
      left_.NotifyAll();
    }
  }

  std::atomic<std::uint64_t> state_{0};
  Mutex mutex_{LockRank::kLeaf};
  CondVar left_;
};

}  // namespace zenfs
