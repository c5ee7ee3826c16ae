// Detects that this process is a child forked after an object was constructed. In such a child the project's threads do not
// exist and its locks may be held forever, so every call must fail before it takes a lock.
//
// A handler of pthread_atfork counts forks, so the check is one load and no system call.
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
