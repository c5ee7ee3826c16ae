// Runs the threads of production code one at a time. A seed decides their order and the clock: the
// same seed gives the same run, switch for switch.
//
// Threads become fibers. Whenever one locks, unlocks, waits, notifies, sleeps or starts another, a
// random choice decides whether another continues. The clock advances by a microsecond at each such
// step. If all threads wait, it jumps to the first deadline. Sometimes it jumps although a thread
// could run, as on a busy host.
//
//    SimScheduler scheduler(SimScheduler::Options::Draw(random));
//    scheduler.Run([] { ... mounts, starts threads, ... });
//
// If all threads wait without a deadline, that is a deadlock: `on_stuck` is called with a
// description and the stack of each thread, and must not return.
//
// Threads: Run is called from one thread; everything happens on it. One scheduler runs at a time in
// a process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/scheduler.h"
#include "testing/fiber.h"

namespace zenfs {

class SimScheduler final : public Scheduler {
 public:
  struct StuckThread {
    std::size_t number = 0;
    std::vector<std::uintptr_t> stack;  // testing/call_stack.h
  };

  struct Options {
    std::uint64_t seed = 1;
    // Each of these happens once in this number of steps, on average.
    std::uint64_t switch_one_in = 4;      // another thread continues
    std::uint64_t stall_one_in = 1000;    // time passes for all threads
    std::uint64_t spurious_one_in = 200;  // a spurious wake-up of a waiter
    // A run that takes longer in simulated time, from one NoteProgress to the next, counts as stuck.
    std::chrono::seconds time_max{3600};
    std::function<void(const std::string& why, const std::vector<StuckThread>& threads)> on_stuck;

    // Draws the seed and the frequencies.
    static Options Draw(Random& random);
  };

  explicit SimScheduler(Options options);
  ~SimScheduler() override;

  // Installs itself, runs `body` as the first thread, and returns after it and all threads that it
  // started have returned.
  void Run(std::function<void()> body);

  // A fingerprint of all decisions so far: two runs of one seed have the same.
  std::uint64_t fingerprint() const { return fingerprint_; }
  std::uint64_t switches() const { return switches_; }
  // A step is over. On a full device, each of many calls may wait for space as long as its limit allows.
  void NoteProgress();
  // Adds an event of the simulated world to the fingerprint.
  void Note(std::uint64_t value);
  // The running scheduler, if any.
  static SimScheduler* Running() { return running_; }

  void Lock(const void* mutex) override;
  bool TryLock(const void* mutex) override;
  void Unlock(const void* mutex) override;
  bool Wait(const void* condition, const void* mutex,
            std::chrono::steady_clock::time_point deadline) override;
  void Notify(const void* condition, bool all) override;
  HeldLocks& Held() override;
  std::unique_ptr<ThreadHandle> Start(std::function<void()> body) override;
  void SleepUntil(std::chrono::steady_clock::time_point deadline) override;
  std::chrono::steady_clock::time_point SteadyNow() override;
  std::chrono::system_clock::time_point WallNow() override;
  std::uint64_t RandomSeed() override;

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct SimThread;
  class Handle;
  struct Locked {
    const void* mutex = nullptr;
    SimThread* owner = nullptr;
  };

  // A point at which another thread may continue.
  void Step();
  // The running thread waits for `what` until Wake or `deadline`. False if the deadline came first.
  bool Block(const void* what, Time deadline);
  void Wake(SimThread& thread);
  void WakeAllOn(const void* what);
  std::vector<SimThread*> WaitersOn(const void* what) const;
  void SwitchTo(SimThread& thread);
  SimThread& PickNext();
  void FireTimers();
  bool JumpToNextDeadline();
  void Release(const void* mutex);
  void Take(const void* mutex);
  SimThread* OwnerOf(const void* mutex) const;
  Fiber& End(SimThread& thread);
  void Finish(SimThread& thread);
  std::string Describe() const;
  std::vector<StuckThread> AskEach();
  [[noreturn]] void Stuck(const std::string& why);

  const Options options_;
  Random random_;
  Time now_;
  Time progress_;                                    // at the last NoteProgress
  std::vector<std::unique_ptr<SimThread>> threads_;  // by number; null after the thread was joined
  std::vector<SimThread*> ready_;
  std::vector<SimThread*> waiting_;
  std::vector<Locked> locked_;  // few at any time
  SimThread* current_ = nullptr;
  std::unique_ptr<Fiber> outside_;
  // In AskEach: where a thread that is switched to puts its stack before it switches back.
  // Otherwise null.
  std::vector<std::uintptr_t>* asked_ = nullptr;
  std::uint64_t fingerprint_ = 0xcbf29ce484222325u;
  std::uint64_t switches_ = 0;
  static inline SimScheduler* running_ = nullptr;
};

}  // namespace zenfs
