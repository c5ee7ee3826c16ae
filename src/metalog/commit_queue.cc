#include "metalog/commit_queue.h"

#include <algorithm>

#include "base/assert.h"
#include "base/clock.h"

namespace zenfs {
namespace {

// Limits of a leader's wait for further commits: this time, and a quarter of the duration of the last write.
constexpr std::chrono::microseconds kMaxGather{500};
constexpr int kGatherFraction = 4;

}  // namespace

void CommitQueue::Push(CommitCall& call) {
  ZENFS_ASSERT(!call.done);
  queue_.push_back(&call);
  gathered_.NotifyOne();
}

void CommitQueue::PutBack(const CommitBatch& batch) {
  queue_.insert(queue_.begin(), batch.calls.begin(), batch.calls.end());
  WakeNext();
}

CommitBatch CommitQueue::TakeBatch(std::uint64_t first_sequence, std::uint64_t limit, std::uint64_t room) {
  ZENFS_ASSERT(led_ && limit <= room);
  CommitBatch batch{.calls = {}, .first_sequence = first_sequence};
  std::uint64_t bytes = kMaxCountBytes;
  while (!queue_.empty()) {
    CommitCall* next = queue_.front();
    bytes += next->encoded.size();
    if (bytes > (batch.calls.empty() ? room : limit)) break;
    batch.flush_data_first |= next->data_since.has_value();
    batch.calls.push_back(next);
    queue_.pop_front();
  }
  return batch;
}

void CommitQueue::Lead() {
  ZENFS_ASSERT(!led_);
  led_ = true;
}

void CommitQueue::LeadForSwitch(Mutex& mutex) {
  ZENFS_ASSERT(!switch_wants_lead_);
  switch_wants_lead_ = true;
  gathered_.NotifyAll();
  while (led_) lead_ended_.Wait(mutex);
  switch_wants_lead_ = false;
  led_ = true;
}

void CommitQueue::EndLead() {
  ZENFS_ASSERT(led_);
  led_ = false;
  WakeNext();
}

void CommitQueue::WakeNext() {
  if (switch_wants_lead_) lead_ended_.NotifyAll();
  if (!queue_.empty()) queue_.front()->wake.NotifyOne();
}

void CommitQueue::Gather(Mutex& mutex) {
  ZENFS_ASSERT(led_);
  const std::size_t expected = last_batch_calls_ - last_batch_calls_ / 4;
  if (queue_.size() >= expected) return;
  const auto span = std::min<std::chrono::nanoseconds>(last_write_time_ / kGatherFraction, kMaxGather);
  const Deadline deadline = Deadline::After(span);
  while (queue_.size() < expected && !switch_wants_lead_) {
    if (!gathered_.WaitUntil(mutex, deadline)) return;
  }
}

void CommitQueue::NoteWrite(std::size_t calls, std::chrono::nanoseconds time) {
  last_batch_calls_ = calls;
  last_write_time_ = time;
}

void CommitQueue::EndCall() {
  ZENFS_ASSERT(active_ != 0);
  if (--active_ == 0) idle_.NotifyAll();
}

void CommitQueue::AwaitIdle(Mutex& mutex) {
  while (!idle()) idle_.Wait(mutex);
}

}  // namespace zenfs
