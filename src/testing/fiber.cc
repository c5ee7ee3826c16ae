#include "testing/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define ZENFS_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ZENFS_FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define ZENFS_FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ZENFS_FIBER_TSAN 1
#endif
#endif

#ifdef ZENFS_FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef ZENFS_FIBER_TSAN
#include <sanitizer/tsan_interface.h>

// All fibers share the thread_local variables of one thread, unlike real threads. Functions that
// initialise such variables at their first use then look like a race.
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race_top:SlotOfThisThread\n"
         "race_top:thread_shard_internal\n"
         "race_top:ThreadShard\n"
         "race_top:ForkBarrier\n"
         "race:CpuMeter::Span::SampledWeight\n";
}
#endif

namespace zenfs {
namespace {

// Sanitizers make stack frames several times as large.
constexpr std::size_t kStackBytes = 512 << 10;
constexpr std::size_t kStacksKept = 64;

thread_local std::vector<std::unique_ptr<FiberStack>> kept;

}  // namespace

FiberStack::FiberStack()
    : guard_bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
      total_bytes_(kStackBytes + guard_bytes_) {
  void* const memory =
      mmap(nullptr, total_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, guard_bytes_, PROT_NONE) != 0) std::abort();
  memory_ = static_cast<std::byte*>(memory);
}

FiberStack::~FiberStack() { munmap(memory_, total_bytes_); }

std::unique_ptr<FiberStack> FiberStack::Take() {
  std::unique_ptr<FiberStack> stack;
  if (kept.empty()) {
    stack = std::make_unique<FiberStack>();
  } else {
    stack = std::move(kept.back());
    kept.pop_back();
  }
#ifdef ZENFS_FIBER_ASAN
  // Remove the red zones of the last fiber from the stack.
  __asan_unpoison_memory_region(stack->bottom(), stack->size());
#endif
  return stack;
}

void FiberStack::GiveBack([[maybe_unused]] std::unique_ptr<FiberStack> stack) {
#ifndef ZENFS_FIBER_TSAN  // it would report the next fiber's use of the memory as a race
  if (kept.size() < kStacksKept) kept.push_back(std::move(stack));
#endif
}

Fiber::Fiber() : began_(true) {
#ifdef ZENFS_FIBER_TSAN
  sanitizer_thread_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(std::function<void()> body)
    : stack_(FiberStack::Take()),
      body_(std::move(body)),
      sanitizer_bottom_(stack_->bottom()),
      sanitizer_size_(stack_->size()) {
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_->bottom();
  context_.uc_stack.ss_size = stack_->size();
  context_.uc_link = nullptr;
  // makecontext(3) passes ints, so a pointer takes two.
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&context_, reinterpret_cast<void (*)()>(&Fiber::Enter), 2, static_cast<unsigned>(self >> 32),
              static_cast<unsigned>(self));
#ifdef ZENFS_FIBER_ASAN
  // Otherwise the address sanitizer would clear the red zones of the whole stack at each switch to
  // it.
  context_.uc_stack = {};
#endif
#ifdef ZENFS_FIBER_TSAN
  sanitizer_thread_ = __tsan_create_fiber(0);
  owns_sanitizer_thread_ = true;
#endif
}

Fiber::~Fiber() {
  if (stack_ != nullptr) FiberStack::GiveBack(std::move(stack_));
#ifdef ZENFS_FIBER_TSAN
  if (owns_sanitizer_thread_) __tsan_destroy_fiber(sanitizer_thread_);
#endif
}

void Fiber::Enter(unsigned high, unsigned low) {
  auto* const self = reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32 | low);
  self->Arrived(nullptr);
  self->body_();
  std::abort();
}

void Fiber::Arrived([[maybe_unused]] void* fake_stack) {
#ifdef ZENFS_FIBER_ASAN
  // Learn the stack of the fiber that was left: a thread's own stack is not known otherwise.
  __sanitizer_finish_switch_fiber(fake_stack, &arrived_from_->sanitizer_bottom_,
                                  &arrived_from_->sanitizer_size_);
#endif
}

// The bookkeeping of switches belongs to one real thread, although the thread sanitizer sees
// several.
[[gnu::no_sanitize_thread]] void Fiber::Switch(Fiber& from, Fiber& to, [[maybe_unused]] bool for_good) {
  to.arrived_from_ = &from;
  void* fake_stack = nullptr;
#ifdef ZENFS_FIBER_ASAN
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack, to.sanitizer_bottom_, to.sanitizer_size_);
#endif
#ifdef ZENFS_FIBER_TSAN
  // Only the simulated locks order memory accesses, so that a race is found under any schedule of
  // the fibers.
  __tsan_switch_to_fiber(to.sanitizer_thread_, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(ZENFS_FIBER_ASAN) || defined(ZENFS_FIBER_TSAN)
  swapcontext(&from.context_, &to.context_);  // the sanitizers intercept longjmp
#else
  // The first switch to a context needs setcontext(3). All others are long jumps, which keep the
  // signal mask and so make no system call.
  if (_setjmp(from.jump_) == 0) {
    if (to.began_) _longjmp(to.jump_, 1);
    to.began_ = true;
    setcontext(&to.context_);
  }
#endif
  from.Arrived(fake_stack);
}

}  // namespace zenfs
