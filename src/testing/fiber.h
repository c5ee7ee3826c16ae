// A separate stack that runs on the calling thread until it switches away. The simulated threads of
// testing/sim_scheduler.h are fibers. Each switch is reported to the sanitizers, which see fibers
// as threads.
//
// Threads: all fibers of a scheduler run on one thread of the operating system.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace zenfs {

// Memory for a stack, with an inaccessible page before it. Making one takes system calls, so
// released stacks are kept for the next fibers of the same thread of the operating system.
class FiberStack {
 public:
  FiberStack();
  ~FiberStack();

  static std::unique_ptr<FiberStack> Take();
  static void GiveBack(std::unique_ptr<FiberStack> stack);

  FiberStack(const FiberStack&) = delete;
  FiberStack& operator=(const FiberStack&) = delete;

  void* bottom() const { return memory_ + guard_bytes_; }
  std::size_t size() const { return total_bytes_ - guard_bytes_; }

 private:
  std::byte* memory_ = nullptr;
  const std::size_t guard_bytes_;
  const std::size_t total_bytes_;
};

class Fiber {
 public:
  // The fiber of the calling thread, with the thread's own stack.
  Fiber();
  // `body` starts with the first switch to the fiber and must never return: it ends with a last
  // switch away. Destroy the fiber after that, or if nobody will switch to it any more.
  explicit Fiber(std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // `from` is the running fiber. Returns when somebody switches back to it. `for_good`: nobody will
  // switch back.
  static void Switch(Fiber& from, Fiber& to, bool for_good = false);

 private:
  static void Enter(unsigned high, unsigned low);
  void Arrived(void* fake_stack);

  ucontext_t context_{};
  [[maybe_unused]] jmp_buf jump_{};
  [[maybe_unused]] bool began_ = false;
  std::unique_ptr<FiberStack> stack_;
  std::function<void()> body_;
  const void* sanitizer_bottom_ = nullptr;  // bottom of the stack, for the address sanitizer
  std::size_t sanitizer_size_ = 0;
  [[maybe_unused]] void* sanitizer_thread_ = nullptr;  // handle of the thread sanitizer
  [[maybe_unused]] bool owns_sanitizer_thread_ = false;
  Fiber* arrived_from_ = nullptr;
};

}  // namespace zenfs
