// Tells whether this process is a child forked after an object was made. In such a child the project's
// threads do not exist and its locks may be held for ever, so every call must fail before it takes one.
//
// The first use registers a handler with pthread_atfork, so that checking costs one load instead of a system
// call.
#pragma once

#include <atomic>
#include <cstdint>

namespace zenfs {

class ForkGuard {
 public:
  ForkGuard();
  bool InChild() const { return generation_ != current_.load(std::memory_order_relaxed); }

 private:
  static void Forked() { current_.fetch_add(1, std::memory_order_relaxed); }
  static inline std::atomic<std::uint64_t> current_{0};
  std::uint64_t generation_;
};

}  // namespace zenfs
