// A thread that its destructor joins. The owner must make the body return first.
//
// Errors: Start fails if the host can't start a thread (RLIMIT_NPROC, pids.max of a cgroup, memory). So callers set flags
// such as "running" only after Start has succeeded.
// The body must not throw: an exception ends the process.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/scheduler.h"
#include "base/status.h"

namespace zenfs {

class Thread {
 public:
  Thread() = default;
  // Runs `body` in a new thread. `top -H` shows the first 15 bytes of `name`.
  // Errors: kBusy with the limits to raise; the body does not run.
  [[nodiscard]] static Result<Thread> Start(const char* name, std::function<void()> body);
  // For tests only: throws std::runtime_error if the thread can't be started.
  Thread(const char* name, std::function<void()> body);
  ~Thread() { Join(); }
  Thread(Thread&&) noexcept = default;
  Thread& operator=(Thread&& other) noexcept {
    Join();
    handle_ = std::move(other.handle_);
    return *this;
  }

  // Waits for the body to return. Does nothing without a thread or after a join.
  void Join();
  bool joinable() const { return handle_ != nullptr; }

  // For tests: while set, the function is called before each start, from any thread. If it returns true, that start fails.
  using Refusal = bool (*)(const char* name);
  static void SetRefusal(Refusal refusal) { refusal_.store(refusal); }

 private:
  static inline std::atomic<Refusal> refusal_{nullptr};

  std::unique_ptr<Scheduler::ThreadHandle> handle_;
};

}  // namespace zenfs
