// A thread of the project. Joined by its destructor, so it never outlives what it works on; the owner makes
// the body return first.
#pragma once

#include <functional>
#include <memory>

#include "base/scheduler.h"

namespace zenfs {

class Thread {
 public:
  Thread() = default;
  // `name` (at most 15 bytes are kept) is what `top -H` shows.
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

 private:
  std::unique_ptr<Scheduler::ThreadHandle> handle_;
};

}  // namespace zenfs
