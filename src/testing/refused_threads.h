// While the object lives, the host refuses threads: from the `first`-th start on, `times` in all.
// Threads: one object at a time; threads may be started from anywhere.
#pragma once

#include <atomic>
#include <limits>

#include "base/thread.h"

namespace zenfs {

class RefusedThreads {
 public:
  static constexpr int kForEver = std::numeric_limits<int>::max();

  explicit RefusedThreads(int first, int times = 1) {
    started_ = 0;
    first_ = first;
    times_ = times;
    Thread::SetRefusal([](const char*) {
      const int number = ++started_;
      return number >= first_ && number - first_ < times_;
    });
  }
  ~RefusedThreads() { Thread::SetRefusal(nullptr); }
  RefusedThreads(const RefusedThreads&) = delete;
  RefusedThreads& operator=(const RefusedThreads&) = delete;

  // True after a thread was refused.
  static bool happened() { return started_ >= first_; }

 private:
  static inline std::atomic<int> started_ = 0;
  static inline std::atomic<int> first_ = 0;
  static inline std::atomic<int> times_ = 0;
};

}  // namespace zenfs
