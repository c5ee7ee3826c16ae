// Group commit: each committing thread queues its edits. If no thread leads, the first one in the queue leads and writes
// all queued edits as one frame, while the other threads wait. metalog.h has the rules of Commit.
//
//   Metalog::Commit: admit, queue -> lead -+-> publish   durable: to the replica and the sink, in log order
//                             ^            +-> refuse    not committed
//                             +--- fence <-+             the write has an unknown outcome: a log switch decides
//
// CommitQueue has the calls whose edits are not written yet, and the lead: the right to write to the current generation.
//
//     free --Lead-----------> led by the first call in the queue, for one batch --EndLead--> free
//     free --LeadForSwitch--> led by a log switch --EndLead--> free
//
// A log switch that waits for the lead goes before all calls. A leading call waits briefly for others (Gather), so that
// their edits are written together with its own.
//
// Invariants
//   one thread leads at a time
//   a queued call is not done; TakeBatch, Remove and TakeAll end its membership
//   whoever ends the lead wakes the thread that may lead next
//
// Ownership: each call is on its caller's stack, until it is done.
// Threads: no lock; the lock of the log guards it (metalog.h). Functions with a `mutex` wait with that lock.
// Units: bytes of payload. Errors: none.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "device/flush_mark.h"
#include "model/edit.h"

namespace zenfs {

// Longest encoding of the number of lists in front of a commit's payload.
inline constexpr std::uint64_t kMaxCountBytes = 10;

// One Commit call.
struct CommitCall {
  void Complete(Status status) {
    result = std::move(status);
    done = true;
    wake.NotifyOne();
  }

  std::shared_ptr<const std::vector<Edit>> edits;
  std::string encoded;
  std::optional<FlushMark> data_since;
  std::uint64_t reserved = 0;  // in the replica
  int tries = 0;               // retries in another zone
  bool done = false;
  Status result;
  CondVar wake;
};

struct CommitBatch {
  std::vector<CommitCall*> calls;
  std::uint64_t first_sequence = 0;
  bool flush_data_first = false;

  std::uint64_t last_sequence() const { return first_sequence + calls.size() - 1; }
};

class CommitQueue {
 public:
  // --- calls ---
  void Push(CommitCall& call);
  // Puts a batch that was not written back to the front, and wakes its first call.
  void PutBack(const CommitBatch& batch);
  void Remove(const CommitCall& call) { std::erase(queue_, &call); }
  // Removes and returns all queued calls.
  std::deque<CommitCall*> TakeAll() { return std::exchange(queue_, {}); }
  // Takes calls from the front while their payload stays within `limit` bytes. The first call may take up to `room`
  // bytes, the space in the zone. Only the leader calls this.
  CommitBatch TakeBatch(std::uint64_t first_sequence, std::uint64_t limit, std::uint64_t room);

  // --- lead ---
  bool led() const { return led_; }
  bool MayLead(const CommitCall& call) const {
    return !led_ && !switch_wants_lead_ && !queue_.empty() && queue_.front() == &call;
  }
  void Lead();
  void LeadForSwitch(Mutex& mutex) REQUIRES(mutex);
  void EndLead();
  // Wakes the thread that may lead next.
  void WakeNext();
  // The leader waits for the threads of the last batch: they are likely to commit again soon. If the leader wrote alone,
  // all of them would have to wait for another write.
  void Gather(Mutex& mutex) REQUIRES(mutex);
  // The leader's write of `calls` calls took `time`. The next Gather expects about as many calls.
  void NoteWrite(std::size_t calls, std::chrono::nanoseconds time);

  // --- calls until they return, queued or not ---
  void BeginCall() { ++active_; }
  void EndCall();
  bool idle() const { return active_ == 0; }
  void AwaitIdle(Mutex& mutex) REQUIRES(mutex);

 private:
  std::deque<CommitCall*> queue_;
  bool led_ = false;
  bool switch_wants_lead_ = false;
  CondVar lead_ended_;
  CondVar gathered_;
  std::size_t last_batch_calls_ = 1;
  std::chrono::nanoseconds last_write_time_{0};
  std::size_t active_ = 0;
  CondVar idle_;
};

}  // namespace zenfs
