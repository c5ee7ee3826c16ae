// Runs the threads of production code one at a time, in an order and on a clock that a seed decides: the same seed
// gives the same run, switch for switch.
//
// Threads become fibers. Whenever one locks, unlocks, waits, notifies, sleeps or starts another, the dice say
// whether somebody else goes on. Time stands still but for a microsecond at each such step; when all wait, it jumps to the
// first deadline, and now and then a while passes although somebody could run, as on a busy host.
//
//   SimScheduler scheduler(SimScheduler::Options::Random(random));
//   scheduler.Run([] { ... mounts, starts threads, ... });
//
// When all wait and nobody has a deadline, that is a deadlock: `on_stuck` is called with a description and with where each
// thread stands, and must not return.
//
// Threads: Run is called from one thread; everything happens on it. One scheduler runs at a time in a process.
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
    // Once in so many steps ...
    std::uint64_t switch_one_in = 4;      // ... another thread goes on
    std::uint64_t stall_one_in = 1000;    // ... time passes for everybody
    std::uint64_t spurious_one_in = 200;  // ... a waiter wakes up for nothing
    // Virtual time after which a run counts as stuck.
    std::chrono::seconds time_max{7200};
    std::function<void(const std::string& why, const std::vector<StuckThread>& threads)> on_stuck;

    // A seed, and how often what happens, by `random`.
    static Options Draw(Random& random);
  };

  explicit SimScheduler(Options options);
  ~SimScheduler() override;

  // Installs itself, runs `body` as the first thread, and returns when it and all that it started have returned.
  void Run(std::function<void()> body);

  // Of everything that was decided so far: two runs of one seed have the same.
  std::uint64_t fingerprint() const { return fingerprint_; }
  std::uint64_t switches() const { return switches_; }
  // Adds what the simulated world saw to the fingerprint.
  void Note(std::uint64_t value);
  // The one that runs, if any.
  static SimScheduler* Running() { return running_; }

  void Lock(const void* mutex) override;
  bool TryLock(const void* mutex) override;
  void Unlock(const void* mutex) override;
  bool Wait(const void* condition, const void* mutex,
            std::chrono::steady_clock::time_point deadline) override;
  void Notify(const void* condition, bool all) override;
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

  // A point at which somebody else may go on.
  void Step();
  // The running thread waits for `what` until Wake or `deadline`; false if the deadline came first.
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
  std::vector<std::unique_ptr<SimThread>> threads_;  // by number; those that ended and were joined are null
  std::vector<SimThread*> ready_;
  std::vector<SimThread*> waiting_;
  std::vector<Locked> locked_;  // few at any time
  SimThread* current_ = nullptr;
  std::unique_ptr<Fiber> outside_;
  // Where a thread that is switched to puts its stack, and switches back; null but in AskEach.
  std::vector<std::uintptr_t>* asked_ = nullptr;
  std::uint64_t fingerprint_ = 0xcbf29ce484222325u;
  std::uint64_t switches_ = 0;
  static inline SimScheduler* running_ = nullptr;
};

}  // namespace zenfs
