// A stack of its own that runs on the calling thread until it switches away: what the simulated threads of
// testing/sim_scheduler.h are made of. The sanitizers are told of each switch, so they see fibers as threads.
//
// Threads: all fibers of one family live on one thread of the operating system.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace zenfs {

// Memory for a stack, with a page in front of it that must not be touched. Making one takes system calls, so those that are
// given back are kept for the next fibers of the same thread of the operating system.
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
  // What the calling thread runs already; it has the stack of that thread.
  Fiber();
  // `body` begins with the first switch to the fiber and must never return: it switches away for the last time. The fiber
  // is destroyed after that, or when nobody will switch to it any more.
  explicit Fiber(std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // `from` is the fiber that runs. Returns when somebody switches back to it. `for_good`: nobody will.
  static void Switch(Fiber& from, Fiber& to, bool for_good = false);

 private:
  static void Enter(unsigned high, unsigned low);
  void Arrived(void* fake_stack);

  ucontext_t context_{};
  [[maybe_unused]] jmp_buf jump_{};
  [[maybe_unused]] bool began_ = false;
  std::unique_ptr<FiberStack> stack_;
  std::function<void()> body_;
  const void* sanitizer_bottom_ = nullptr;  // of the stack, as the address sanitizer knows it
  std::size_t sanitizer_size_ = 0;
  [[maybe_unused]] void* sanitizer_thread_ = nullptr;  // the thread sanitizer's
  [[maybe_unused]] bool owns_sanitizer_thread_ = false;
  Fiber* arrived_from_ = nullptr;
};

}  // namespace zenfs
