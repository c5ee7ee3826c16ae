// The log switch, which is the checkpoint of the metadata: the log moves to a new generation in other zones, which begins with
// a snapshot of the state. Commits continue in the old generation meanwhile, and mounts use it until step 4.
//
//   1 reset the zones that no complete generation needs; write SwitchBegin to the old zone
//   2 write superblock and header, flush; write the snapshot of the replica, frozen as of commit S
//   3 copy the commits after S, in rounds; new commits wait during the last round
//   4 flush, write SwitchComplete, flush; now the new generation is the current one and takes the commits
//
// The next log switch may reset the zones of the old generation.
//
// Metalog::Checkpoint (checkpoint.cc) does this. LogSwitch is the log switch as the other threads see it: whether one runs, and
// how it ended.
//
//     idle --Start, StartAndWait--> running --End--> idle
//
// A thread that waits for a log switch gets the result of that switch, even if the next one runs before the thread wakes.
//
// Invariants
//   one log switch runs at a time
//   the function `run` of the constructor is called once for each log switch; it calls End as its last act
//
// Threads: no lock; the lock of the log guards it (metalog.h). Functions with a `mutex` wait with that lock. A log
// switch runs in its own thread, or in a waiting thread if the host cannot start one.
// Units: bytes.
// Errors: of Start, if the host cannot start a thread; StartAndWait returns the error of the log switch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "base/status.h"
#include "base/thread.h"

namespace zenfs {

class LogSwitch {
 public:
  // `run` is called without the lock, with running() set. It must not throw.
  explicit LogSwitch(std::function<void()> run) : run_(std::move(run)) {}

  bool running() const { return running_; }
  // Room that the commits after the running log switch need. The switch provides at least this.
  std::uint64_t need() const { return need_; }

  // Starts a log switch. If the thread cannot be started, nothing changes.
  [[nodiscard]] Status Start(std::uint64_t need);
  // Waits for the running log switch, or starts one, and returns the result of that switch. The caller must not lead.
  [[nodiscard]] Status StartAndWait(Mutex& mutex, std::uint64_t need) REQUIRES(mutex);
  void AwaitEnd(Mutex& mutex) REQUIRES(mutex);
  void End(const Status& result);
  // The thread of the last log switch. Join it without the lock.
  Thread TakeThread() { return std::move(thread_); }

 private:
  void NoteRunning(std::uint64_t need);

  const std::function<void()> run_;
  bool running_ = false;
  std::uint64_t need_ = 0;
  std::shared_ptr<std::optional<Status>> result_;  // of the running or last log switch
  CondVar ended_;
  Thread thread_;
};

}  // namespace zenfs
