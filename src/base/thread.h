// A thread of the project. Joined by its destructor, so it never outlives what it works on; the owner makes
// the body return first.
//
// Errors: the host may refuse a thread at any time (RLIMIT_NPROC, pids.max of a cgroup, memory). Start returns that as
// an error; a caller sets flags that promise work only once it has the thread.
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
  // Runs `body` in a new thread. `name` (at most 15 bytes are kept) is what `top -H` shows.
  // Errors: kBusy with the limits to raise; the body is not run then.
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

  // Waits for the body to return. Nothing if there is none, or it was joined already.
  void Join();
  bool joinable() const { return handle_ != nullptr; }

  // For tests: while a refusal is set it is asked before each start, from any thread; true makes that start fail.
  using Refusal = bool (*)(const char* name);
  static void SetRefusal(Refusal refusal) { refusal_.store(refusal); }

 private:
  static inline std::atomic<Refusal> refusal_{nullptr};

  std::unique_ptr<Scheduler::ThreadHandle> handle_;
};

}  // namespace zenfs
