#include "testing/sim_scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/lock_order.h"
#include "testing/call_stack.h"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace zenfs {
namespace {

constexpr std::chrono::microseconds kStep{1};
// How long a busy host may stop all threads. Short compared with the deadlines of calls.
constexpr std::chrono::milliseconds kStall{100};

// Reports the order that a lock establishes to the thread sanitizer, which does not know our locks.
void SanitizerAcquire([[maybe_unused]] const void* of) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(const_cast<void*>(of));
#endif
}
void SanitizerRelease([[maybe_unused]] const void* of) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(const_cast<void*>(of));
#endif
}

// Hides the scheduler's own state from the thread sanitizer: one real thread uses it, however many
// fibers it runs. The rest of each fiber's work stays visible. Each fiber has its own count of
// these.
class Unwatched {
 public:
  Unwatched() {
#if defined(__SANITIZE_THREAD__)
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
  }
  ~Unwatched() {
#if defined(__SANITIZE_THREAD__)
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
  }
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;
};

}  // namespace

struct SimScheduler::SimThread {
  std::size_t number = 0;
  std::unique_ptr<Fiber> fiber;
  const void* waits_for = nullptr;
  Time deadline = Time::max();
  bool timed_out = false;
  bool begun = false;
  bool done = false;
  HeldLocks held;
};

class SimScheduler::Handle final : public Scheduler::ThreadHandle {
 public:
  Handle(SimScheduler& scheduler, SimThread& thread) : scheduler_(scheduler), thread_(thread) {}
  void Join() override {
    const Unwatched unwatched;
    while (!thread_.done) scheduler_.Block(&thread_, Time::max());
    SanitizerAcquire(&thread_);
    scheduler_.Finish(thread_);
  }

 private:
  SimScheduler& scheduler_;
  SimThread& thread_;
};

SimScheduler::Options SimScheduler::Options::Draw(zenfs::Random& random) {
  static constexpr std::uint64_t kSwitch[] = {1, 2, 4, 16, 100};
  static constexpr std::uint64_t kStalls[] = {50, 300, 3000, 1'000'000};
  Options options;
  options.seed = random.Next();
  options.switch_one_in = kSwitch[random.Below(std::size(kSwitch))];
  options.stall_one_in = kStalls[random.Below(std::size(kStalls))];
  options.spurious_one_in = random.OneIn(2) ? 100 : 1'000'000;
  return options;
}

SimScheduler::SimScheduler(Options options)
    : options_(std::move(options)), random_(options_.seed), now_(std::chrono::hours(1)), progress_(now_) {}

SimScheduler::~SimScheduler() = default;

void SimScheduler::Run(std::function<void()> body) {
  if (Installed() != nullptr) std::abort();
  const Unwatched unwatched;
  outside_ = std::make_unique<Fiber>();
  running_ = this;
  Install(this);
  const auto first = Start(std::move(body));
  current_ = nullptr;
  SimThread& next = PickNext();
  ready_.erase(std::ranges::find(ready_, &next));
  current_ = &next;
  Fiber::Switch(*outside_, *next.fiber);
  SanitizerAcquire(outside_.get());
  Install(nullptr);
  running_ = nullptr;
  threads_.clear();
}

// --- threads ---

std::unique_ptr<Scheduler::ThreadHandle> SimScheduler::Start(std::function<void()> body) {
  const Unwatched unwatched;
  auto owned = std::make_unique<SimThread>();
  SimThread& thread = *owned;
  thread.number = threads_.size();
  threads_.push_back(std::move(owned));
  SanitizerRelease(&thread);
  thread.fiber = std::make_unique<Fiber>([this, &thread, body = std::move(body)] {
    SanitizerAcquire(&thread);
    thread.begun = true;
    body();
    Fiber* self = nullptr;
    Fiber* next = nullptr;
    {
      const Unwatched ending;
      self = thread.fiber.get();
      next = &End(thread);
    }
    Fiber::Switch(*self, *next, true);
  });
  ready_.push_back(&thread);
  auto handle = std::make_unique<Handle>(*this, thread);
  if (current_ != nullptr) Step();
  return handle;
}

// Returns the fiber to continue after `thread` has returned.
Fiber& SimScheduler::End(SimThread& thread) {
  thread.done = true;
  SanitizerRelease(&thread);
  SanitizerRelease(outside_.get());
  WakeAllOn(&thread);
  if (ready_.empty() && waiting_.empty()) return *outside_;
  SimThread& next = PickNext();
  ready_.erase(std::ranges::find(ready_, &next));
  current_ = &next;
  ++switches_;
  return *next.fiber;
}

// After the join nobody uses the thread any more.
void SimScheduler::Finish(SimThread& thread) { threads_[thread.number] = nullptr; }

// --- choosing the next thread ---

void SimScheduler::Step() {
  now_ += kStep;
  if (random_.OneIn(options_.stall_one_in)) now_ += kStall;
  FireTimers();
  if (!waiting_.empty() && random_.OneIn(options_.spurious_one_in)) {
    Wake(*waiting_[random_.Below(waiting_.size())]);
  }
  if (ready_.empty() || !random_.OneIn(options_.switch_one_in)) return;
  ready_.push_back(current_);
  SwitchTo(PickNext());
}

SimScheduler::SimThread& SimScheduler::PickNext() {
  FireTimers();
  while (ready_.empty()) {
    if (!JumpToNextDeadline()) Stuck("every thread waits, and none has a deadline");
    FireTimers();
  }
  if (now_ > progress_ + options_.time_max) {
    Stuck(fmt::format("no progress for {} s of simulated time", options_.time_max.count()));
  }
  return *ready_[random_.Below(ready_.size())];
}

void SimScheduler::SwitchTo(SimThread& thread) {
  ready_.erase(std::ranges::find(ready_, &thread));
  if (&thread == current_) return;
  SimThread& from = *current_;
  current_ = &thread;
  ++switches_;
  Note(thread.number);
  Fiber::Switch(*from.fiber, *thread.fiber);
  while (asked_ != nullptr) {
    *asked_ = CallStack();
    Fiber::Switch(*from.fiber, *current_->fiber);
  }
}

void SimScheduler::NoteProgress() {
  const Unwatched unwatched;
  progress_ = now_;
}

bool SimScheduler::Block(const void* what, Time deadline) {
  SimThread& self = *current_;
  self.waits_for = what;
  self.deadline = deadline;
  self.timed_out = false;
  waiting_.push_back(&self);
  SwitchTo(PickNext());
  return !self.timed_out;
}

void SimScheduler::Wake(SimThread& thread) {
  waiting_.erase(std::ranges::find(waiting_, &thread));
  thread.waits_for = nullptr;
  ready_.push_back(&thread);
}

std::vector<SimScheduler::SimThread*> SimScheduler::WaitersOn(const void* what) const {
  std::vector<SimThread*> waiters;
  for (SimThread* thread : waiting_) {
    if (thread->waits_for == what) waiters.push_back(thread);
  }
  return waiters;
}

void SimScheduler::WakeAllOn(const void* what) {
  for (SimThread* thread : WaitersOn(what)) Wake(*thread);
}

void SimScheduler::FireTimers() {
  for (std::size_t i = 0; i < waiting_.size();) {
    SimThread& thread = *waiting_[i];
    if (thread.deadline > now_) {
      ++i;
      continue;
    }
    thread.timed_out = true;
    Wake(thread);
  }
}

bool SimScheduler::JumpToNextDeadline() {
  Time next = Time::max();
  for (const SimThread* thread : waiting_) next = std::min(next, thread->deadline);
  if (next == Time::max()) return false;
  now_ = std::max(now_, next);
  return true;
}

// --- locks and conditions ---

void SimScheduler::Lock(const void* mutex) {
  const Unwatched unwatched;
  Step();
  Take(mutex);
}

SimScheduler::SimThread* SimScheduler::OwnerOf(const void* mutex) const {
  const auto lock = std::ranges::find(locked_, mutex, &Locked::mutex);
  return lock == locked_.end() ? nullptr : lock->owner;
}

void SimScheduler::Take(const void* mutex) {
  while (SimThread* const owner = OwnerOf(mutex)) {
    if (owner == current_) Stuck("a thread locks a mutex that it holds");
    Block(mutex, Time::max());
  }
  locked_.push_back({mutex, current_});
  SanitizerAcquire(mutex);
}

bool SimScheduler::TryLock(const void* mutex) {
  const Unwatched unwatched;
  Step();
  if (OwnerOf(mutex) != nullptr) return false;
  Take(mutex);
  return true;
}

void SimScheduler::Release(const void* mutex) {
  SanitizerRelease(mutex);
  const auto lock = std::ranges::find(locked_, mutex, &Locked::mutex);
  if (lock != locked_.end()) locked_.erase(lock);
  WakeAllOn(mutex);
}

void SimScheduler::Unlock(const void* mutex) {
  const Unwatched unwatched;
  Release(mutex);
  Step();
}

HeldLocks& SimScheduler::Held() {
  const Unwatched unwatched;
  return current_->held;
}

bool SimScheduler::Wait(const void* condition, const void* mutex, Time deadline) {
  const Unwatched unwatched;
  Release(mutex);
  const bool notified = Block(condition, deadline);
  Take(mutex);
  return notified;
}

void SimScheduler::Notify(const void* condition, bool all) {
  const Unwatched unwatched;
  const std::vector<SimThread*> waiters = WaitersOn(condition);
  if (waiters.empty()) return;
  if (all) {
    for (SimThread* thread : waiters) Wake(*thread);
  } else {
    Wake(*waiters[random_.Below(waiters.size())]);
  }
  Step();
}

// --- time ---

void SimScheduler::SleepUntil(Time deadline) {
  const Unwatched unwatched;
  while (now_ < deadline) Block(&deadline, deadline);
}

// No scheduling step: metrics read the clock once per several operations, counted over all runs of
// the process.
std::chrono::steady_clock::time_point SimScheduler::SteadyNow() {
  const Unwatched unwatched;
  return now_;
}

std::uint64_t SimScheduler::RandomSeed() {
  const Unwatched unwatched;
  return random_.Next();
}

void SimScheduler::Note(std::uint64_t value) {
  const Unwatched unwatched;
  fingerprint_ = (fingerprint_ ^ value) * 0x100000001b3u;
}

std::chrono::system_clock::time_point SimScheduler::WallNow() {
  const Unwatched unwatched;
  return std::chrono::system_clock::time_point(
      std::chrono::hours(24 * 365 * 50) +
      std::chrono::duration_cast<std::chrono::system_clock::duration>(now_.time_since_epoch()));
}

// --- ending and deadlocks ---

std::string SimScheduler::Describe() const {
  std::string text;
  for (const SimThread* thread : waiting_) {
    const SimThread* const owner = OwnerOf(thread->waits_for);
    text += fmt::format("; thread {} waits{}", thread->number,
                        owner == nullptr ? "" : fmt::format(" for a lock of thread {}", owner->number));
  }
  return text;
}

// Each thread reports its own stack, because libraries can unwind only the stack on which they are
// called.
std::vector<SimScheduler::StuckThread> SimScheduler::AskEach() {
  std::vector<StuckThread> all;
  for (const auto& thread : threads_) {
    if (thread == nullptr || thread->done || !thread->begun) continue;
    StuckThread& told = all.emplace_back(StuckThread{.number = thread->number, .stack = {}});
    if (thread.get() == current_) {
      told.stack = CallStack();
      continue;
    }
    asked_ = &told.stack;
    Fiber::Switch(*current_->fiber, *thread->fiber);
    asked_ = nullptr;
  }
  return all;
}

void SimScheduler::Stuck(const std::string& why) {
  if (options_.on_stuck) options_.on_stuck(why + Describe(), AskEach());
  std::abort();
}

}  // namespace zenfs
